//! The walk that collects the residency of all files: many directories at a time, each file once.
//!
//! It never crosses a mount point: a mounted file system is a separate root if wanted, and may hang for ever
//! if it is on a server. Files are opened but not read; the walk itself only adds directories and inodes to the caches.

use std::collections::HashSet;
use std::ffi::{CStr, OsStr};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use coldstart_profile::PageRange;
use rustix::fs::{AtFlags, FileType, OFlags, RawDir, Stat};
use rustix::io::Errno;

use super::SavedFile;
use super::look::{Look, identity, look, open};
use crate::file_system::{Backing, backing};

/// Directories that could not be read are listed up to this number; beyond it they are only counted.
const MOST_NAMED: usize = 20;

/// The results of a walk, and what was skipped.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Files with resident pages; hard links may come twice.
    pub(super) files: Vec<SavedFile>,
    /// Symbolic links with their targets.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Regular files checked.
    pub(super) looked_at: u64,
    /// Files with hidden residency, or that may not be opened.
    pub(super) hidden_files: u64,
    /// Files with kernel or disk errors.
    pub(super) failed_files: u64,
    /// Directories that could not be read.
    pub(super) unread_directories: u64,
    /// The first of them.
    pub(super) unread: Vec<(PathBuf, io::Error)>,
    /// Files and trees on memory-backed file systems.
    pub(super) in_memory: u64,
}

/// A running walk.
pub(super) struct Gather<'a> {
    /// Paths that are not entered.
    pub(super) mount_places: &'a HashSet<PathBuf>,
    /// Device and inode of excluded files.
    pub(super) leave_out: &'a [(u64, u64)],
    /// Called with the number of further files checked; may stop the walk.
    pub(super) progress: &'a (dyn Fn(u64) -> ControlFlow<()> + Sync),
    pub(super) stopped: AtomicBool,
    /// Directories seen, by device and inode: bind mounts show some again.
    pub(super) seen: Mutex<HashSet<(u64, u64)>>,
    pub(super) found: Mutex<Gathered>,
}

impl Gather<'_> {
    /// Walks a root, which is a directory or a file.
    pub(super) fn root<'scope>(&'scope self, scope: &rayon::Scope<'scope>, path: PathBuf) {
        let mut found = Gathered::default();
        match open(None, &path, OFlags::PATH).and_then(|file| rustix::fs::fstat(&file)) {
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                scope.spawn(move |scope| self.directory(scope, path, None));
            }
            Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => {
                self.file(None, &path, &path, None, &mut found);
            }
            Ok(_) => {}
            Err(errno) => found.unread(path, errno),
        }
        self.add(found);
    }

    /// Walks a directory; `beneath` is where the file system stores its content, if known.
    fn directory<'scope>(&'scope self, scope: &rayon::Scope<'scope>, path: PathBuf, beneath: Option<Backing>) {
        if self.stopped.load(Ordering::Relaxed) {
            return;
        }
        let mut found = Gathered::default();
        match self.enter(&path) {
            Ok(Some(directory)) => {
                let beneath = beneath.unwrap_or_else(|| backing(&directory));
                if beneath == Backing::Memory {
                    found.in_memory += 1;
                } else {
                    self.entries(scope, &directory, &path, beneath, &mut found);
                }
            }
            Ok(None) => {}
            Err(errno) => found.unread(path, errno),
        }
        if (self.progress)(found.looked_at).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        self.add(found);
    }

    /// Opens a directory that has not been walked yet.
    fn enter(&self, path: &Path) -> rustix::io::Result<Option<OwnedFd>> {
        let directory = open(None, path, OFlags::DIRECTORY)?;
        let stat = rustix::fs::fstat(&directory)?;
        let is_new = self.seen.lock().unwrap_or_else(PoisonError::into_inner).insert((stat.st_dev, stat.st_ino));
        Ok(is_new.then_some(directory))
    }

    fn entries<'scope>(
        &'scope self,
        scope: &rayon::Scope<'scope>,
        directory: &OwnedFd,
        path: &Path,
        beneath: Backing,
        found: &mut Gathered,
    ) {
        let mut buffer = Vec::with_capacity(32 * 1024);
        let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => return found.unread(path.to_owned(), errno),
            };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let below = path.join(OsStr::from_bytes(name.to_bytes()));
            match self.kind(directory, name, entry.file_type()) {
                FileType::Directory if !self.mount_places.contains(&below) => {
                    scope.spawn(move |scope| self.directory(scope, below, Some(beneath)));
                }
                FileType::RegularFile if !self.mount_places.contains(&below) => {
                    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
                    self.file(Some(directory), name, &below, Some(beneath), found);
                }
                FileType::Symlink => {
                    if let Ok(target) = rustix::fs::readlinkat(directory, name, Vec::new()) {
                        found.links.push((below, PathBuf::from(OsStr::from_bytes(target.to_bytes()))));
                    }
                }
                _ => {}
            }
        }
    }

    /// Not every file system reports an entry's type in the directory.
    fn kind(&self, directory: &OwnedFd, name: &CStr, said: FileType) -> FileType {
        if said != FileType::Unknown {
            return said;
        }
        let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT);
        stat.map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode))
    }

    fn file(
        &self,
        directory: Option<&OwnedFd>,
        name: &Path,
        path: &Path,
        beneath: Option<Backing>,
        found: &mut Gathered,
    ) {
        found.looked_at += 1;
        let opened = open(directory, name, OFlags::empty()).and_then(|file| Ok((rustix::fs::fstat(&file)?, file)));
        let (stat, file) = match opened {
            Ok(opened) => opened,
            // It was removed or replaced since the directory was read.
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NOTDIR) => return,
            Err(Errno::ACCESS | Errno::PERM) => return found.hidden_files += 1,
            Err(_) => return found.failed_files += 1,
        };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        if !is_file || self.leave_out.contains(&(stat.st_dev, stat.st_ino)) {
            return;
        }
        let beneath = beneath.unwrap_or_else(|| backing(&file));
        if beneath == Backing::Memory {
            return found.in_memory += 1;
        }
        match look(&file, u64::try_from(stat.st_size).unwrap_or(0), beneath) {
            Ok(Look::Resident(ranges)) if ranges.is_empty() => {}
            Ok(Look::Resident(ranges)) => found.files.push(saved(path.to_owned(), &stat, ranges)),
            Ok(Look::Hidden(_)) => found.hidden_files += 1,
            Err(_) => found.failed_files += 1,
        }
    }

    fn add(&self, found: Gathered) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).add(found);
    }
}

fn saved(path: PathBuf, stat: &Stat, ranges: Vec<PageRange>) -> SavedFile {
    SavedFile { path, identity: identity(stat), device: stat.st_dev, inode: stat.st_ino, ranges }
}

impl Gathered {
    fn unread(&mut self, path: PathBuf, errno: Errno) {
        // Directories are created and removed meanwhile.
        if errno != Errno::NOENT {
            self.unread_directories += 1;
            self.unread.push((path, errno.into()));
        }
    }

    fn add(&mut self, more: Self) {
        self.files.extend(more.files);
        self.links.extend(more.links);
        self.looked_at += more.looked_at;
        self.hidden_files += more.hidden_files;
        self.failed_files += more.failed_files;
        self.unread_directories += more.unread_directories;
        self.in_memory += more.in_memory;
        self.unread.extend(more.unread);
        self.unread.truncate(MOST_NAMED);
    }
}
