//! The log of a recorded start: what the interpreter's own search for modules found.
//!
//! Our code in the interpreter writes a line for each event, fields separated by tabs, with `\\`, `\t` and `\n` for these characters:
//! the kind of event, the process, and what belongs to it. Kinds in all languages: `P`, a process has started; `F`, a module was found;
//! `M`, a module is missing; `S`, the search path.

use std::collections::BTreeSet;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its kind.
    pub kind: u8,
    /// The process.
    pub process: u32,
    /// What belongs to it, by kind and language.
    pub fields: Vec<Vec<u8>>,
}

impl Event {
    /// A field; empty if there is none.
    pub fn field(&self, number: usize) -> &[u8] {
        self.fields.get(number).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The events in a log, in order. A line that was cut by a kill, and any other that is malformed, is left out.
pub fn parse(log: &[u8]) -> Vec<Event> {
    log.split_inclusive(|&byte| byte == b'\n').filter_map(|line| event(line.strip_suffix(b"\n")?)).collect()
}

fn event(line: &[u8]) -> Option<Event> {
    let mut fields = line.split(|&byte| byte == b'\t').map(unescaped);
    let kind = fields.next().filter(|kind| kind.len() == 1)?.first().copied()?;
    let process = std::str::from_utf8(&fields.next()?).ok()?.parse().ok()?;
    Some(Event { kind, process, fields: fields.collect() })
}

/// A field as it was before it was escaped.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = field.iter().copied();
    let mut plain = Vec::with_capacity(field.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'\\' => match bytes.next() {
                Some(b't') => b'\t',
                Some(b'n') => b'\n',
                Some(other) => other,
                None => b'\\',
            },
            other => other,
        });
    }
    plain
}

/// A field as our code in the interpreters escapes it.
pub fn escaped(field: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(field.len());
    for &byte in field {
        match byte {
            b'\\' => text.extend_from_slice(b"\\\\"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            other => text.push(other),
        }
    }
    text
}

/// What was found and what was missing, whatever process asked, in whatever order: to be compared between two starts.
pub fn answers(events: &[Event]) -> BTreeSet<(u8, Vec<Vec<u8>>)> {
    events
        .iter()
        .filter(|event| matches!(event.kind, b'F' | b'M'))
        .map(|event| (event.kind, event.fields.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_that_a_kill_cut_is_left_out() {
        let events = parse(b"P\t7\t/usr/bin/python3\nF\t7\tos\tx\nF\t7\tre\t/usr/li");
        let kinds: Vec<u8> = events.iter().map(|event| event.kind).collect();
        assert_eq!(kinds, b"PF");
        assert_eq!((events[1].process, events[1].field(0), events[1].field(5)), (7, &b"os"[..], &b""[..]));
    }

    #[test]
    fn answers_do_not_depend_on_processes_and_order() {
        let of = |log: &[u8]| answers(&parse(log));
        assert_eq!(of(b"F\t1\ta\nM\t1\tb\nS\t1\tx\n"), of(b"M\t3\tb\nF\t2\ta\nF\t1\ta\n"));
        assert_ne!(of(b"F\t1\ta\t/x\n"), of(b"F\t1\ta\t/y\n"));
    }

    proptest! {
        #[test]
        fn fields_have_any_bytes(fields in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..9), 1..5)) {
            let mut line = b"F\t12".to_vec();
            for field in &fields {
                line.push(b'\t');
                line.extend(escaped(field));
            }
            line.push(b'\n');
            prop_assert_eq!(parse(&line), [Event { kind: b'F', process: 12, fields }]);
        }

        #[test]
        fn any_bytes_are_harmless(log in prop::collection::vec(any::<u8>(), 0..200)) {
            parse(&log);
        }
    }
}
