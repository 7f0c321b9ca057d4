//! Why a state of the page cache could not be saved, read or restored.

use std::io;
use std::path::PathBuf;

use coldstart_sys::named_file::InodeKind;

use super::layout::VERSION;

/// Why bytes are not a saved page cache that this build can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SavedFormatError {
    /// Something else, or an empty file.
    #[error("not a saved page cache: the first 8 bytes are not \"coldpage\"")]
    NotSaved,
    /// Written by a newer coldstart.
    #[error("it has version {found}; this coldstart reads up to version {VERSION}")]
    NewerVersion {
        /// Version in the file.
        found: u32,
    },
    /// Cut off, or something stands behind it.
    #[error("it should be {expected} bytes long but is {found}")]
    WrongLength {
        /// Length that the header asks for, or the most that is read.
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
    /// A record that nobody writes.
    #[error("it is damaged at byte {offset}: {what}")]
    BadRecord {
        /// Where the record starts.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Longer than the format can say.
    #[error("a name of {length} bytes is more than a saved page cache can hold (4,294,967,295)")]
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
    /// Something other than a regular file stands there.
    #[error("`{}` is {kind}, not a saved page cache", path.display())]
    NotAFile {
        /// What was named.
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
    /// A named path is not there or cannot be looked at.
    #[error("cannot save what is cached of `{}`", path.display())]
    Named {
        /// The path as it was named.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The list of mounted file systems cannot be read, and without it there is no whole system.
    #[error("cannot read which file systems are mounted from `/proc/self/mountinfo`")]
    Mounts {
        /// Why.
        source: io::Error,
    },
    /// No threads can be had.
    #[error("cannot start threads for the walk")]
    Threads {
        /// Why.
        source: io::Error,
    },
    /// The caller asked to stop.
    #[error("stopped before everything was looked at")]
    Stopped,
    /// Dropping the caches is not permitted, so nothing was done.
    #[error("the page cache may not be dropped by this user")]
    MayNotDrop,
    /// The caches could not be dropped.
    #[error("cannot drop the page cache")]
    Drop {
        /// Why.
        source: io::Error,
    },
    /// It asks for more pages than there is memory, so nothing was done.
    #[error("the saved page cache holds {asked} bytes, and this machine has {memory} bytes of memory")]
    MoreThanMemory {
        /// Bytes of all saved pages.
        asked: u64,
        /// Bytes of memory.
        memory: u64,
    },
}

impl SavedError {
    /// What to do about it, where there is advice.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Format { source: SavedFormatError::NewerVersion { .. }, .. } => {
                Some("use a newer coldstart, or save the state again with this one")
            }
            Self::Format { source: SavedFormatError::NotSaved, .. } | Self::NotAFile { .. } => {
                Some("`coldstart pagecache save FILE` writes one")
            }
            Self::Format { .. } => Some("save the state again: a damaged file is not used in part"),
            Self::MayNotDrop => Some(
                "run as root, or add the saved pages to what is in memory now: `coldstart pagecache restore --add`",
            ),
            Self::MoreThanMemory { .. } => Some("it was saved on a larger machine, or is no honest file"),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(SavedError);
