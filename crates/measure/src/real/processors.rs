//! Machine-wide processor use during a run, to cross-check the program's own.
//!
//! The counters' file stays open: opening it during a cold start would disturb it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use coldstart_host::machine::{COUNTERS, ProcessorTicks};
use coldstart_profile::measurement::ProcessorUse;

/// The counters, and what they said at the last [`begin`](Self::begin).
pub(crate) struct Processors {
    counters: Option<File>,
    begin: Option<ProcessorTicks>,
    /// Ticks of the counters in a second.
    per_second: f64,
}

impl Processors {
    pub(crate) fn new() -> Self {
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        Self { counters: File::open(COUNTERS).ok(), begin: None, per_second }
    }

    /// Records the counters.
    pub(crate) fn begin(&mut self) {
        self.begin = self.now();
    }

    /// The use since then. One `pread`; `None` where the counters cannot be read.
    pub(crate) fn since_begin(&self) -> Option<ProcessorUse> {
        let (begin, now) = (self.begin?, self.now()?);
        let seconds = |now: u64, begin: u64| now.saturating_sub(begin) as f64 / self.per_second;
        Some(ProcessorUse {
            busy_seconds: seconds(now.busy, begin.busy),
            stolen_seconds: seconds(now.stolen, begin.stolen),
        })
    }

    fn now(&self) -> Option<ProcessorTicks> {
        // The first line is the sum of all processors.
        let mut buffer = [0; 256];
        let length = self.counters.as_ref()?.read_at(&mut buffer, 0).ok()?;
        ProcessorTicks::parse(buffer.get(..length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
