//! What is to be known of a file besides its content, before it is rewritten.

use std::fs::File;
use std::io;

use rustix::fs::{Stat, StatxAttributes, Timespec, Timestamps, fgetxattr_query};
use rustix::io::Errno;
use serde::Serialize;

use super::file_refusal::{Allowed, FileRefusal};

/// Which signature of its content a file carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signature {
    /// fs-verity: the file system checks each page that is read against a tree of hashes (`FS_IOC_ENABLE_VERITY`).
    Verity,
    /// The attribute `security.ima`: the kernel's integrity measurement checks the whole file's hash or signature.
    Ima,
    /// The attribute `security.evm`: the kernel checks the file's attributes, mode and owner.
    Evm,
}

/// What is known of a file besides its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileFacts {
    /// Size in bytes.
    pub size: u64,
    /// Bytes that it takes on disk.
    pub blocks_bytes: u64,
    /// The permission bits, with those for set-ID and sticky: `0o7777` at most.
    pub mode: u32,
    /// Number of the user who owns it.
    pub owner: u32,
    /// Number of its group.
    pub group: u32,
    /// How many names it has (hard links).
    pub links: u64,
    /// Whether the path that was given ends in a symbolic link.
    pub is_symlink: bool,
    /// Whether it runs with its owner's rights.
    pub set_user_id: bool,
    /// Whether it runs with its group's rights.
    pub set_group_id: bool,
    /// Whether it runs with capabilities of its own (`security.capability`).
    pub has_capabilities: bool,
    /// A signature of its content.
    pub signature: Option<Signature>,
    /// Whether it cannot be changed or replaced by anybody (`chattr +i`).
    pub immutable: bool,
    /// Whether it can only grow (`chattr +a`), which forbids replacing it, too.
    pub append_only: bool,
}

impl FileFacts {
    /// Whether it takes less room than its size: it has holes, or is compressed.
    pub(super) fn is_sparse(&self) -> bool {
        self.blocks_bytes < self.size
    }

    /// Reads them of an open file.
    pub(super) fn read(file: &File, status: &Stat, attributes: StatxAttributes, is_symlink: bool) -> io::Result<Self> {
        let signature = if attributes.contains(StatxAttributes::VERITY) {
            Some(Signature::Verity)
        } else if has_attribute(file, "security.ima")? {
            Some(Signature::Ima)
        } else {
            has_attribute(file, "security.evm")?.then_some(Signature::Evm)
        };
        Ok(Self {
            size: size_of(status),
            blocks_bytes: blocks_bytes(status),
            mode: status.st_mode & 0o7777,
            owner: status.st_uid,
            group: status.st_gid,
            links: links(status),
            is_symlink,
            set_user_id: status.st_mode & 0o4000 != 0,
            // Without the right to execute for the group the bit once meant mandatory locking, and gives no rights.
            set_group_id: status.st_mode & 0o2010 == 0o2010,
            has_capabilities: has_attribute(file, "security.capability")?,
            signature,
            immutable: attributes.contains(StatxAttributes::IMMUTABLE),
            append_only: attributes.contains(StatxAttributes::APPEND),
        })
    }

    /// Why a file like this is not rewritten, unless its user said that it may.
    pub fn refusal(&self, allowed: &Allowed) -> Option<FileRefusal> {
        if self.set_user_id && !allowed.set_id {
            return Some(FileRefusal::SetId { whose: "owner" });
        }
        if self.set_group_id && !allowed.set_id {
            return Some(FileRefusal::SetId { whose: "group" });
        }
        if self.has_capabilities && !allowed.set_id {
            return Some(FileRefusal::Capabilities);
        }
        if let Some(which) = self.signature.filter(|_| !allowed.signed) {
            return Some(FileRefusal::Signed { which });
        }
        self.frozen().filter(|_| !allowed.frozen)
    }

    /// Why no other file can take its place, whoever asks.
    pub(super) fn frozen(&self) -> Option<FileRefusal> {
        if self.immutable { Some(FileRefusal::Immutable) } else { self.append_only.then_some(FileRefusal::AppendOnly) }
    }
}

/// What tells whether a file is still the one that was opened, with the content it had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    status: Stat,
}

impl Identity {
    pub(super) fn new(status: &Stat) -> Self {
        Self { status: *status }
    }

    /// Whether this is the same file.
    pub(super) fn is_same_file(&self, now: &Stat) -> bool {
        (self.status.st_dev, self.status.st_ino) == (now.st_dev, now.st_ino)
    }

    /// Whether this is the same file, unchanged in every respect that the kernel writes down.
    pub(super) fn is(&self, now: &Stat) -> bool {
        self.is_same_file(now)
            && self.has_content_of(now)
            && (self.status.st_ctime, self.status.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
    }

    /// Whether size and time of the last change of content are the same.
    pub(super) fn has_content_of(&self, now: &Stat) -> bool {
        self.status.st_size == now.st_size
            && (self.status.st_mtime, self.status.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
    }

    /// Times of the last access and the last change of content.
    pub(super) fn times(&self) -> Timestamps {
        // The fields' types differ between machines.
        let time = |seconds, nanoseconds: u64| Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
        Timestamps {
            last_access: time(self.status.st_atime, self.status.st_atime_nsec),
            last_modification: time(self.status.st_mtime, self.status.st_mtime_nsec),
        }
    }
}

/// The size of a file in bytes.
pub(super) fn size_of(status: &Stat) -> u64 {
    u64::try_from(status.st_size).unwrap_or(0)
}

/// The number of a file's names.
#[allow(clippy::useless_conversion, reason = "the field's type differs between machines")]
pub(super) fn links(status: &Stat) -> u64 {
    status.st_nlink.into()
}

/// The bytes that a file takes on disk: `st_blocks` counts units of 512 bytes whatever the file system's own are.
pub(super) fn blocks_bytes(status: &Stat) -> u64 {
    // A figure to be shown, nothing that is counted on.
    u64::try_from(status.st_blocks).unwrap_or(0).saturating_mul(512)
}

fn has_attribute(file: &File, name: &str) -> io::Result<bool> {
    match fgetxattr_query(file, name) {
        Ok(_) => Ok(true),
        Err(Errno::NODATA | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
        // Capabilities whose root user has no number in this user namespace.
        Err(Errno::OVERFLOW) => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}
