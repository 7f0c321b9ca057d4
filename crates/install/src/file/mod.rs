//! One file of an installation: what is planned, what stands there, what is recorded of it.

mod look;
mod restore;
mod write;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use coldstart_output::Stored;

pub(crate) use look::{Standing, is_marked, look, read_regular, sha256};
pub(crate) use restore::{flush_parent, remove, remove_empty, restore};
pub(crate) use write::{back_up, copy_new, create_directories, missing_directories, prepare, write, write_new};

/// What every file of ours contains in its first lines.
pub(crate) const MARK: &str = "Written by coldstart";

/// The largest file that is written, replaced or compared, in bytes.
pub(crate) const MOST_BYTES: u64 = 16 << 20;

/// A file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// Its content.
    pub bytes: Vec<u8>,
    /// Its permission bits, whatever the umask.
    pub mode: u32,
}

/// A file as the manifest records it, before it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenFile {
    /// Its absolute path.
    pub path: Stored,
    /// SHA-256 of what is written, hexadecimal.
    pub sha256: String,
    /// Its permission bits.
    pub mode: u32,
    /// What stood there before; `None` for nothing.
    pub before: Option<Before>,
    /// Directories that did not exist, the outermost first. Undoing removes those that are empty.
    pub created_directories: Vec<Stored>,
}

/// What stood at the path of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Before {
    /// A regular file.
    File {
        /// The name of its copy in the directory `before` of the installation.
        backup: String,
        /// SHA-256 of its content, hexadecimal.
        sha256: String,
        /// Its permission bits.
        mode: u32,
        /// Its owner.
        uid: u32,
        /// Its group.
        gid: u32,
        /// Its modification time: seconds since 1970-01-01 UTC.
        modified_seconds: i64,
        /// And nanoseconds.
        modified_nanoseconds: i64,
    },
    /// A symbolic link.
    Link {
        /// What it contained.
        target: Stored,
    },
}

/// What stands at the path of a file now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileState {
    /// What we wrote.
    Ours,
    /// What stood there before, which may be nothing.
    Before,
    /// Nothing, although something stood there before.
    Missing,
    /// Something else.
    Edited,
}

impl WrittenFile {
    /// What stands at its path now.
    pub fn state(&self) -> FileState {
        look::state(self)
    }
}
