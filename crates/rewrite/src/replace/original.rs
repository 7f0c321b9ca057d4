//! A file as it was opened, before any decision about it.
//!
//! What a newcomer would not guess: with symbolic links, the given path and the replaced path differ. Renaming over
//! `libfoo.so -> libfoo.so.1.2` would replace the link and leave the library unchanged, so links are resolved once,
//! here, and everything after uses the real path.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{LastLink, NamedFile};
use rustix::fs::{AtFlags, OFlags, StatxAttributes, StatxFlags, fstat, statx};
use rustix::io::Errno;

use super::error::ReplaceError;
use super::facts::{FileFacts, Identity, links};

/// An open file with its paths and metadata before rewriting.
#[derive(Debug)]
pub struct OriginalFile {
    file: File,
    path: PathBuf,
    real_path: PathBuf,
    facts: FileFacts,
    identity: Identity,
}

impl OriginalFile {
    /// Opens a regular file for reading, following symbolic links. Its content is not read.
    ///
    /// # Errors
    /// [`ReplaceError::Open`], also for FIFOs, devices and directories, which are not opened.
    pub fn open(path: &Path) -> Result<Self, ReplaceError> {
        let error = |source: io::Error| ReplaceError::Open { path: path.to_owned(), source };
        let real_path = path.canonicalize().map_err(error)?;
        let is_symlink = path.symlink_metadata().map_err(error)?.file_type().is_symlink();
        let found = NamedFile::find(&real_path, LastLink::Keep).and_then(NamedFile::regular);
        let (file, status) = found.and_then(|found| found.open(OFlags::empty())).map_err(error)?;
        let attributes = attributes(&file).map_err(error)?;
        let facts = FileFacts::read(&file, &status, attributes, is_symlink).map_err(error)?;
        Ok(Self { file, path: path.to_owned(), real_path, facts, identity: Identity::new(&status) })
    }

    /// The file, open for reading.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The path as given, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path without symbolic links.
    pub fn real_path(&self) -> &Path {
        &self.real_path
    }

    /// Its metadata when it was opened.
    pub fn facts(&self) -> &FileFacts {
        &self.facts
    }

    /// Maps its content.
    ///
    /// # Errors
    /// As [`FileView::map`].
    pub fn map(&self) -> io::Result<FileView> {
        FileView::map(&self.file)
    }

    /// Its identity when it was opened.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Its current number of names.
    pub(super) fn links_now(&self) -> u64 {
        fstat(&self.file).map_or(self.facts.links, |status| links(&status))
    }

    /// Whether the file is unchanged since it was opened, and still the one at its path.
    pub(super) fn is_unchanged(&self) -> bool {
        let same = |status: rustix::io::Result<rustix::fs::Stat>| status.is_ok_and(|now| self.identity.is(&now));
        same(fstat(&self.file)) && same(rustix::fs::lstat(&self.real_path))
    }

    /// Like [`Self::is_unchanged`], after we created a hard link, which the kernel records as a change.
    pub(super) fn content_is_unchanged(&self) -> bool {
        rustix::fs::lstat(&self.real_path).is_ok_and(|now| self.identity.has_content_of(&now))
    }
}

/// The attributes of an open file that `stat` lacks. Not supported by all kernels and file systems.
pub(super) fn attributes(file: &File) -> io::Result<StatxAttributes> {
    match statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS) {
        Ok(status) => Ok(status.stx_attributes),
        Err(Errno::NOSYS) => Ok(StatxAttributes::empty()),
        Err(errno) => Err(errno.into()),
    }
}
