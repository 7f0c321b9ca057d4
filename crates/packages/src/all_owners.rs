//! The owners of all files of a system, for who asks about very many.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use crate::error::PackageError;
use crate::owner::Owner;
use crate::{dpkg, other_managers};

/// The owners of all files of a system that is dpkg's; of other systems, the manager is asked for each portion of files.
///
/// Keeps 64 bits of each file's name, so that half a million files take some 10 MB. Two names are the same in those bits once in
/// 10^8 systems.
#[derive(Debug)]
pub struct AllOwners {
    root: PathBuf,
    merged: Vec<&'static str>,
    hasher: RandomState,
    owners: Vec<Owner>,
    files: HashMap<u64, u32>,
}

impl AllOwners {
    /// Asks the package manager of the system at `root`.
    ///
    /// # Errors
    /// When the package manager exists but does not answer.
    pub fn of(root: &Path) -> Result<Self, PackageError> {
        let mut all = Self {
            root: root.to_owned(),
            merged: dpkg::merged(root),
            hasher: RandomState::new(),
            owners: Vec::new(),
            files: HashMap::new(),
        };
        let (owners, files, hasher) = (&mut all.owners, &mut all.files, &all.hasher);
        dpkg::each_file(root, |path, owner| {
            if owners.last() != Some(owner) {
                owners.push(owner.clone());
            }
            let number = u32::try_from(owners.len().saturating_sub(1)).unwrap_or(u32::MAX);
            // The first package that lists a directory or a shared file counts.
            files.entry(hasher.hash_one(path)).or_insert(number);
        })?;
        Ok(all)
    }

    /// Who owns these files, absolute paths inside the system; in their order.
    ///
    /// # Errors
    /// When another package manager than dpkg exists but does not answer.
    pub fn owners_of(&self, paths: &[&Path]) -> Result<Vec<Option<Owner>>, PackageError> {
        if self.files.is_empty() {
            let found = other_managers::owners_of(&self.root, paths)?;
            return Ok(paths.iter().map(|path| found.get(*path).cloned()).collect());
        }
        Ok(paths.iter().map(|path| self.owner(path)).collect())
    }

    fn owner(&self, path: &Path) -> Option<Owner> {
        let names = dpkg::names_of(&self.merged, path);
        let number = names.iter().find_map(|name| self.files.get(&self.hasher.hash_one(name.as_path())))?;
        self.owners.get(*number as usize).cloned()
    }
}
