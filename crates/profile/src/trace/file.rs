//! Files of a trace.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::FileIdentity;

/// A file that a start used: mapped, read, or listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedFile {
    /// Absolute path without symbolic links; a block device's own path for metadata; `(unnamed ...)` where only
    /// numbers are known.
    pub path: PathBuf,
    /// `st_dev` in the kernel's numbering: `major << 20 | minor`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// Its identity when it was recorded; `None` if it was removed since.
    pub identity: Option<FileIdentity>,
    /// Its owner.
    pub category: FileCategory,
}

/// The owner of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileCategory {
    /// The program's own: in its directory, or in a directory of its package.
    Program,
    /// Libraries and data that belong to the system.
    System,
    /// The user's settings, caches and profiles.
    Profile,
    /// Documents and other data that the user works on.
    Data,
    /// Blocks of the file system itself: inodes, directories.
    Metadata,
    /// In memory only: `/proc`, `/dev`, `/run`, tmpfs.
    Memory,
}

impl FileCategory {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Program, Self::System, Self::Profile, Self::Data, Self::Metadata, Self::Memory];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::System => "system",
            Self::Profile => "profile",
            Self::Data => "data",
            Self::Metadata => "metadata",
            Self::Memory => "memory",
        }
    }
}
