//! A file as it was opened, before anything is decided about it.
//!
//! What a newcomer would not guess: the path that was typed and the path that is replaced differ where symbolic links
//! are. Renaming over `libfoo.so -> libfoo.so.1.2` would replace the link and leave the library as it was, so links are
//! followed once, here, and everything after works on the real place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{LastLink, NamedFile};
use rustix::fs::{AtFlags, OFlags, StatxAttributes, StatxFlags, fstat, statx};
use rustix::io::Errno;

use super::error::ReplaceError;
use super::facts::{FileFacts, Identity, links};

/// A file as it was opened: its descriptor, its paths and what else is to be known before it is rewritten.
#[derive(Debug)]
pub struct OriginalFile {
    file: File,
    path: PathBuf,
    real_path: PathBuf,
    facts: FileFacts,
    identity: Identity,
}

impl OriginalFile {
    /// Opens a regular file for reading, following symbolic links. Nothing of its content is read.
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

    /// The path as it was given, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute path without symbolic links.
    pub fn real_path(&self) -> &Path {
        &self.real_path
    }

    /// What is known of it besides its content, as it was when it was opened.
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

    /// What tells whether it is still the file that was opened.
    pub(super) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How many names it has now.
    pub(super) fn links_now(&self) -> u64 {
        fstat(&self.file).map_or(self.facts.links, |status| links(&status))
    }

    /// Whether the file is as it was when it was opened, and still the one that its path names.
    pub(super) fn is_unchanged(&self) -> bool {
        let same = |status: rustix::io::Result<rustix::fs::Stat>| status.is_ok_and(|now| self.identity.is(&now));
        same(fstat(&self.file)) && same(rustix::fs::lstat(&self.real_path))
    }

    /// As [`Self::is_unchanged`], after we gave the file one more name, which the kernel writes down as a change of it.
    pub(super) fn content_is_unchanged(&self) -> bool {
        rustix::fs::lstat(&self.real_path).is_ok_and(|now| self.identity.has_content_of(&now))
    }
}

/// The attributes of an open file that `stat` does not tell. Kernels or file systems without them have none.
pub(super) fn attributes(file: &File) -> io::Result<StatxAttributes> {
    match statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS) {
        Ok(status) => Ok(status.stx_attributes),
        Err(Errno::NOSYS) => Ok(StatxAttributes::empty()),
        Err(errno) => Err(errno.into()),
    }
}
