//! Why nothing could be measured.

use std::io;
use std::path::PathBuf;

use coldstart_host::kernel::settings::DROP_CACHES;
use coldstart_launch::LaunchError;
use coldstart_pagecache::SavedError;
use coldstart_profile::measurement::StartState;
use thiserror::Error;

use crate::frequency::FrequencyError;

/// Why nothing could be measured. Programs that start and fail are results instead.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// No command, no state or no run.
    #[error("there is nothing to measure: a command, a state and at least one run are needed")]
    NothingToMeasure,
    /// A cold start, or one as after boot, was asked for and we may not drop caches.
    #[error("cannot start {state}: `{DROP_CACHES}` may not be written")]
    ColdNotPermitted {
        /// The state asked for.
        state: StartState,
    },
    /// A start as after boot was asked for, and no saved state was given.
    #[error("cannot start as after boot: no saved state is given")]
    NoSavedState,
    /// The saved state could not be brought back.
    #[error("cannot bring back the state saved in `{}`", .file.display())]
    Restore {
        /// The file.
        file: PathBuf,
        /// Why.
        source: SavedError,
    },
    /// A selective start was asked for and nobody knows what to evict.
    #[error("cannot start `{label}` selectively cold: no file is known that it reads")]
    NoFiles {
        /// The command's label.
        label: String,
    },
    /// The processors' frequency was to be held and cannot be.
    #[error(transparent)]
    Frequency(#[from] FrequencyError),
    /// A command could not be launched, or we were interrupted.
    #[error("cannot measure `{label}`")]
    Launch {
        /// The command's label.
        label: String,
        /// Why.
        source: LaunchError,
    },
    /// Dropping the caches failed.
    #[error("cannot drop the machine's caches (`{DROP_CACHES}`)")]
    DropCaches {
        /// The kernel's answer.
        source: io::Error,
    },
    /// A file could not be evicted.
    #[error("cannot evict the files of `{label}`")]
    Evict {
        /// The command's label.
        label: String,
        /// Why, with the file's name.
        source: coldstart_pagecache::Error,
    },
}

impl MeasureError {
    /// What the user can do about it, where there is advice. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSavedState => Some("save one with `coldstart pagecache save FILE`, then --state boot=FILE".to_owned()),
            Self::ColdNotPermitted { .. } => Some(
                "run as root, outside a container that mounts /proc/sys read-only; the states `selective` and `hot` need \
                 no privilege"
                    .to_owned(),
            ),
            Self::NoFiles { .. } => Some("record what it reads first, or measure it cold (as root) or hot".to_owned()),
            Self::Frequency(error) => error.hint(),
            _ => None,
        }
    }

    /// The signal that interrupted us, if that is what happened: a shell expects exit code 128 + signal.
    pub fn interrupted_by(&self) -> Option<i32> {
        match self {
            Self::Launch { source: LaunchError::Interrupted { signal }, .. } => Some(*signal),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(MeasureError);
