//! Many files and packages at once: one question to the package manager for all of them, because each costs it a look at its whole
//! database.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::PackageError;
use crate::owner::Owner;
use crate::{dpkg, other_managers};

/// Who owns these files, absolute paths inside the system at `root`. Files of no package, and files that the manager cannot be
/// asked about, are left out.
///
/// # Errors
/// When the package manager exists but does not answer.
pub fn owners_of(root: &Path, paths: &[&Path]) -> Result<HashMap<PathBuf, Owner>, PackageError> {
    let paths: Vec<&Path> = paths.iter().copied().filter(|path| path.is_absolute()).collect();
    let of_dpkg = dpkg::owners_of(root, &paths)?;
    let mut owners: HashMap<PathBuf, Owner> = of_dpkg.into_iter().map(|(path, (owner, _))| (path, owner)).collect();
    let others: Vec<&Path> = paths.into_iter().filter(|path| !owners.contains_key(*path)).collect();
    owners.extend(other_managers::owners_of(root, &others)?);
    Ok(owners)
}

/// The versions of at least these packages, by the names that [`owners_of`] gives them; of those of others, what costs nothing
/// more. Packages that are not installed are left out.
///
/// # Errors
/// When the package manager exists but does not answer.
pub fn versions_of(root: &Path, packages: &[&str]) -> Result<HashMap<String, String>, PackageError> {
    let mut versions = other_managers::versions_of(root, packages)?;
    // The database of a machine that has dpkg, too, counts first, as it does for files.
    versions.extend(dpkg::versions(root)?);
    Ok(versions)
}

/// Files and directories that exist at `root` and change with every upgrade of a package.
pub fn databases(root: &Path) -> Vec<PathBuf> {
    let all = [dpkg::STATUS].into_iter().chain(other_managers::CHANGING.iter().copied());
    all.map(|database| root.join(database)).filter(|path| path.exists()).collect()
}

/// Whether dpkg, or a frontend of it, holds its lock. False where that cannot be found out, as by others than root.
pub fn is_at_work(root: &Path) -> bool {
    dpkg::is_locked(root)
}
