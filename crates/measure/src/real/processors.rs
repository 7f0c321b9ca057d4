//! What the machine's processors do during a run: the second witness beside the program's own use of them.
//!
//! The counters' file stays open: opening it during a cold start would be work of ours in it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use coldstart_profile::measurement::ProcessorUse;

/// The counters, and what they said at the last [`begin`](Self::begin).
pub(crate) struct Processors {
    counters: Option<File>,
    begin: Option<Ticks>,
    /// Ticks of the counters in a second.
    per_second: f64,
}

/// Busy and stolen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks {
    busy: u64,
    stolen: u64,
}

impl Processors {
    pub(crate) fn new() -> Self {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        Self { counters: File::open("/proc/stat").ok(), begin: None, per_second }
    }

    /// Notes the counters.
    pub(crate) fn begin(&mut self) {
        self.begin = self.now();
    }

    /// What was used since. One `pread`; `None` where the counters cannot be read.
    pub(crate) fn since_begin(&self) -> Option<ProcessorUse> {
        let (begin, now) = (self.begin?, self.now()?);
        let seconds = |now: u64, begin: u64| now.saturating_sub(begin) as f64 / self.per_second;
        Some(ProcessorUse {
            busy_seconds: seconds(now.busy, begin.busy),
            stolen_seconds: seconds(now.stolen, begin.stolen),
        })
    }

    fn now(&self) -> Option<Ticks> {
        // The first line is that of all processors.
        let mut buffer = [0; 256];
        let length = self.counters.as_ref()?.read_at(&mut buffer, 0).ok()?;
        ticks(std::str::from_utf8(buffer.get(..length)?).ok()?)
    }
}

/// "cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ..." (`proc_stat(5)`). Interrupts are left out: those of the
/// program's own I/O are counted there, too, for nobody in particular.
fn ticks(text: &str) -> Option<Ticks> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || fields.next()?.ok();
    let (user, nice, system) = (next()?, next()?, next()?);
    let stolen = fields.nth(4).and_then(Result::ok).unwrap_or(0);
    Some(Ticks { busy: user.saturating_add(nice).saturating_add(system), stolen })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_all_processors_is_read() {
        let text = "cpu  100 20 3 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(ticks(text), Some(Ticks { busy: 123, stolen: 8 }));
        assert_eq!(ticks("cpu  1 2 3 4"), Some(Ticks { busy: 6, stolen: 0 }), "before Linux 2.6.11");
        for text in ["", "cpu0 1 2 3", "cpu  1 2", "intr 5"] {
            assert_eq!(ticks(text), None, "{text}");
        }
    }

    #[test]
    fn work_of_this_process_is_seen() {
        let mut processors = Processors::new();
        assert_eq!(processors.since_begin(), None);
        processors.begin();
        let begin = std::time::Instant::now();
        while processors.since_begin().unwrap().busy_seconds == 0.0 {
            assert!(begin.elapsed().as_secs() < 60);
        }
    }
}
