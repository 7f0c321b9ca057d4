//! Why there is no map.

use thiserror::Error;

use super::words::list;

/// Why a trace or one of its objects cannot be shown.
#[derive(Debug, Error)]
pub enum MapError {
    /// Nothing in the trace has this name.
    #[error("no file of this trace is named `{name}`")]
    NoSuchFile {
        /// As asked for, made harmless.
        name: String,
        /// Names that are like it, or else those of the files with most first touches.
        instead: Vec<String>,
    },
    /// Files of different names are meant.
    #[error("`{name}` means {count} files of this trace: {}", list(.found))]
    Several {
        /// As asked for, made harmless.
        name: String,
        /// How many files.
        count: usize,
        /// Paths of the first of them, those with most first touches first.
        found: Vec<String>,
    },
    /// There is nothing to choose from.
    #[error("no page of any file was seen to be touched in this trace: there is nothing to map")]
    NothingTouched,
    /// The number is of another trace.
    #[error("this trace has no file number {number}")]
    Foreign {
        /// As asked for.
        number: u32,
    },
    /// The picture is not what the renderer takes.
    #[error("cannot turn the picture into pixels: {reason}")]
    Pixels {
        /// In its words.
        reason: String,
    },
}

impl MapError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoSuchFile { instead, .. } if !instead.is_empty() => Some(format!("it has {}", list(instead))),
            Self::Several { .. } => Some("name one of them by its path".to_owned()),
            Self::NothingTouched => Some(
                "a trace with pages has them: `coldstart trace` without `--layers`, or with `pages` among them"
                    .to_owned(),
            ),
            Self::NoSuchFile { .. } | Self::Foreign { .. } | Self::Pixels { .. } => None,
        }
    }
}

coldstart_hint::hinted!(MapError);
