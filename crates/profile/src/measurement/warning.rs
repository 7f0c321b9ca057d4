//! Reasons not to trust a figure, as data and as a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Cause, StartState};

/// Something that the reader of the figures should know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// The first run of a state took much longer than the others, in a way that the others' spread does not explain.
    FirstRunSlow {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The run.
        sample: u32,
        /// Its time in seconds.
        seconds: f64,
        /// The median of all in seconds.
        median: f64,
        /// How often it had been started before, with success, in this measurement.
        #[serde(default)]
        earlier_starts: u32,
        /// What may explain it.
        #[serde(default)]
        causes: Vec<Cause>,
    },
    /// Some runs lie far from the others.
    Outliers {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The runs.
        samples: Vec<u32>,
        /// How many runs count, these included.
        #[serde(default)]
        runs: u32,
        /// Possible causes; a run may have several, or none.
        #[serde(default)]
        causes: Vec<Cause>,
    },
    /// Other processes read much from the same devices while the program started.
    Interference {
        /// The runs.
        samples: Vec<u32>,
        /// Most bytes read by other processes in one run.
        others_bytes: u64,
    },
    /// Others used the processors much while the program started.
    ProcessorsBusy {
        /// The runs.
        samples: Vec<u32>,
        /// Largest share of the machine's processor time used by other processes in one run: 0.5 is half of it.
        most_part: f64,
    },
    /// The hypervisor stole processor time while the program started.
    TimeStolen {
        /// The runs.
        samples: Vec<u32>,
        /// Most seconds of processor time in one run.
        most_seconds: f64,
    },
    /// Another coldstart measured on this machine at the same time.
    AnotherMeasuring,
    /// The processors' frequency is free to change from one run to the next.
    FrequencyVaries {
        /// The governors of all policies, each once.
        governors: Vec<String>,
        /// At least some processors may run faster than their base frequency.
        turbo: bool,
    },
    /// The processors' frequency was fixed, but did not stay so or was not restored.
    FrequencyNotHeld {
        /// A sentence.
        reason: String,
    },
    /// Processors were throttled because of heat.
    Throttled {
        /// How often, added up over processors.
        events: u64,
    },
    /// The machine ran on battery, with which most machines run slower.
    OnBattery,
    /// Pages of a hot start were evicted before the next one, so it had to be warmed up again.
    DecayingCaches {
        /// The command's label.
        command: String,
        /// How often.
        times: u32,
        /// Most pages of 4 KiB that had gone.
        pages: u64,
        /// The kernel reclaims unused pages proactively (DAMON).
        #[serde(default)]
        proactive_reclaim: bool,
    },
    /// Residency was hidden, so the state could only be verified by the reads.
    StateUnchecked {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// A sentence's end.
        reason: String,
    },
    /// The reads of runs are unknown, so they could not verify their state.
    ReadsUnknown {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The runs.
        samples: Vec<u32>,
        /// Why not, for the first of them: a clause.
        reason: String,
    },
    /// No run reached the state; there are no figures.
    StateNotReached {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The last run's reason.
        reason: String,
    },
    /// Runs contradicted their state and were repeated.
    Contradictions {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The runs.
        samples: Vec<u32>,
        /// The reason of the first of them.
        reason: String,
    },
    /// Some runs failed.
    FailedRuns {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The runs.
        samples: Vec<u32>,
        /// How the first of them failed: "exited with code 1".
        reason: String,
        /// The rest of the runs was not tried, because none had succeeded.
        gave_up: bool,
    },
    /// The readahead window changed between runs, so they did not read alike.
    ReadAheadChanged {
        /// The device's number.
        device: String,
        /// All values seen, in KiB.
        kib: Vec<u64>,
    },
    /// Times close to the start of any process: the program's own part is small and hard to measure.
    NearLaunchFloor {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The median in seconds.
        median: f64,
        /// The time of starting `true`, in seconds.
        floor: f64,
    },
    /// Some of the files do not exist any more.
    MissingFiles {
        /// The command's label.
        command: String,
        /// How many.
        files: u64,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FirstRunSlow { command, state, sample, seconds, median, earlier_starts, causes } => {
                write!(
                    to,
                    "the first {state} run of {command} (run {sample}) took {:.1} ms, the median is {:.1} ms",
                    seconds * 1e3,
                    median * 1e3
                )?;
                match earlier_starts {
                    _ if !causes.is_empty() => {}
                    0 => to.write_str(": something was still being set up")?,
                    &starts => write!(to, ", although it had been started {} before", count(starts, "time"))?,
                }
                explain(causes, to)
            }
            Self::Outliers { command, state, samples, causes, .. } => {
                write!(to, "{state} times of {command} far from the others: {}", runs(samples))?;
                explain(causes, to)
            }
            Self::ProcessorsBusy { samples, most_part } => write!(
                to,
                "others used up to {:.0} % of the processors during {}: the machine was not idle",
                most_part * 100.0,
                runs(samples)
            ),
            Self::TimeStolen { samples, most_seconds } => write!(
                to,
                "the hypervisor stole up to {:.0} ms of processor time during {}",
                most_seconds * 1e3,
                runs(samples)
            ),
            Self::AnotherMeasuring => to.write_str("another coldstart measured on this machine at the same time"),
            Self::FrequencyVaries { governors, turbo } => write!(
                to,
                "the processors' frequency may change between runs: governor {}{}",
                governors.join(" and "),
                if *turbo { ", turbo on" } else { "" }
            ),
            Self::FrequencyNotHeld { reason } => {
                write!(to, "the processors' frequency was not held all the time: {reason}")
            }
            Self::Throttled { events } => {
                write!(to, "processors were throttled because of heat, {} while measuring", count(*events, "time"))
            }
            Self::OnBattery => to.write_str("the machine ran on battery"),
            Self::Interference { samples, others_bytes } => write!(
                to,
                "others read from the same devices during {}, up to {:.1} MiB: the machine was not idle",
                runs(samples),
                mebibytes(*others_bytes)
            ),
            Self::DecayingCaches { command, times, pages, proactive_reclaim } => write!(
                to,
                "the page cache lost up to {pages} pages of {command} between hot runs, which was warmed up again {}{}",
                count(*times, "time"),
                if *proactive_reclaim { ": the kernel reclaims unused pages (DAMON)" } else { "" }
            ),
            Self::StateUnchecked { command, state, reason } => {
                write!(to, "the state ({state}) of {command} could only be verified by its reads: {reason}")
            }
            Self::ReadsUnknown { command, state, samples, reason } => {
                write!(to, "the reads of {command} in {}, {state}, are unknown: {reason}", runs(samples))
            }
            Self::StateNotReached { command, state, reason } => {
                write!(to, "there are no {state} figures of {command}: no run reached that state; {reason}")
            }
            Self::Contradictions { command, state, samples, reason } => {
                write!(to, "not {state}, and left out: {} of {command}; {reason}", runs(samples))
            }
            Self::FailedRuns { command, state, samples, reason, gave_up } => {
                write!(to, "{} of {command}, {state}, failed: it {reason}", runs(samples))?;
                if *gave_up { to.write_str("; further runs were not tried") } else { Ok(()) }
            }
            Self::ReadAheadChanged { device, kib } => {
                write!(to, "the readahead window of device {device} changed between runs: {kib:?} KiB")
            }
            Self::NearLaunchFloor { command, state, median, floor } => write!(
                to,
                "{command} takes {:.2} ms {state}, about as long as starting any process ({:.2} ms)",
                median * 1e3,
                floor * 1e3
            ),
            Self::MissingFiles { command, files } => {
                write!(to, "files of {command} that do not exist any more: {}", count(*files, "file"))
            }
        }
    }
}

/// "; during run 5 others read from the same devices"
fn explain(causes: &[Cause], to: &mut fmt::Formatter<'_>) -> fmt::Result {
    causes.iter().try_for_each(|cause| write!(to, "; during {} {}", runs(&cause.samples), cause.what.sentence()))
}

fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// "run 4", "runs 1, 3", "runs 1, 3 to 9": three and more in a row are drawn together.
fn runs(samples: &[u32]) -> String {
    let mut rows: Vec<(u32, u32)> = Vec::new();
    for &sample in samples {
        match rows.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(sample) => *last = sample,
            _ => rows.push((sample, sample)),
        }
    }
    let row = |&(first, last): &(u32, u32)| match last.saturating_sub(first) {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    let list: Vec<String> = rows.iter().map(row).collect();
    format!("run{} {}", if samples.len() == 1 { "" } else { "s" }, list.join(", "))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Disturbance;

    #[test]
    fn long_rows_of_runs_are_drawn_together() {
        assert_eq!(runs(&[1, 2, 4, 7, 8, 9, 11, u32::MAX]), "runs 1, 2, 4, 7 to 9, 11, 4294967295");
        assert_eq!(runs(&[5]), "run 5");
    }

    #[test]
    fn sentences_count_right() {
        let failed = Warning::FailedRuns {
            command: "a".into(),
            state: StartState::Hot,
            samples: vec![1, 3],
            reason: "exited with code 1".into(),
            gave_up: true,
        };
        assert_eq!(
            failed.to_string(),
            "runs 1, 3 of a, hot, failed: it exited with code 1; further runs were not tried"
        );
        let explained = Warning::Outliers {
            command: "a".into(),
            state: StartState::Cold,
            samples: vec![2, 5],
            runs: 10,
            causes: vec![Cause { what: Disturbance::Reading, samples: vec![5] }],
        };
        assert_eq!(
            explained.to_string(),
            "cold times of a far from the others: runs 2, 5; during run 5 others read from the same devices"
        );
        let gone = Warning::MissingFiles { command: "a".into(), files: 1 };
        assert_eq!(gone.to_string(), "files of a that do not exist any more: 1 file");
    }
}
