//! One event, as printed by tracefs.
//!
//! Not obvious: a thread's name is printed unchanged, with spaces, colons or brackets, so a
//! line is parsed from its end. Source: `trace_print_context` in `kernel/trace/trace_output.c`.

use std::time::Duration;

/// An event: `  soffice.bin-4711  [001] ..... 812.000031: mm_filemap_fault: dev=254:0 ino=5c1 ofs=8192`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'text> {
    /// The thread, in the initial PID namespace.
    pub(crate) thread: u32,
    /// `CLOCK_MONOTONIC`; tracefs prints microseconds.
    pub(crate) at: Duration,
    /// The tracepoint's name.
    pub(crate) name: &'text str,
    fields: &'text str,
}

impl<'text> Line<'text> {
    /// `None` for comments and other lines.
    pub(crate) fn parse(line: &'text str) -> Option<Self> {
        let (head, fields) = line.rsplit_once(": ")?;
        let (before, name) = head.rsplit_once(": ")?;
        let mut words = before.split_ascii_whitespace().rev();
        let (seconds, fraction) = words.next()?.split_once('.')?;
        let (_flags, _processor) = (words.next()?, words.next()?);
        let (_, thread) = words.next()?.rsplit_once('-')?;
        let at =
            Duration::from_secs(seconds.parse().ok()?).checked_add(Duration::from_micros(fraction.parse().ok()?))?;
        Some(Self { thread: thread.parse().ok()?, at, name, fields })
    }

    /// A field's text; `name=value` and `name value` are both in use.
    fn text(&self, name: &str) -> Option<&'text str> {
        let mut words = self.fields.split_ascii_whitespace();
        while let Some(word) = words.next() {
            match word.split_once('=') {
                Some((key, value)) if key == name => return Some(value),
                None if word == name => return words.next(),
                _ => {}
            }
        }
        None
    }

    /// A decimal field.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// The device in the kernel's numbering, `major << 20 | minor`, and the inode number, which is printed in hexadecimal digits.
    pub(crate) fn file(&self) -> Option<(u64, u64)> {
        let (major, minor) = self.text("dev")?.split_once(':')?;
        let device = u64::from(major.parse::<u32>().ok()?) << 20 | u64::from(minor.parse::<u32>().ok()?);
        Some((device, u64::from_str_radix(self.text("ino")?, 16).ok()?))
    }

    /// First and last byte of the field `ofs=0-4095`.
    pub(crate) fn bytes(&self) -> Option<(u64, u64)> {
        let (first, last) = self.text("ofs")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_thread_s_name() {
        for name in ["soffice.bin", "<...>", "a b: c [0] 1.2:", "x-1", "1.5: a: b"] {
            let text = format!(
                "{name:>16}-4711    [001] d..1.  812.000031: mm_filemap_get_pages: dev=7:1 ino=5c1 ofs=4096-8191"
            );
            let line = Line::parse(&text).unwrap();
            assert_eq!((line.thread, line.name), (4711, "mm_filemap_get_pages"), "{name}");
            assert_eq!(line.at, Duration::from_micros(812_000_031));
            assert_eq!(line.file(), Some((7 << 20 | 1, 0x5c1)));
            assert_eq!(line.bytes(), Some((4096, 8191)));
        }
    }

    #[test]
    fn both_ways_of_writing_a_field_are_read() {
        let text = "x-1 [000] ..... 1.000002: e: dev 7:0 ino 5c1 pfn=0x1f ofs=8192 order=2";
        let line = Line::parse(text).unwrap();
        assert_eq!(line.file(), Some((7 << 20, 0x5c1)));
        assert_eq!((line.number("ofs"), line.number("order"), line.number("size")), (Some(8192), Some(2), None));
    }

    #[test]
    fn other_lines_are_passed_over() {
        for line in
            ["", "# tracer: nop", "x: y: dev 7:0", "CPU:1 [LOST 5 EVENTS]", "x-1 [000] ..... 1.z: e: f", ": : : "]
        {
            assert_eq!(Line::parse(line), None, "{line:?}");
        }
    }
}
