//! The owner of a file, and what has changed since.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::PackageError;
use crate::{dpkg, other_managers};

/// A package with its version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// As the manager names it: `libc6:amd64`.
    pub package: String,
    /// As the manager writes it.
    pub version: String,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.package, self.version)
    }
}

/// Who owns a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// A package of dpkg.
    Dpkg {
        /// The package; the first if several share the file.
        owner: Owner,
        /// The path under which dpkg knows the file: on merged systems perhaps `/lib/x` for `/usr/lib/x`.
        listed: PathBuf,
    },
    /// A package of rpm; `None`: rpm's database exists, but not rpm itself, so that the package is unknown.
    Rpm(Option<Owner>),
    /// A package of pacman.
    Pacman(Owner),
    /// No package manager that we know.
    None,
}

impl Ownership {
    /// The package, if it is known.
    pub fn owner(&self) -> Option<&Owner> {
        match self {
            Self::Dpkg { owner, .. } | Self::Rpm(Some(owner)) | Self::Pacman(owner) => Some(owner),
            Self::Rpm(None) | Self::None => None,
        }
    }
}

/// Who owns the file at `path`, an absolute path inside the system at `root`.
///
/// # Errors
/// When the package manager exists but does not answer.
pub fn owner_of(root: &Path, path: &Path) -> Result<Ownership, PackageError> {
    Ok(ownerships_of(root, &[path])?.pop().unwrap_or(Ownership::None))
}

/// Who owns each of several files, in their order. dpkg is asked for all of them at once.
///
/// # Errors
/// As [`owner_of`].
pub fn ownerships_of(root: &Path, paths: &[&Path]) -> Result<Vec<Ownership>, PackageError> {
    if let Some(path) = paths.iter().find(|path| !path.is_absolute()) {
        return Err(PackageError::Relative((*path).to_owned()));
    }
    let of_dpkg = dpkg::owners_of(root, paths)?;
    let ownership = |path: &&Path| match of_dpkg.get(*path).cloned() {
        Some((owner, listed)) => Ok(Ownership::Dpkg { owner, listed }),
        None => other_managers::owner_of(root, path),
    };
    paths.iter().map(ownership).collect()
}

/// What has changed between two looks at a file's owner, as the end of a sentence; `None` if nothing has.
pub fn what_changed(before: Option<&Owner>, now: &Ownership) -> Option<String> {
    let now = now.owner();
    match (before, now) {
        (Some(before), Some(now)) if before.package != now.package => {
            Some(format!("the file came from package {before} and is now in {now}"))
        }
        (Some(before), now) => version_change(before, now.map(|now| &*now.version)),
        (None, Some(now)) => Some(format!("the file now belongs to package {now}")),
        (None, None) => None,
    }
}

/// What has changed between two looks at a package, whose version is `None` if it is not installed any more.
pub fn version_change(before: &Owner, now: Option<&str>) -> Option<String> {
    match now {
        Some(version) if version == before.version => None,
        Some(version) => Some(format!("package {before} became {version}")),
        None => Some(format!("package {before} was removed")),
    }
}

/// A path inside `root`.
pub(crate) fn inside(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(package: &str, version: &str) -> Owner {
        Owner { package: package.to_owned(), version: version.to_owned() }
    }

    #[test]
    fn changes_are_told_in_words() {
        let (old, new) = (owner("libfoo1", "1.2-3"), Ownership::Pacman(owner("libfoo1", "1.2-4")));
        assert_eq!(what_changed(Some(&old), &new).unwrap(), "package libfoo1 1.2-3 became 1.2-4");
        assert_eq!(what_changed(Some(&old), &Ownership::Pacman(old.clone())), None);
        assert_eq!(what_changed(Some(&old), &Ownership::None).unwrap(), "package libfoo1 1.2-3 was removed");
        assert_eq!(what_changed(None, &Ownership::None), None);
    }
}
