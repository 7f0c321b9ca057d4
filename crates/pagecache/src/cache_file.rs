//! A file opened for page cache queries: the descriptor, and the attributes that decide which queries work.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use coldstart_sys::block_device::block_device_size;
use coldstart_sys::named_file::{InodeKind, LastLink, NamedFile};
use rustix::fs::{OFlags, Stat, fstat};

use crate::error::Error;
use crate::file_system::{Backing, backing};

/// An open regular file or block device, for page cache queries.
#[derive(Debug)]
pub struct CacheFile<F = File> {
    pub(crate) file: F,
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) is_block_device: bool,
    pub(crate) backing: Backing,
    pub(crate) stat: Stat,
}

impl CacheFile<File> {
    /// Opens a file for reading. Nothing of its content is read, and its access time stays.
    ///
    /// A symbolic link as the last part of `path` is followed only if `follow`.
    ///
    /// # Errors
    /// [`Error::Open`]; [`Error::NotAFile`], without opening it: opening could start a watchdog or block on a pipe.
    pub fn open(path: &Path, follow: bool) -> Result<Self, Error> {
        let error = |source| Error::Open { path: path.to_owned(), source };
        let found = NamedFile::find(path, if follow { LastLink::Follow } else { LastLink::Keep }).map_err(error)?;
        check_kind(found.kind(), path)?;
        Self::new(found.open(OFlags::empty()).map_err(error)?.0, path.to_owned())
    }
}

impl<'fd> CacheFile<BorrowedFd<'fd>> {
    /// Takes a file that the caller has opened for reading. Its offset stays.
    ///
    /// # Errors
    /// As [`CacheFile::open`].
    pub fn from_fd(file: BorrowedFd<'fd>) -> Result<Self, Error> {
        // The name is for messages only; without /proc, the number has to do.
        let number = file.as_raw_fd();
        let path = coldstart_host::descriptor::name(file);
        Self::new(file, path.unwrap_or_else(|_| PathBuf::from(format!("descriptor {number}"))))
    }
}

impl<F: AsFd> CacheFile<F> {
    fn new(file: F, path: PathBuf) -> Result<Self, Error> {
        let error = |source: io::Error| Error::Open { path: path.clone(), source };
        let stat = fstat(&file).map_err(|errno| error(errno.into()))?;
        let kind = InodeKind::of_mode(stat.st_mode);
        check_kind(kind, &path)?;
        let is_block_device = kind == InodeKind::BlockDevice;
        let (size, backing) = if is_block_device {
            let size = block_device_size(&file).map_err(|failure| error(failure.errno().into()))?;
            // The device node's own file system says nothing about the device's pages.
            (size, Backing::Storage)
        } else {
            (u64::try_from(stat.st_size).unwrap_or(0), backing(&file))
        };
        Ok(Self { file, path, size, is_block_device, backing, stat })
    }

    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn check_kind(kind: InodeKind, path: &Path) -> Result<(), Error> {
    match kind {
        InodeKind::Regular | InodeKind::BlockDevice => Ok(()),
        kind => Err(Error::NotAFile { path: path.to_owned(), kind }),
    }
}
