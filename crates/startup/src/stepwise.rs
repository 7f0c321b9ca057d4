//! Path resolution inside a root step by step, for kernels and sandboxes without `openat2`.
//!
//! Each component is opened separately, and the kernel never follows symbolic links: their text replaces the component. `..`
//! returns to the directory opened before, so a path cannot escape even if another process renames directories meanwhile.
//! Links of procfs are followed by their text, like any other.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// Maximum number of symbolic links, as in the kernel (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: u32 = 40;
/// The kernel's limit for a path, including the terminating zero byte (`PATH_MAX`, include/uapi/linux/limits.h).
const LONGEST_PATH: usize = 4096;

/// The result of a lookup.
#[derive(Debug)]
pub(crate) struct Found<'root> {
    root: BorrowedFd<'root>,
    /// The components below the root, each with its name; the last one is the target. Opened with `O_PATH`.
    steps: Vec<(OsString, OwnedFd)>,
}

/// Resolves a path inside a root.
pub(crate) fn find<'root>(root: BorrowedFd<'root>, path: &Path) -> io::Result<Found<'root>> {
    let path = path.as_os_str().as_bytes();
    if path.is_empty() {
        return Err(Errno::NOENT.into());
    }
    if path.len() >= LONGEST_PATH {
        return Err(Errno::NAMETOOLONG.into());
    }
    let mut found = Found { root, steps: Vec::new() };
    let mut rest: VecDeque<Vec<u8>> = parts(path).into();
    let mut links = 0;
    while let Some(part) = rest.pop_front() {
        match part.as_slice() {
            // An empty component comes from a repeated or trailing slash; the preceding one must still be a directory.
            b"" | b"." => found.check_directory()?,
            b".." => {
                found.check_directory()?;
                found.steps.pop();
            }
            name => {
                let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let file = openat(found.last(), name, flags, Mode::empty())?;
                if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::Symlink {
                    found.steps.push((OsString::from_vec(part), file));
                    continue;
                }
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP.into());
                }
                let target = readlinkat(&file, "", Vec::new())?.into_bytes();
                match target.first() {
                    None => return Err(Errno::NOENT.into()),
                    Some(b'/') => found.steps.clear(),
                    Some(_) => {}
                }
                for part in parts(&target).into_iter().rev() {
                    rest.push_front(part);
                }
            }
        }
    }
    Ok(found)
}

/// The components of an absolute path; none for a path of slashes only.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    let start = path.iter().position(|&byte| byte != b'/');
    let relative = start.and_then(|start| path.get(start..));
    relative.map(|relative| relative.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect()).unwrap_or_default()
}

impl Found<'_> {
    fn last(&self) -> BorrowedFd<'_> {
        self.steps.last().map_or(self.root, |(_, file)| file.as_fd())
    }

    /// Fails if a component is not a directory.
    fn check_directory(&self) -> io::Result<()> {
        openat(self.last(), ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        Ok(())
    }

    /// The path as seen from the root, without symbolic links.
    pub(crate) fn real_path(&self) -> PathBuf {
        let mut path = PathBuf::from("/");
        path.extend(self.steps.iter().map(|(name, _)| name));
        path
    }

    /// Opens it, as `open` would with these flags.
    pub(crate) fn open(mut self, flags: OFlags) -> io::Result<OwnedFd> {
        let Some((name, file)) = self.steps.pop() else {
            return Ok(openat(self.root, OsStr::new("."), flags, Mode::empty())?);
        };
        let is_directory = FileType::from_raw_mode(fstat(&file)?.st_mode) == FileType::Directory;
        match (flags.contains(OFlags::PATH), flags.contains(OFlags::DIRECTORY) && !is_directory) {
            (_, true) => Err(Errno::NOTDIR.into()),
            (true, false) => Ok(file),
            // By its name in the directory opened before.
            (false, false) => Ok(openat(self.last(), name, flags | OFlags::NOFOLLOW, Mode::empty())?),
        }
    }
}
