//! An object's file, opened.

use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use coldstart_elf::ElfFile;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use super::error::ObjectError;

/// An object's file, mapped. It may shrink or vanish while it is open: then it gives an error.
#[derive(Debug)]
pub struct ObjectFile {
    path: PathBuf,
    view: FileView,
}

impl ObjectFile {
    /// Opens a regular file, and nothing else.
    ///
    /// # Errors
    /// If it cannot be opened, or is not a regular file.
    pub fn open(path: &Path) -> Result<Self, ObjectError> {
        let io = |source| ObjectError::Io { path: path.to_owned(), source };
        Self::of(path, open_regular(path).map_err(io)?)
    }

    /// A file that is already open for reading, such as one in `/proc/PID/map_files`. The path is used for its debug
    /// file and for errors; the descriptor may be closed afterwards.
    ///
    /// # Errors
    /// If it is not a regular file, or cannot be mapped.
    pub fn of(path: &Path, file: impl AsFd) -> Result<Self, ObjectError> {
        let view = FileView::map(file).map_err(|source| ObjectError::Io { path: path.to_owned(), source })?;
        Ok(Self { path: path.to_owned(), view })
    }

    /// Its path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Calls `look` with the file. A truncated part reads as zeros and would look like damage, so truncation is
    /// checked last.
    pub(super) fn read<T>(&self, look: impl FnOnce(&ElfFile<'_>) -> T) -> Result<T, ObjectError> {
        let looked = ElfFile::parse(self.view.bytes()).map(|file| look(&file));
        if self.view.shrank() {
            return Err(ObjectError::Shrank { path: self.path.clone() });
        }
        looked.map_err(|source| ObjectError::Elf { path: self.path.clone(), source })
    }

    /// The mapping. Prefer [`Self::read`], which detects missing bytes.
    pub(super) fn view(&self) -> &FileView {
        &self.view
    }
}
