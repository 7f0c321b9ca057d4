//! Where the result goes, and whether it may.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Stat, StatxAttributes, StatxFlags, lstat, stat, statx};
use rustix::io::Errno;

use super::error::ReplaceError;
use super::file_refusal::FileRefusal;
use super::original::{OriginalFile, kind_of};

/// Where the result goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// In place of the original. Symbolic links to it stay and lead to the result.
    InPlace,
    /// A file of this name, which is made or replaced. A symbolic link is replaced itself, and what it leads to stays:
    /// whoever can make links in a shared directory must not choose which file we replace.
    At(PathBuf),
}

/// A place for a file: a name in a directory.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    /// The directory without symbolic links.
    pub(super) directory: PathBuf,
    pub(super) name: OsString,
    /// What has the name now, if anything: a regular file or a symbolic link.
    pub(super) existing: Option<Stat>,
}

impl Destination {
    /// Finds the place and checks that a file may be put there.
    pub(super) fn of(target: &Target, original: &OriginalFile) -> Result<Self, ReplaceError> {
        match target {
            Target::InPlace => Self::in_place_of(original),
            Target::At(path) => Self::at(path, original),
        }
    }

    fn in_place_of(original: &OriginalFile) -> Result<Self, ReplaceError> {
        let path = original.real_path();
        if let Some(refusal) = original.facts().frozen() {
            return Err(ReplaceError::Refused { path: original.path().to_owned(), refusal });
        }
        let (directory, name) = split(path)?;
        let existing = lstat(path).map_err(|errno| looking_at(path, errno))?;
        Ok(Self { directory, name, existing: Some(existing) })
    }

    fn at(path: &Path, original: &OriginalFile) -> Result<Self, ReplaceError> {
        match stat(path) {
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Directory => {
                return Err(ReplaceError::TargetIsDirectory { path: path.to_owned() });
            }
            Ok(found) if original.identity().is_same_file(&found) => {
                let original = original.path().to_owned();
                return Err(ReplaceError::SameFile { path: path.to_owned(), original });
            }
            // `/dev/stdout` is a link to what is no file.
            Ok(found) => match kind_of(found.st_mode) {
                Some(kind) => return Err(ReplaceError::TargetIsSpecial { path: path.to_owned(), kind }),
                None => check_not_frozen(path)?,
            },
            // A new name, or a link that leads nowhere.
            Err(_) => {}
        }
        Self::named(path)
    }

    /// The place of this name, whatever stands there.
    pub(super) fn named(path: &Path) -> Result<Self, ReplaceError> {
        let (directory, name) = split(path)?;
        let place = directory.join(&name);
        let existing = match lstat(&place) {
            Ok(found) => Some(found),
            Err(Errno::NOENT) => None,
            Err(errno) => return Err(looking_at(path, errno)),
        };
        Ok(Self { directory, name, existing })
    }

    /// The whole path, without symbolic links in its directories.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Whether both are the same name of the same directory, even if a directory is mounted at two places.
    pub(super) fn is_same_name(&self, other: &Self) -> bool {
        let identity = |directory: &Path| stat(directory).map(|found| (found.st_dev, found.st_ino)).ok();
        self.name == other.name
            && (self.directory == other.directory || {
                let own = identity(&self.directory);
                own.is_some() && own == identity(&other.directory)
            })
    }
}

/// The directory, which must exist, and the name in it.
fn split(path: &Path) -> Result<(PathBuf, OsString), ReplaceError> {
    let is_directory = || ReplaceError::TargetIsDirectory { path: path.to_owned() };
    // `Path` would hide the slash at the end, which says that a directory is meant.
    let name = path.file_name().filter(|_| !path.as_os_str().as_bytes().ends_with(b"/")).ok_or_else(is_directory)?;
    let parent = path.parent().filter(|parent| *parent != OsStr::new("")).unwrap_or(Path::new("."));
    let directory = parent.canonicalize().map_err(|source| ReplaceError::Io {
        what: "find the directory",
        path: parent.to_owned(),
        source,
    })?;
    Ok((directory, name.to_owned()))
}

fn check_not_frozen(path: &Path) -> Result<(), ReplaceError> {
    // What cannot be told is found out by the attempt.
    let Ok(found) = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS) else { return Ok(()) };
    let refusal = if found.stx_attributes.contains(StatxAttributes::IMMUTABLE) {
        FileRefusal::Immutable
    } else if found.stx_attributes.contains(StatxAttributes::APPEND) {
        FileRefusal::AppendOnly
    } else {
        return Ok(());
    };
    Err(ReplaceError::Refused { path: path.to_owned(), refusal })
}

fn looking_at(path: &Path, errno: Errno) -> ReplaceError {
    ReplaceError::Io { what: "look at", path: path.to_owned(), source: errno.into() }
}
