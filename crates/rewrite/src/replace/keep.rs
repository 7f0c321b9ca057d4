//! Keeps the original under another name, on request.
//!
//! A hard link is best: it costs nothing and loses nothing. Across file systems it is a copy.
//!
//! Unlike an output, an existing file of that name is never replaced: an earlier original cannot be restored. A file
//! with the same content is accepted.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use coldstart_output::{OutputTarget, StagedFile, flush_directory, link_open_file, still_has};
use coldstart_sys::named_file::open_regular;
use rustix::io::Errno;

use super::error::ReplaceError;
use super::file_output::FileOutput;
use super::metadata::{Purpose, copy_metadata};
use super::original::OriginalFile;
use super::target::{Destination, OWN};
use crate::script::Output;

/// Copies and comparisons use chunks of this many bytes; chunks of zeros become holes.
const PORTION: usize = 1 << 16;

/// The path for the original: checked, nothing done yet.
#[derive(Debug)]
pub(super) struct Keeping {
    place: Destination,
    /// The path as given.
    path: PathBuf,
    /// A file with the same content exists there.
    exists: bool,
    /// It is the same file.
    pub(super) is_link: bool,
}

/// The original under its other name. If dropped without [`Self::settle`], the name is removed again if we created
/// it.
#[derive(Debug)]
pub(super) struct Kept {
    made: Option<OutputTarget>,
    warnings: Vec<String>,
}

impl Keeping {
    /// Checks that the original can be kept as `path` when another file is put at `target`.
    pub(super) fn check(path: &Path, original: &OriginalFile, target: &Destination) -> Result<Self, ReplaceError> {
        let problem = |problem| Err(ReplaceError::Keep { path: path.to_owned(), problem });
        let place = Destination::named(path)?;
        if place.place.is_same_name(&target.place) {
            return problem("it is the path of the new file");
        }
        let Some(existing) = &place.existing else {
            return Ok(Self { place, path: path.to_owned(), exists: false, is_link: false });
        };
        let is_link = original.identity().is_same_file(existing);
        if is_link && original.links_now() < 2 {
            // Its only name, seen twice: through a mount, or in a case-insensitive directory.
            return problem("it is the original's only name");
        }
        // A link to the original would point to the new file.
        if !is_link
            && !has_same_content(&place.sure_path(), original).map_err(|error| keeping(path, original, error))?
        {
            return problem("a different file exists there");
        }
        Ok(Self { place, path: path.to_owned(), exists: true, is_link })
    }

    /// Keeps the original there, flushed to disk.
    pub(super) fn keep(self, original: &OriginalFile) -> Result<Kept, ReplaceError> {
        let error = |source| keeping(&self.path, original, source);
        let path = self.place.sure_path();
        if self.exists {
            open_regular(&path).and_then(|file| file.sync_all()).map_err(error)?;
            return Ok(Kept { made: None, warnings: Vec::new() });
        }
        let (copy, warnings) = match link_open_file(original.file(), &path) {
            Ok(()) => (None, Vec::new()),
            Err(failed) if is_link_refused(&failed) => {
                let (copy, warnings) = self.copy(original)?;
                (Some(copy), warnings)
            }
            Err(failed) => return Err(self.already_there(error, failed)),
        };
        let kept = Kept { made: Some(self.place.place.clone()), warnings };
        let within = match &copy {
            Some(copy) => copy.file(),
            None => {
                // Its writer may not have flushed it.
                original.file().sync_all().map_err(error)?;
                original.file()
            }
        };
        flush_directory(self.place.sure_directory(), within).map_err(error)?;
        Ok(kept)
    }

    fn copy(&self, original: &OriginalFile) -> Result<(StagedFile, Vec<String>), ReplaceError> {
        let error = |source| keeping(&self.path, original, source);
        let mut staged = self.place.place.stage(OWN).map_err(error)?;
        copy_content(original.file(), staged.file()).map_err(error)?;
        let warnings = copy_metadata(original, staged.file(), &self.path, Purpose::SameContent)?;
        staged.file().sync_all().map_err(error)?;
        staged.name_new(&self.place.sure_path()).map_err(|failed| self.already_there(error, failed))?;
        Ok((staged, warnings))
    }

    fn already_there(&self, other: impl Fn(io::Error) -> ReplaceError, failed: io::Error) -> ReplaceError {
        match failed.kind() {
            io::ErrorKind::AlreadyExists => {
                ReplaceError::Keep { path: self.path.clone(), problem: "a different file exists there" }
            }
            _ => other(failed),
        }
    }
}

impl Kept {
    /// The new file is in place: this name is now the original's. Returns metadata that could not be copied.
    pub(super) fn settle(mut self) -> Vec<String> {
        self.made = None;
        std::mem::take(&mut self.warnings)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(place) = self.made.take() {
            let _ = std::fs::remove_file(place.sure_path());
        }
    }
}

/// Whether a copy may work where a hard link failed: another file system, one without links, too many links, no
/// `/proc`, or another user's file (`fs.protected_hardlinks`).
fn is_link_refused(error: &io::Error) -> bool {
    let refused = [Errno::XDEV, Errno::PERM, Errno::MLINK, Errno::NOENT, Errno::OPNOTSUPP, Errno::NOSYS, Errno::INVAL];
    Errno::from_io_error(error).is_some_and(|errno| refused.contains(&errno))
}

fn copy_content(from: &File, to: &File) -> io::Result<()> {
    let mut out = FileOutput::new(to);
    let mut buffer = vec![0; PORTION];
    let mut position = 0_u64;
    loop {
        let read = from.read_at(&mut buffer, position)?;
        let portion = buffer.get(..read).unwrap_or(&[]);
        if portion.is_empty() {
            return out.finish().map(drop);
        }
        position = position.checked_add(read as u64).ok_or(io::ErrorKind::FileTooLarge)?;
        if portion.iter().all(|&byte| byte == 0) {
            out.skip(read as u64)?;
        } else {
            out.write_all(portion)?;
        }
    }
}

fn has_same_content(path: &Path, original: &OriginalFile) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    if !found.is_file() || found.len() != original.facts().size {
        return Ok(false);
    }
    let other = open_regular(path)?;
    let (mut left, mut right) = (vec![0; PORTION], vec![0; PORTION]);
    let mut position = 0_u64;
    while position < found.len() {
        let length = usize::try_from(found.len().abs_diff(position)).unwrap_or(PORTION).min(PORTION);
        let (Some(left), Some(right)) = (left.get_mut(..length), right.get_mut(..length)) else { return Ok(false) };
        original.file().read_exact_at(left, position)?;
        other.read_exact_at(right, position)?;
        if left != right {
            return Ok(false);
        }
        position = position.checked_add(length as u64).ok_or(io::ErrorKind::FileTooLarge)?;
    }
    // Opened again by its name: verifies that the compared file is the one there.
    Ok(still_has(path, &other))
}

fn keeping(path: &Path, original: &OriginalFile, source: io::Error) -> ReplaceError {
    match ReplaceError::writing("keep the original as", path, original.facts().size, source) {
        ReplaceError::NoRoom { needed, source, .. } => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let directory = parent.unwrap_or(Path::new(".")).to_owned();
            ReplaceError::NoRoom { directory, needed, source }
        }
        other => other,
    }
}
