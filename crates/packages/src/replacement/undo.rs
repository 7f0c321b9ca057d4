//! The way back, also when the package was upgraded or removed meanwhile.
//!
//! Each step looks at what there is, so that it can be repeated after a kill.

use super::record::Phase;
use super::{Replacement, Step, files};
use crate::dpkg;
use crate::error::PackageError;
use crate::owner::{Ownership, owner_of};

impl Replacement {
    /// Restores the original, in the version that the package has now; or removes the file, if its package is gone. Leaves nothing
    /// behind. `after` is called after each step.
    ///
    /// # Errors
    /// The reason; the file stays as it is.
    pub fn undo(mut self, after: &mut dyn FnMut(Step)) -> Result<(), PackageError> {
        let _locks = self.lock()?;
        self.take_back(after)
    }

    /// As [`Self::undo`], for a caller that has the locks.
    pub(super) fn take_back(&mut self, after: &mut dyn FnMut(Step)) -> Result<(), PackageError> {
        let (file, kept) = (self.file(), self.kept());
        let is_gone = self.check_way_back()?;
        self.record.phase = Phase::Undoing;
        self.record.write(&self.records)?;
        after(Step::Recorded);
        files::remove_restoring(&file)?;
        if is_gone {
            files::remove(&file)?;
        } else if files::digest(&kept)?.is_some() {
            files::restore(&kept, &file)?;
        }
        after(Step::Restored);
        let (listed, to) = (self.record.file.path(), self.record.kept.path());
        if self.record.diverted && dpkg::true_name(&self.root, listed)? == to {
            dpkg::remove_diversion(&self.root, listed, to)?;
        }
        after(Step::NotDiverted);
        files::remove(&kept)?;
        files::flush(&file)?;
        after(Step::Unlinked);
        self.record.remove(&self.records)
    }

    /// Whether the file is to be removed, because it is ours and its package is gone.
    fn check_way_back(&self) -> Result<bool, PackageError> {
        let (file, kept) = (self.file(), self.kept());
        let (now, original) = (files::digest(&file)?, files::digest(&kept)?);
        let is_ours = now.as_ref().is_some_and(|now| {
            *now == self.record.changed || self.record.pending.as_ref().is_some_and(|pending| *now == pending.changed)
        });
        match (&now, &original) {
            // Restored already, or never replaced.
            (Some(now), Some(original)) if now == original => Ok(false),
            (Some(_), Some(_)) if !is_ours => Err(PackageError::Foreign(file)),
            (_, Some(_)) => Ok(false),
            (Some(_), None) if is_ours => {
                let package = match owner_of(&self.root, self.record.file.path())? {
                    Ownership::None if self.record.diverted => return Ok(true),
                    ownership => ownership.owner().map(|owner| owner.package.clone()),
                };
                Err(PackageError::OriginalLost { path: file, kept, package })
            }
            // Before the first step, after the last one, or the package moved the file and this is its new version.
            (_, None) => Ok(false),
        }
    }
}
