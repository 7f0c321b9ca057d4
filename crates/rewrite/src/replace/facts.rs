//! The metadata of a file that is checked before rewriting.

use std::fs::File;
use std::io;

use rustix::fs::{Stat, StatxAttributes, Timespec, Timestamps, fgetxattr_query};
use rustix::io::Errno;
use serde::Serialize;

use super::file_refusal::{Allowed, FileRefusal};

/// A signature of a file's content.
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

/// The metadata of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileFacts {
    /// Size in bytes.
    pub size: u64,
    /// Bytes allocated on disk.
    pub blocks_bytes: u64,
    /// The permission bits, with those for set-ID and sticky: `0o7777` at most.
    pub mode: u32,
    /// User id of its owner.
    pub owner: u32,
    /// Its group id.
    pub group: u32,
    /// Its number of names (hard links).
    pub links: u64,
    /// Whether the given path ends in a symbolic link.
    pub is_symlink: bool,
    /// Whether it runs with its owner's privileges.
    pub set_user_id: bool,
    /// Whether it runs with its group's privileges.
    pub set_group_id: bool,
    /// Whether it runs with capabilities of its own (`security.capability`).
    pub has_capabilities: bool,
    /// A signature of its content.
    pub signature: Option<Signature>,
    /// Whether it cannot be changed or replaced (`chattr +i`).
    pub immutable: bool,
    /// Whether it is append-only (`chattr +a`), which forbids replacing it, too.
    pub append_only: bool,
}

impl FileFacts {
    /// Whether its allocation is smaller than its size: it has holes, or is compressed.
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
            // Without group execute permission the bit once meant mandatory locking, and grants no privileges.
            set_group_id: status.st_mode & 0o2010 == 0o2010,
            has_capabilities: has_attribute(file, "security.capability")?,
            signature,
            immutable: attributes.contains(StatxAttributes::IMMUTABLE),
            append_only: attributes.contains(StatxAttributes::APPEND),
        })
    }

    /// Why a file like this is not rewritten without the user's permission.
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

    /// Why the file cannot be replaced at all.
    pub(super) fn frozen(&self) -> Option<FileRefusal> {
        if self.immutable { Some(FileRefusal::Immutable) } else { self.append_only.then_some(FileRefusal::AppendOnly) }
    }
}

/// Identifies a file with its content at the time it was opened.
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

    /// Whether this is the same file, unchanged in every respect that the kernel records.
    pub(super) fn is(&self, now: &Stat) -> bool {
        self.is_same_file(now)
            && self.has_content_of(now)
            && (self.status.st_ctime, self.status.st_ctime_nsec) == (now.st_ctime, now.st_ctime_nsec)
    }

    /// Whether size and modification time are the same.
    pub(super) fn has_content_of(&self, now: &Stat) -> bool {
        self.status.st_size == now.st_size
            && (self.status.st_mtime, self.status.st_mtime_nsec) == (now.st_mtime, now.st_mtime_nsec)
    }

    /// Access and modification times.
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

/// Bytes allocated on disk: `st_blocks` is in units of 512 bytes on all file systems.
pub(super) fn blocks_bytes(status: &Stat) -> u64 {
    // Only for display.
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
