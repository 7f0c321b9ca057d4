//! Whether a run had the intended state: pure rules.
//!
//! The check before a launch may be impossible (the kernel shows residency only to users who may write the file), and so
//! may the one after it (the reads are unknown). A state holds if neither contradicts it; unknown values
//! contradict nothing.

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::measurement::{End, Residency, StartState, Use};

use crate::runner::{RawRun, RestoredPages};
use crate::statistics::median;

/// A hot start may read this much: log files, sockets' directories, pages evicted since.
const MOST_HOT_BYTES: u64 = 1 << 20;
/// Or this part of the reads of a cold start, where that is less.
const MOST_HOT_PART: u64 = 20;
/// But one default readahead window is always allowed.
const READAHEAD_WINDOW: u64 = 128 << 10;
/// Cold starts that read less than this are not compared: a block more or less means nothing.
const LEAST_COLD_BYTES: f64 = 65536.0;

/// Earlier runs of the same command.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// Bytes read by the counted runs in the same state, where known.
    pub(crate) bytes_read: Vec<u64>,
    /// Fewest pages resident before a run in the same state.
    pub(crate) least_resident: Option<u64>,
    /// Median of the bytes read by counted cold runs, or selective ones.
    pub(crate) cold_bytes: Option<u64>,
}

/// Judges a run.
pub(crate) fn judge(state: StartState, run: &RawRun, history: &History, accept_any_exit_code: bool) -> Use {
    if let Some(reason) = failure(run, accept_any_exit_code) {
        return Use::Failed { reason };
    }
    let too_little = || read_too_little(run.bytes_read?, &history.bytes_read);
    let contradiction = match state {
        StartState::Hot => run.bytes_read.and_then(|bytes| read_too_much(bytes, history.cold_bytes)),
        StartState::Boot => not_restored(run.restored)
            .or_else(|| began_too_warm(run.residency, history.least_resident))
            .or_else(too_little),
        StartState::Cold | StartState::Selective => {
            began_too_warm(run.residency, history.least_resident).or_else(too_little)
        }
    };
    contradiction.map_or(Use::Counted, |reason| Use::Contradicts { reason })
}

fn failure(run: &RawRun, accept_any_exit_code: bool) -> Option<String> {
    let reason = match run.end {
        End::Exited(code) if code != 0 && !(accept_any_exit_code && run.seconds.is_some()) => {
            format!("exited with code {code}")
        }
        End::Exited(_) if run.seconds.is_none() => "exited without becoming ready".to_owned(),
        End::Signalled(signal) => format!("was killed by signal {signal}"),
        End::TimedOut => "was not ready within the time limit".to_owned(),
        End::Exited(_) | End::Ended => return None,
    };
    Some(match &run.last_seen {
        Some(seen) => format!("{reason} ({seen})"),
        None => reason,
    })
}

/// The most bytes that a hot start may read.
pub(crate) fn hot_limit(cold_bytes: Option<u64>) -> u64 {
    let part = cold_bytes.map_or(MOST_HOT_BYTES, |bytes| bytes / MOST_HOT_PART);
    part.clamp(READAHEAD_WINDOW, MOST_HOT_BYTES)
}

fn read_too_much(bytes: u64, cold_bytes: Option<u64>) -> Option<String> {
    let limit = hot_limit(cold_bytes);
    (bytes > limit)
        .then(|| format!("it read {} from disk, more than the {} allowed for a hot start", kib(bytes), kib(limit)))
}

/// Whether a cold run read less than half of what the others (at least two) read.
pub(crate) fn read_too_little(bytes: u64, others: &[u64]) -> Option<String> {
    let others: Vec<f64> = others.iter().map(|&bytes| bytes as f64).collect();
    let usual = median(&others).filter(|&usual| others.len() >= 2 && usual >= LEAST_COLD_BYTES)?;
    (bytes as f64 * 2.0 < usual).then(|| {
        format!(
            "it read {} from disk, less than half of the {} of other runs in this state",
            kib(bytes),
            kib(usual as u64)
        )
    })
}

/// Whether more pages were resident than after the eviction of an earlier run.
fn began_too_warm(residency: Option<Residency>, least: Option<u64>) -> Option<String> {
    let (residency, least) = (residency?, least?);
    let tolerance = (residency.file_pages / MOST_HOT_PART).max(MOST_HOT_BYTES / PAGE_SIZE);
    (residency.resident_pages > least.saturating_add(tolerance)).then(|| {
        format!(
            "{} pages of its files were in memory at the launch, but only {least} before another run",
            residency.resident_pages
        )
    })
}

/// Whether less than 99 % of the restorable pages were restored.
fn not_restored(restored: Option<RestoredPages>) -> Option<String> {
    let RestoredPages { asked, lost, back } = restored?;
    let possible = asked.saturating_sub(lost);
    (u128::from(back) * 100 < u128::from(possible) * 99)
        .then(|| format!("only {back} of the {possible} pages of the saved state were in memory at the launch"))
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn run(bytes_read: u64, resident_pages: u64) -> RawRun {
        RawRun {
            seconds: Some(1.0),
            end: End::Exited(0),
            last_seen: None,
            residency: Some(Residency { file_pages: 10_000, resident_pages, ..Residency::default() }),
            restored: None,
            bytes_read: Some(bytes_read),
            major_faults: Some(0),
            minor_faults: Some(0),
            user_seconds: Some(0.0),
            system_seconds: Some(0.0),
            uncounted: None,
            devices: Vec::new(),
            processors: None,
        }
    }

    fn contradicts(state: StartState, run: &RawRun, history: &History) -> bool {
        matches!(judge(state, run, history, false), Use::Contradicts { .. })
    }

    #[test]
    fn what_was_seen_instead_of_readiness_is_told() {
        let seen = Some("http://127.0.0.1:80/ answered with status 503".to_owned());
        let run = RawRun { end: End::TimedOut, seconds: None, last_seen: seen, ..run(0, 0) };
        let Use::Failed { reason } = judge(StartState::Hot, &run, &History::default(), false) else { panic!() };
        assert!(reason.ends_with("the time limit (http://127.0.0.1:80/ answered with status 503)"), "{reason}");
    }

    #[test]
    fn a_start_as_after_boot_needs_what_was_saved() {
        let run = |asked, lost, back| RawRun { restored: Some(RestoredPages { asked, lost, back }), ..run(MIB, 10) };
        let history = History::default();
        assert!(!contradicts(StartState::Boot, &run(1000, 0, 990), &history));
        assert!(contradicts(StartState::Boot, &run(1000, 0, 989), &history));
        assert!(!contradicts(StartState::Boot, &run(1000, 500, 500), &history), "what is gone cannot come back");
        assert!(!contradicts(StartState::Boot, &run(0, 0, 0), &history));
    }

    #[test]
    fn failures_are_named() {
        let failed =
            |end, seconds, any| judge(StartState::Hot, &RawRun { end, seconds, ..run(0, 0) }, &History::default(), any);
        assert_eq!(failed(End::Exited(0), Some(1.0), false), Use::Counted);
        assert_eq!(failed(End::Exited(1), Some(1.0), true), Use::Counted);
        for (end, seconds, any) in [
            (End::Exited(1), Some(1.0), false),
            (End::Exited(1), None, true),
            (End::Exited(0), None, true),
            (End::Signalled(11), None, true),
            (End::TimedOut, None, true),
        ] {
            assert!(matches!(failed(end, seconds, any), Use::Failed { .. }), "{end:?} {seconds:?} {any}");
        }
    }

    #[test]
    fn a_hot_run_that_read_is_not_hot() {
        let history = |cold_bytes| History { cold_bytes, ..History::default() };
        let cases = [
            (MIB, None, false),
            (MIB + 1, None, true),
            (MIB + 1, Some(170 * MIB), true),    // 5 % would be 8.5 MiB
            (300 << 10, Some(4 * MIB), true),    // 5 % are 205 KiB
            (128 << 10, Some(100 << 10), false), // one readahead window
        ];
        for (bytes, cold, wanted) in cases {
            assert_eq!(contradicts(StartState::Hot, &run(bytes, 0), &history(cold)), wanted, "{bytes} {cold:?}");
        }
    }

    #[test]
    fn a_cold_run_that_hardly_read_is_not_cold() {
        let history = |bytes: &[u64]| History { bytes_read: bytes.to_vec(), ..History::default() };
        assert!(!contradicts(StartState::Cold, &run(0, 0), &history(&[])));
        assert!(!contradicts(StartState::Cold, &run(10 * MIB, 0), &history(&[100 * MIB])), "one other says little");
        assert!(contradicts(StartState::Cold, &run(10 * MIB, 0), &history(&[100 * MIB, 100 * MIB])));
        assert!(!contradicts(StartState::Cold, &run(50 * MIB, 0), &history(&[100 * MIB, 100 * MIB])));
        assert!(!contradicts(StartState::Cold, &run(0, 0), &history(&[4096, 4096])), "nothing to speak of");
    }

    #[test]
    fn what_is_not_known_contradicts_nothing() {
        let unknown = RawRun { bytes_read: None, ..run(0, 0) };
        let history = History { bytes_read: vec![100 * MIB; 3], cold_bytes: Some(100 * MIB), ..History::default() };
        for state in [StartState::Cold, StartState::Selective, StartState::Boot, StartState::Hot] {
            assert!(!contradicts(state, &unknown, &history), "{state}");
        }
        // What is resident still does.
        let warm = RawRun { bytes_read: None, ..run(0, 9000) };
        assert!(contradicts(StartState::Cold, &warm, &History { least_resident: Some(300), ..history }));
    }

    #[test]
    fn what_began_warmer_than_it_had_to_is_not_cold() {
        let history = History { least_resident: Some(300), ..History::default() };
        for state in [StartState::Cold, StartState::Selective] {
            assert!(!contradicts(state, &run(MIB, 800), &history));
            assert!(contradicts(state, &run(MIB, 801), &history), "300 and 5 % of 10000");
        }
    }
}
