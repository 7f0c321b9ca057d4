//! Why a recording of perf cannot become a trace.

use std::io;
use std::path::PathBuf;

/// A place in a file, and what is wrong there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Damage {
    pub(super) offset: u64,
    pub(super) what: &'static str,
}

/// Why a recording of perf cannot become a trace.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Io {
        /// The recording.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// It is something else.
    #[error("`{}` is not a perf recording: {found}", .path.display())]
    NotPerf {
        /// The file.
        path: PathBuf,
        /// What is there instead, a clause.
        found: &'static str,
    },
    /// Its headers contradict themselves, or end too early.
    #[error("`{}` is damaged: {what} (file offset {offset:#x})", .path.display())]
    Damaged {
        /// The recording.
        path: PathBuf,
        /// Where, in bytes.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// It was made with options that leave out what a trace needs.
    #[error("cannot import `{}`: {what}", .path.display())]
    Unfit {
        /// The recording.
        path: PathBuf,
        /// What is missing.
        what: String,
        /// An option of `perf record` that makes the difference, where it is one.
        option: Option<&'static str>,
    },
    /// There are no page faults in it.
    #[error("cannot import `{}`: {what}", .path.display())]
    Empty {
        /// The recording.
        path: PathBuf,
        /// Why there is nothing.
        what: &'static str,
    },
    /// The file became shorter while it was read.
    #[error("`{}` was truncated while it was read", .path.display())]
    Shrank {
        /// The recording.
        path: PathBuf,
    },
}

/// The command line that works.
const RECORD: &str = "perf record -e page-faults -c 1 -d -k CLOCK_MONOTONIC -o perf.data -- PROGRAM";

impl ImportError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } => None,
            Self::NotPerf { .. } | Self::Empty { .. } => Some(format!("record with `{RECORD}`")),
            Self::Damaged { .. } => Some(format!(
                "if it is a copy, copy it again; or record again with `{RECORD}`; `perf script` may still read parts of it"
            )),
            Self::Unfit { option: Some(option), .. } => Some(format!("{option}; this works: `{RECORD}`")),
            Self::Unfit { option: None, .. } => Some(format!("record again with `{RECORD}`")),
            Self::Shrank { .. } => Some("wait until `perf record` has ended".to_owned()),
        }
    }
}

coldstart_hint::hinted!(ImportError);
