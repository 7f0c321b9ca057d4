//! The path of the result, and whether it may be written.

use std::path::{Path, PathBuf};

use coldstart_output::{OutputKind, OutputTarget, StagedFile};
use rustix::fs::{AtFlags, CWD, Stat, StatxAttributes, StatxFlags, lstat, stat, statx};
use rustix::io::Errno;

use super::error::ReplaceError;
use super::file_refusal::FileRefusal;
use super::original::OriginalFile;

/// The initial mode of a new file: its content may be secret.
pub(super) const OWN: u32 = 0o600;

/// The path of the result.
#[derive(Clone, Debug)]
pub enum Target {
    /// In place of the original. Symbolic links to it stay and refer to the result.
    InPlace,
    /// A separate output, subject to the rule for outputs. The original counts as one of its inputs.
    At(Box<OutputTarget>),
}

/// Accepts any existing file: for targets with other rules.
const ANY: OutputKind = OutputKind { name: "any file", recognises: |_| Ok(true), same_bytes: false };

/// A target path, and its existing file.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) place: OutputTarget,
    /// The existing file, if any: a regular file or a symbolic link.
    pub(super) existing: Option<Stat>,
    /// Whether the original itself is replaced.
    is_in_place: bool,
}

impl Destination {
    /// Resolves the path and checks that a file may be written there.
    pub(super) fn of(target: &Target, original: &OriginalFile) -> Result<Self, ReplaceError> {
        match target {
            Target::InPlace => Self::in_place_of(original),
            Target::At(place) => Self::at(place, original),
        }
    }

    fn in_place_of(original: &OriginalFile) -> Result<Self, ReplaceError> {
        if let Some(refusal) = original.facts().frozen() {
            return Err(ReplaceError::Refused { path: original.path().to_owned(), refusal });
        }
        Ok(Self { is_in_place: true, ..Self::named(original.real_path())? })
    }

    fn at(place: &OutputTarget, original: &OriginalFile) -> Result<Self, ReplaceError> {
        check_not_original(place, original)?;
        place.check()?;
        check_not_frozen(place)?;
        Self::of_place(place.clone())
    }

    /// The destination of this path, whatever exists there.
    pub(super) fn named(path: &Path) -> Result<Self, ReplaceError> {
        Self::of_place(OutputTarget::new(path, ANY, true)?)
    }

    fn of_place(place: OutputTarget) -> Result<Self, ReplaceError> {
        let existing = match lstat(place.sure_path()) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(place.failed(errno.into()).into()),
        };
        Ok(Self { place, existing, is_in_place: false })
    }

    /// The directory without symbolic links, for messages.
    pub(super) fn directory(&self) -> &Path {
        self.place.directory()
    }

    /// The directory for system calls.
    pub(super) fn sure_directory(&self) -> &Path {
        self.place.sure_directory()
    }

    /// The whole path for system calls.
    pub(super) fn sure_path(&self) -> PathBuf {
        self.place.sure_path()
    }

    /// The whole path, without symbolic links in its directories.
    pub(super) fn path(&self) -> PathBuf {
        self.place.real_path()
    }

    /// Renames the new file into place.
    pub(super) fn put(&self, staged: &mut StagedFile, original: &OriginalFile) -> Result<(), ReplaceError> {
        if !self.is_in_place {
            check_not_original(&self.place, original)?;
            return Ok(self.place.put(staged)?);
        }
        let put = |source| ReplaceError::Io { what: "put the new file at", path: self.path(), source };
        staged.name_over(&self.sure_path()).map_err(put)
    }
}

/// Refuses the original as the output, under any name.
fn check_not_original(place: &OutputTarget, original: &OriginalFile) -> Result<(), ReplaceError> {
    if stat(place.sure_path()).is_ok_and(|found| original.identity().is_same_file(&found)) {
        let original = original.path().to_owned();
        return Err(ReplaceError::SameFile { path: place.path().to_owned(), original });
    }
    Ok(())
}

fn check_not_frozen(place: &OutputTarget) -> Result<(), ReplaceError> {
    // If unknown, the attempt decides.
    let Ok(found) = statx(CWD, place.sure_path(), AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS) else {
        return Ok(());
    };
    let refusal = if found.stx_attributes.contains(StatxAttributes::IMMUTABLE) {
        FileRefusal::Immutable
    } else if found.stx_attributes.contains(StatxAttributes::APPEND) {
        FileRefusal::AppendOnly
    } else {
        return Ok(());
    };
    Err(ReplaceError::Refused { path: place.real_path(), refusal })
}
