//! Why a state of the page cache could not be saved, read or restored.

use std::io;
use std::path::PathBuf;

use coldstart_sys::named_file::InodeKind;

use super::layout::VERSION;

/// Why this build cannot use bytes as a saved page cache.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedFormatError {
    /// Another kind of file, or an empty one.
    #[error("not a saved page cache: the first 8 bytes are not \"coldpage\"")]
    NotSaved,
    /// Written by a newer coldstart.
    #[error("it has format version {found}; this coldstart reads versions up to {VERSION}")]
    NewerVersion {
        /// Version in the file.
        found: u32,
    },
    /// Truncated, or too long.
    #[error("it should be {expected} bytes long but is {found}")]
    WrongLength {
        /// The length in the header, or the limit.
        expected: u64,
        /// Length of the bytes.
        found: u64,
    },
    /// A byte has changed since it was written.
    #[error("it is damaged: its checksum is {found:08x}, not {expected:08x}")]
    WrongChecksum {
        /// In the header.
        expected: u32,
        /// Of the bytes.
        found: u32,
    },
    /// An invalid record.
    #[error("it is damaged at byte {offset}: {what}")]
    BadRecord {
        /// Where the record starts.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Longer than the format allows.
    #[error("a name of {length} bytes exceeds the limit of the format (4,294,967,295)")]
    TooLong {
        /// Its length.
        length: u64,
    },
}

/// Why a state of the page cache could not be saved, read or restored.
#[derive(Debug, thiserror::Error)]
pub enum SavedError {
    /// The file cannot be read.
    #[error("cannot read the saved page cache `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not a regular file.
    #[error("`{}` is {kind}, not a saved page cache", path.display())]
    NotAFile {
        /// The named path.
        path: PathBuf,
        /// What it is.
        kind: InodeKind,
    },
    /// The file's content cannot be used.
    #[error("cannot use `{}` as a saved page cache", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SavedFormatError,
    },
    /// A named path does not exist or cannot be examined.
    #[error("cannot save the cached pages of `{}`", path.display())]
    Named {
        /// The path as given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The list of mounted file systems, required for the whole system, cannot be read.
    #[error("cannot read the mounted file systems from `/proc/self/mountinfo`")]
    Mounts {
        /// Why.
        source: io::Error,
    },
    /// No threads can be created.
    #[error("cannot start threads for the walk")]
    Threads {
        /// Why.
        source: io::Error,
    },
    /// The caller requested a stop.
    #[error("stopped before all files were checked")]
    Stopped,
    /// Dropping the caches is not permitted, so nothing was done.
    #[error("this user may not drop the page cache")]
    MayNotDrop,
    /// The caches could not be dropped.
    #[error("cannot drop the page cache")]
    Drop {
        /// Why.
        source: io::Error,
    },
    /// It has more pages than fit in memory, so nothing was done.
    #[error("the saved page cache has {asked} bytes, but this machine has only {memory} bytes of memory")]
    MoreThanMemory {
        /// Bytes of all saved pages.
        asked: u64,
        /// Bytes of memory.
        memory: u64,
    },
}

impl SavedError {
    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Format { source: SavedFormatError::NewerVersion { .. }, .. } => {
                Some("use a newer coldstart, or save the state again with this one")
            }
            Self::Format { source: SavedFormatError::NotSaved, .. } | Self::NotAFile { .. } => {
                Some("create one with `coldstart pagecache save FILE`")
            }
            Self::Format { .. } => Some("save the state again: a damaged file is not used at all"),
            Self::MayNotDrop => {
                Some("run as root, or add the saved pages to the current ones: `coldstart pagecache restore --add`")
            }
            Self::MoreThanMemory { .. } => Some("it was saved on a machine with more memory, or is corrupt"),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(SavedError);
