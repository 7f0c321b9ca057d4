//! Resolving a path inside a directory step by step, for kernels and sandboxes without `openat2`.
//!
//! Each part is opened by itself, and symbolic links are never followed by the kernel: their text is put in the place of the
//! rest. `..` goes back to a directory that was passed through, so that nothing leads out, also when somebody renames
//! directories meanwhile. A link of procfs is followed by its text, like any other.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat, openat, readlinkat};
use rustix::io::Errno;

/// Symbolic links that are followed before the kernel calls it a loop (`MAXSYMLINKS`, include/linux/namei.h).
const MOST_LINKS: u32 = 40;
/// The longest path that the kernel takes, with the zero byte at its end (`PATH_MAX`, include/uapi/linux/limits.h).
const LONGEST_PATH: usize = 4096;

/// What a path leads to.
#[derive(Debug)]
pub(crate) struct Found<'root> {
    root: BorrowedFd<'root>,
    /// Below the root, each with its name in the one before; the last is what was asked for. Opened with `O_PATH`.
    steps: Vec<(OsString, OwnedFd)>,
}

/// Finds what a path leads to inside a root.
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
            // An empty part is a slash too many: what stands before it has to be a directory all the same.
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

/// The parts between slashes, without what stands before the first one; none of a path that is slashes alone.
fn parts(path: &[u8]) -> Vec<Vec<u8>> {
    let start = path.iter().position(|&byte| byte != b'/');
    let relative = start.and_then(|start| path.get(start..));
    relative.map(|relative| relative.split(|&byte| byte == b'/').map(<[u8]>::to_vec).collect()).unwrap_or_default()
}

impl Found<'_> {
    fn last(&self) -> BorrowedFd<'_> {
        self.steps.last().map_or(self.root, |(_, file)| file.as_fd())
    }

    /// Refuses to go on from what is no directory.
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
            // By its name in the directory that was passed through.
            (false, false) => Ok(openat(self.last(), name, flags | OFlags::NOFOLLOW, Mode::empty())?),
        }
    }
}
