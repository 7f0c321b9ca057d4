//! The state of the page cache, saved to a file and restored: cold after boot without a reboot.
//!
//! [`SavedPageCache::save`] records which pages of which files are resident, [`restore()`] drops all caches and reads exactly
//! those again. Not obvious: the kernel does not list cached directories and inodes. So the metadata of a saved state
//! is inferred: the pages of block devices where they can be queried, the directories above
//! each recorded page, and the symbolic links that lead to one.
//!
//! A state is parsed once and may be restored many times. File format: `docs/formats/saved-page-cache.md`.

mod decode;
mod devices;
mod encode;
mod error;
mod fetch;
mod gather;
mod layout;
mod look;
mod metadata;
mod missing;
mod names;
mod restore;
mod save;
mod threads;

pub use error::{SavedError, SavedFormatError};
pub use layout::MAGIC as SAVED_MAGIC;
pub use missing::{Missing, MissingReason};
pub use restore::{NameTally, PageTally, RestoreOptions, Restored, restore};
pub use save::{SaveNotes, SaveOptions, UnseenDevice};

use std::io::Read;
use std::path::{Path, PathBuf};

use coldstart_profile::{FileIdentity, PageRange};
use coldstart_sys::named_file::{InodeKind, LastLink, NamedFile, NotUsable};
use rustix::fs::OFlags;

/// Saved states are read whole; a larger file is refused. 4 GiB hold about 30 million files.
const MOST_BYTES: u64 = 4 << 30;

/// The content of the page cache at one moment.
///
/// Invariants: ranges ascend within a file, are not adjacent, and end where the file ends; paths are
/// absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPageCache {
    origin: Origin,
    files: Vec<SavedFile>,
    devices: Vec<SavedFile>,
    directories: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

/// The origin of a state. For reports only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Seconds since 1970-01-01 UTC.
    pub saved_at: i64,
    /// `/proc/sys/kernel/random/boot_id`, different after each boot; zeros where it could not be read.
    pub boot_id: [u8; 16],
    /// `/proc/sys/kernel/osrelease`.
    pub kernel: Vec<u8>,
    /// The kernel's page size, in bytes; page numbers count 4096 bytes in any case.
    pub base_page: u32,
    /// Whether it covers all storage file systems rather than chosen trees.
    pub is_whole_system: bool,
    /// Files with hidden residency.
    pub hidden_files: u64,
    /// Block devices with hidden residency.
    pub hidden_devices: u32,
}

/// A file or block device, and its resident pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// Its identity; for a block device only the size counts.
    pub identity: FileIdentity,
    /// `st_dev`; for a block device its own number.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
    /// The resident pages, at least one range.
    pub ranges: Vec<PageRange>,
}

impl SavedFile {
    /// Number of resident pages.
    pub fn pages(&self) -> u64 {
        self.ranges.iter().fold(0, |sum, range| sum.saturating_add(range.count))
    }
}

impl SavedPageCache {
    /// Where and when it was saved.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Regular files, by device and inode number.
    pub fn files(&self) -> &[SavedFile] {
        &self.files
    }

    /// Block devices, whose pages hold file systems' metadata.
    pub fn devices(&self) -> &[SavedFile] {
        &self.devices
    }

    /// Directories above the recorded files.
    pub fn directories(&self) -> &[PathBuf] {
        &self.directories
    }

    /// Symbolic links that lead to recorded files and directories.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Number of pages of all files and devices.
    pub fn pages(&self) -> u64 {
        self.files.iter().chain(&self.devices).fold(0, |sum, file| sum.saturating_add(file.pages()))
    }

    /// Reads a saved state from a file.
    ///
    /// # Errors
    /// [`SavedError::Read`]; [`SavedError::NotAFile`], without waiting for a pipe; [`SavedError::Format`].
    pub fn read(path: &Path) -> Result<Self, SavedError> {
        let error = |source| SavedError::Read { path: path.to_owned(), source };
        let found = NamedFile::find(path, LastLink::Follow).map_err(error)?;
        if found.kind() != InodeKind::Regular {
            return Err(SavedError::NotAFile { path: path.to_owned(), kind: found.kind() });
        }
        let (mut file, stat) = found.open(OFlags::empty()).map_err(error)?;
        let mut bytes = Vec::new();
        // Other files are recognised without reading them completely.
        file.by_ref().take(layout::HEADER_SIZE as u64).read_to_end(&mut bytes).map_err(error)?;
        let format = |source| SavedError::Format { path: path.to_owned(), source };
        let length = decode::length(&bytes).map_err(format)?;
        let found = u64::try_from(stat.st_size).unwrap_or(0);
        if length != found {
            return Err(format(SavedFormatError::WrongLength { expected: length, found }));
        }
        if length > MOST_BYTES {
            return Err(error(NotUsable::TooLarge { limit: MOST_BYTES }.into()));
        }
        // One byte more than expected, to notice a growing file.
        let rest = length.saturating_sub(bytes.len() as u64).saturating_add(1);
        file.take(rest).read_to_end(&mut bytes).map_err(error)?;
        Self::from_bytes(&bytes).map_err(format)
    }
}
