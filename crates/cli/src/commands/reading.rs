//! Opening the files that verbs look into, and telling what they are.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use coldstart_elf::FileKind;
use coldstart_sys::file_view::FileView;
use rustix::fs::{Mode, OFlags};

/// Opens a regular file. A pipe that nobody writes to must not make us wait, and a device must not be woken.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    open_with_metadata(path).map(|(file, _)| file)
}

/// The same, with what the kernel tells of the file.
pub(super) fn open_with_metadata(path: &Path) -> io::Result<(File, Metadata)> {
    let file = File::from(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty())?);
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    Ok((file, metadata))
}

/// Maps a regular file.
pub(super) fn map(path: &Path) -> io::Result<FileView> {
    open_regular(path).and_then(|file| FileView::map(&file))
}

/// What a file is, by its first bytes, without mapping it.
pub(super) fn kind_of(path: &Path) -> io::Result<FileKind> {
    let file = open_regular(path)?;
    let mut start = [0; 512];
    let count = file.read_at(&mut start, 0)?;
    Ok(FileKind::of(start.get(..count).unwrap_or_default()))
}
