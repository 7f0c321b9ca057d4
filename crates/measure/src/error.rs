//! Why a measurement is not possible.

use std::io;
use std::path::PathBuf;

use coldstart_host::kernel::settings::DROP_CACHES;
use coldstart_launch::LaunchError;
use coldstart_pagecache::SavedError;
use coldstart_profile::measurement::StartState;
use thiserror::Error;

use crate::frequency::FrequencyError;

/// Why a measurement is not possible. A program that starts and fails is a result instead.
#[derive(Debug, Error)]
pub enum MeasureError {
    /// No command, no state or no run.
    #[error("nothing to measure: at least one command, one state and one run are required")]
    NothingToMeasure,
    /// A cold start, or one as after boot, was requested, but we may not drop caches.
    #[error("cannot start {state}: `{DROP_CACHES}` is not writable")]
    ColdNotPermitted {
        /// The state asked for.
        state: StartState,
    },
    /// A start as after boot was requested without a saved state.
    #[error("cannot start as after boot: no saved state was given")]
    NoSavedState,
    /// The saved state could not be restored.
    #[error("cannot restore the state saved in `{}`", .file.display())]
    Restore {
        /// The file.
        file: PathBuf,
        /// Why.
        source: SavedError,
    },
    /// A selective start was requested, but the files to evict are unknown.
    #[error("cannot start `{label}` selectively cold: its files are unknown")]
    NoFiles {
        /// The command's label.
        label: String,
    },
    /// The processors' frequency could not be fixed.
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
        /// The kernel's error.
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
    /// Advice, if there is any. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSavedState => Some("save one with `coldstart pagecache save FILE`, then --state boot=FILE".to_owned()),
            Self::ColdNotPermitted { .. } => Some(
                "run as root, outside a container that mounts /proc/sys read-only; the states `selective` and `hot` need \
                 no privilege"
                    .to_owned(),
            ),
            Self::NoFiles { .. } => Some("record its files first, or measure it cold (as root) or hot".to_owned()),
            Self::Frequency(error) => error.hint(),
            _ => None,
        }
    }

    /// The signal that interrupted us, if any: a shell expects exit code 128 + signal.
    pub fn interrupted_by(&self) -> Option<i32> {
        match self {
            Self::Launch { source: LaunchError::Interrupted { signal }, .. } => Some(*signal),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(MeasureError);
