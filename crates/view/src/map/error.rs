//! Why a map cannot be drawn.

use thiserror::Error;

use super::words::list;

/// Why a trace or one of its objects cannot be shown.
#[derive(Debug, Error)]
pub enum MapError {
    /// No file of the trace matches the name.
    #[error("no file of this trace is named `{name}`")]
    NoSuchFile {
        /// As asked for, made harmless.
        name: String,
        /// Names that are like it, or else those of the files with most first touches.
        instead: Vec<String>,
    },
    /// The name matches several files.
    #[error("`{name}` matches {count} files of this trace: {}", list(.found))]
    Several {
        /// As asked for, made harmless.
        name: String,
        /// How many files.
        count: usize,
        /// Paths of the first of them, those with most first touches first.
        found: Vec<String>,
    },
    /// The trace has no page touches.
    #[error("nothing to map: this trace has no page touches")]
    NothingTouched,
    /// The file number is from another trace.
    #[error("this trace has no file number {number}")]
    Foreign {
        /// As asked for.
        number: u32,
    },
    /// The picture is not what the renderer takes.
    #[error("cannot render the picture: {reason}")]
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
            Self::NothingTouched => {
                Some("record with `coldstart trace` without `--layers`, or with the layer `pages`".to_owned())
            }
            Self::NoSuchFile { .. } | Self::Foreign { .. } | Self::Pixels { .. } => None,
        }
    }
}

coldstart_hint::hinted!(MapError);
