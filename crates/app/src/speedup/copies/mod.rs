//! Changed copies of a program's files, for a trial in a private view ([`coldstart_sys::private_mounts`]).
//!
//! The copies are on the file system of the originals, or a cold start would compare two disks. They have the originals' mode and
//! modification time, so that a plan recorded with them is valid when they are later put in place of the originals. Nothing outside
//! the directory of copies is written.

mod bound;
mod closure;
mod directory;
mod ordered;
mod packed;
mod unchanged;

pub(crate) use bound::bound_from;
pub use bound::{BoundCopy, bound_copy};
pub use closure::{ProgramFiles, closure_of};
pub use directory::{TrialDirectory, by_device, free_space};
pub(crate) use ordered::{OrderedCopy, ordered_from};
pub(crate) use packed::packed_from;
pub use packed::{PackedCopies, PlannedPacking, WorthPacking, planned_packing, write_packed};
pub use unchanged::unchanged_copies;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};

/// Bits of a mode without set-user-ID, set-group-ID and sticky.
const PERMISSIONS: u32 = 0o777;

/// Gives a copy the original's modification time and permissions, and its owner where we may.
fn resemble(copy: &Path, original: &Path) -> io::Result<()> {
    let found = rustix::fs::stat(original)?;
    // Only root may. Before the mode, of which it would clear bits.
    let _ = std::os::unix::fs::chown(copy, Some(found.st_uid), Some(found.st_gid));
    let permissions = std::fs::Permissions::from_mode(found.st_mode & PERMISSIONS);
    std::fs::set_permissions(copy, permissions)?;
    let time = |seconds, nanoseconds| Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps {
        last_access: time(found.st_atime, found.st_atime_nsec as _),
        last_modification: time(found.st_mtime, found.st_mtime_nsec as _),
    };
    Ok(utimensat(CWD, copy, &times, AtFlags::empty())?)
}

#[cfg(test)]
mod tests;
