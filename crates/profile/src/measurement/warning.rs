//! What stands against trusting a figure. Data first; the sentence is made from it.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::StartState;

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
    },
    /// Some runs lie far from the others.
    Outliers {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// The runs.
        samples: Vec<u32>,
    },
    /// Others read much from the same devices while the program started.
    Interference {
        /// The runs.
        samples: Vec<u32>,
        /// Most bytes read in one run by others.
        others_bytes: u64,
    },
    /// Pages that a hot start had left were gone by the next one, so it had to be warmed up again.
    DecayingCaches {
        /// The command's label.
        command: String,
        /// How often.
        times: u32,
        /// Most pages of 4 KiB that had gone.
        pages: u64,
    },
    /// The kernel does not tell whether the files were resident, so only what was read speaks for the state.
    StateUnchecked {
        /// The command's label.
        command: String,
        /// The state.
        state: StartState,
        /// A sentence's end.
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
    /// Times near what starting any process takes: the program's own part is small and hard to see.
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
    /// Some of the files are not there any more.
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
            Self::FirstRunSlow { command, state, sample, seconds, median } => write!(
                to,
                "the first {state} run of {command} (run {sample}) took {:.1} ms, the median is {:.1} ms: something was \
                 still being set up",
                seconds * 1e3,
                median * 1e3
            ),
            Self::Outliers { command, state, samples } => {
                write!(to, "{state} times of {command} far from the others: {}", runs(samples))
            }
            Self::Interference { samples, others_bytes } => write!(
                to,
                "others read from the same devices during {}, up to {:.1} MiB: the machine was not idle",
                runs(samples),
                mebibytes(*others_bytes)
            ),
            Self::DecayingCaches { command, times, pages } => write!(
                to,
                "the page cache lost up to {pages} pages of {command} between hot runs, which was warmed up again {}",
                count(*times, "time")
            ),
            Self::StateUnchecked { command, state, reason } => {
                write!(to, "whether {command} really started {state} could only be told from what it read: {reason}")
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
                "{command} takes {:.2} ms {state}, hardly more than starting any process ({:.2} ms)",
                median * 1e3,
                floor * 1e3
            ),
            Self::MissingFiles { command, files } => {
                write!(to, "gone since {command} was seen to read them: {}", count(*files, "file"))
            }
        }
    }
}

fn count(number: impl Into<u64>, noun: &str) -> String {
    let number = number.into();
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn runs(samples: &[u32]) -> String {
    let list: Vec<String> = samples.iter().map(u32::to_string).collect();
    format!("run{} {}", if samples.len() == 1 { "" } else { "s" }, list.join(", "))
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let gone = Warning::MissingFiles { command: "a".into(), files: 1 };
        assert_eq!(gone.to_string(), "gone since a was seen to read them: 1 file");
    }
}
