//! Reading files named by the user, with a size limit. Opening has no side effects on devices and FIFOs.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::Context;
use coldstart_elf::FileKind;
use coldstart_profile::printable;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{check_directory, open_regular, read_regular};

use crate::error::{AppError, HintExt};

/// Reads a whole file of at most `limit` bytes. `what` is the kind of file for the message, with an article and a trailing
/// blank (`"the plan "`), or empty.
///
/// # Errors
/// When it is not a regular file, cannot be read, or is larger.
pub fn read(what: &str, path: &Path, limit: u64) -> Result<Vec<u8>, AppError> {
    Ok(read_regular(path, limit).with_context(|| format!("cannot read {what}`{}`", printable(path)))?)
}

/// Maps a regular file.
///
/// # Errors
/// When it is not a regular file, or cannot be opened or mapped.
pub fn map(path: &Path) -> io::Result<FileView> {
    open_regular(path).and_then(|file| FileView::map(&file))
}

/// The kind of a file by its first bytes, without mapping it.
///
/// # Errors
/// When it is not a regular file, or cannot be read.
pub fn kind_of(path: &Path) -> io::Result<FileKind> {
    let file = open_regular(path)?;
    let mut start = [0; 512];
    let count = file.read_at(&mut start, 0)?;
    Ok(FileKind::of(start.get(..count).unwrap_or_default()))
}

/// Checks that a path is a directory. `what` is its role: "the sysroot".
///
/// # Errors
/// When it is not a directory that may be entered.
pub fn directory(what: &str, path: &Path) -> Result<(), AppError> {
    check_directory(path)
        .with_context(|| format!("cannot use {what} `{}`", printable(path)))
        .hint(|| "name an existing directory that you may enter")
}
