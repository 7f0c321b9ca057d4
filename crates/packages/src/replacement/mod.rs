//! A file replaced in place, so that its package manager agrees.
//!
//! The order of [`Replacement::apply`], with what a kill or a power cut leaves after each step:
//!
//! 1. the record is written: nothing is changed;
//! 2. the original gets a second name, a hard link: the file is the original;
//! 3. dpkg is told that its version of the file has that name (`dpkg-divert --no-rename`): as before, and an upgrade leaves it so;
//! 4. the new file is renamed over the old one;
//! 5. the record is settled.
//!
//! The file always exists and is whole. dpkg's lock is held, so that no upgrade falls between the steps. [`repair()`] ends what a kill
//! interrupted. An upgrade replaces the original under its second name; the file in place is then out of date. [`fall_back()`], which
//! dpkg calls after each run, puts the new original in place until somebody makes the changed file again.

mod fall_back;
mod files;
mod record;
mod repair;
mod undo;

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

pub use fall_back::fall_back;
pub use files::kept_beside;
pub use repair::{Repaired, repair};

use crate::dpkg;
use crate::error::PackageError;
use crate::other_managers;
use crate::owner::{Owner, Ownership, inside, owner_of, what_changed};
use record::{Pending, Phase, Record};

/// A step that has been done, on the way there or back. For tests that end the program in between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The record says what is about to be done.
    Recorded,
    /// The original has its second name.
    Linked,
    /// dpkg knows.
    Diverted,
    /// The file is the new one.
    Replaced,
    /// The file is the original again, or gone with its package.
    Restored,
    /// dpkg has forgotten.
    NotDiverted,
    /// The second name is gone.
    Unlinked,
}

/// How a replaced file is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// As it was left.
    Fresh,
    /// The original is another one, by an upgrade, and the file in place is still made from the old one: refresh or undo. With the
    /// change in words.
    OriginalChanged(Option<String>),
    /// The original itself is in place, since an upgrade: refresh or undo. With the change in words.
    FellBack(Option<String>),
    /// The package is gone; the replacement is left over: undo.
    PackageGone,
    /// The file is neither ours nor the original.
    Overwritten,
    /// Something was killed: [`repair()`].
    Interrupted,
}

/// A file that is replaced, or is to be.
#[derive(Debug)]
pub struct Replacement {
    root: PathBuf,
    records: PathBuf,
    record: Record,
}

/// All replaced files that are recorded in a directory.
///
/// # Errors
/// A record that cannot be read.
pub fn recorded(root: &Path, records: &Path) -> Result<Vec<Replacement>, PackageError> {
    let with = |record| Replacement { root: root.to_owned(), records: records.to_owned(), record };
    Ok(Record::all(records)?.into_iter().map(with).collect())
}

/// The reason against replacing each of several files, in their order; `None` for a file that can be replaced. `owners` are those that
/// [`crate::ownerships_of`] tells. Changes nothing.
///
/// # Errors
/// When the package manager exists but does not answer.
pub fn refusals(root: &Path, files: &[&Path], owners: &[Ownership]) -> Result<Vec<Option<PackageError>>, PackageError> {
    files.iter().zip(owners).map(|(file, ownership)| refusal(root, file, ownership)).collect()
}

fn refusal(root: &Path, file: &Path, ownership: &Ownership) -> Result<Option<PackageError>, PackageError> {
    if let Some(refusal) = other_managers::refusal(root, file, ownership) {
        return Ok(Some(refusal));
    }
    let file = match ownership {
        Ownership::Dpkg { listed, .. } => listed.as_path(),
        _ => file,
    };
    let (real, kept) = (inside(root, file), inside(root, &files::kept_beside(file)));
    if matches!(ownership, Ownership::Dpkg { .. }) {
        let to = dpkg::true_name(root, file)?;
        if to != file {
            return Ok(Some(PackageError::Diverted { path: real, to }));
        }
    }
    Ok(std::fs::symlink_metadata(&kept).is_ok().then_some(PackageError::NameTaken(kept)))
}

impl Replacement {
    /// Checks that `file`, an absolute path inside the system at `root`, can be replaced by `changed`. Changes nothing.
    ///
    /// # Errors
    /// The reason against it.
    pub fn plan(root: &Path, records: &Path, file: &Path, changed: &Path) -> Result<Self, PackageError> {
        let ownership = owner_of(root, file)?;
        if let Some(refusal) = refusal(root, file, &ownership)? {
            return Err(refusal);
        }
        let (file, diverted) = match &ownership {
            Ownership::Dpkg { listed, .. } => (listed.as_path(), true),
            _ => (file, false),
        };
        let kept = files::kept_beside(file);
        let real = inside(root, file);
        let missing = || PackageError::io("find", &real)(std::io::ErrorKind::NotFound.into());
        let original = files::digest(&real)?.ok_or_else(missing)?;
        let changed = digest_of_new(changed)?;
        let record = Record::new(file, &kept, diverted, ownership.owner().cloned(), [original, changed]);
        Ok(Self { root: root.to_owned(), records: records.to_owned(), record })
    }

    /// The file, with the root before it.
    pub fn file(&self) -> PathBuf {
        inside(&self.root, self.record.file.path())
    }

    /// Its original, with the root before it: what a refresh must change again.
    pub fn kept(&self) -> PathBuf {
        inside(&self.root, self.record.kept.path())
    }

    /// Whether dpkg is told that the package's file has another name.
    pub fn is_diverted(&self) -> bool {
        self.record.diverted
    }

    /// The package when this was recorded.
    pub fn owner(&self) -> Option<&Owner> {
        self.record.owner.as_ref()
    }

    /// Replaces the file by `changed`, which must be the file that was planned. `after` is called after each step.
    ///
    /// # Errors
    /// The reason; then all is as it was before.
    pub fn apply(&mut self, changed: &Path, after: &mut dyn FnMut(Step)) -> Result<(), PackageError> {
        let _locks = self.lock()?;
        let file = self.file();
        // Both have been looked at before; the lock is held only now.
        if files::digest(&file)?.as_ref() != Some(&self.record.original) {
            return Err(PackageError::Foreign(file));
        }
        // All that needs space comes first.
        let mut staged = files::stage(changed, &file, &file)?;
        if staged_digest(&staged)? != self.record.changed {
            return Err(PackageError::Foreign(changed.to_owned()));
        }
        self.record.phase = Phase::Applying;
        self.record.write(&self.records)?;
        after(Step::Recorded);
        let done = self.put_in_place(&mut staged, after);
        if done.is_err() {
            // The first error is the one to tell. If this fails too, the record is still there for a repair.
            let _ = self.take_back(&mut |_| {});
        }
        done
    }

    fn put_in_place(
        &mut self,
        staged: &mut coldstart_output::StagedFile,
        after: &mut dyn FnMut(Step),
    ) -> Result<(), PackageError> {
        let (file, kept) = (self.file(), self.kept());
        files::link(&file, &kept)?;
        files::flush(&file)?;
        after(Step::Linked);
        if self.record.diverted {
            dpkg::divert(&self.root, self.record.file.path(), self.record.kept.path())?;
            after(Step::Diverted);
        }
        files::put(staged, &file)?;
        after(Step::Replaced);
        self.settle()
    }

    fn settle(&mut self) -> Result<(), PackageError> {
        self.record.phase = Phase::Applied;
        self.record.identity = files::identity(&self.kept());
        self.record.write(&self.records)
    }

    /// After an upgrade: puts `changed`, made from the new [`Self::kept`], in place of the file made from the old one.
    ///
    /// # Errors
    /// The reason; the file is then as it was before.
    pub fn refresh(&mut self, changed: &Path, after: &mut dyn FnMut(Step)) -> Result<(), PackageError> {
        let _locks = self.lock()?;
        let (file, kept) = (self.file(), self.kept());
        let lost = || PackageError::OriginalLost { path: file.clone(), kept: kept.clone(), package: None };
        let original = files::digest(&kept)?.ok_or_else(lost)?;
        if files::digest(&file)?.as_ref() != Some(&self.record.changed) {
            return Err(PackageError::Foreign(file));
        }
        let mut staged = files::stage(changed, &kept, &file)?;
        let owner = owner_of(&self.root, self.record.file.path())?.owner().cloned();
        self.record.pending = Some(Pending { original, changed: staged_digest(&staged)?, owner });
        self.record.write(&self.records)?;
        after(Step::Recorded);
        files::put(&mut staged, &file)?;
        after(Step::Replaced);
        self.accept_pending();
        self.settle()
    }

    fn accept_pending(&mut self) {
        if let Some(Pending { original, changed, owner }) = self.record.pending.take() {
            self.record = Record { original, changed, owner, ..self.record.clone() };
        }
    }

    /// How the file is now.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn condition(&self) -> Result<Condition, PackageError> {
        if self.record.phase != Phase::Applied || self.record.pending.is_some() {
            return Ok(Condition::Interrupted);
        }
        let (kept, now) = (files::digest(&self.kept())?, files::digest(&self.file())?);
        let owner = || owner_of(&self.root, self.record.file.path());
        Ok(match (kept, now) {
            (None, _) if self.record.diverted && owner()? == Ownership::None => Condition::PackageGone,
            (_, now) if now.as_ref() != Some(&self.record.changed) => Condition::Overwritten,
            (kept, _) if kept.as_ref() != Some(&self.record.original) => {
                Condition::OriginalChanged(what_changed(self.owner(), &owner()?))
            }
            _ if self.record.changed == self.record.original => {
                Condition::FellBack(what_changed(self.owner(), &owner()?))
            }
            _ => Condition::Fresh,
        })
    }

    /// Keeps other coldstarts, and dpkg where it is concerned, away.
    fn lock(&self) -> Result<Locks, PackageError> {
        std::fs::create_dir_all(&self.records).map_err(PackageError::io("create", &self.records))?;
        let mut locks = lock_records(&self.records)?;
        if self.record.diverted {
            locks._of_dpkg = Some(dpkg::Lock::take(&self.root)?);
        }
        Ok(locks)
    }
}

/// Keeps other coldstarts away.
fn lock_records(records: &Path) -> Result<Locks, PackageError> {
    let own = File::open(records).map_err(PackageError::io("open", records))?;
    flock(&own, FlockOperation::NonBlockingLockExclusive).map_err(|_| PackageError::Locked(records.to_owned()))?;
    Ok(Locks { own, _of_dpkg: None })
}

/// The locks, until it is dropped.
struct Locks {
    own: File,
    _of_dpkg: Option<dpkg::Lock>,
}

impl Drop for Locks {
    fn drop(&mut self) {
        // Closing is not enough: a child that another thread is just starting has the descriptor until it runs its program.
        let _ = flock(&self.own, FlockOperation::Unlock);
    }
}

fn digest_of_new(changed: &Path) -> Result<String, PackageError> {
    let missing = || PackageError::io("find", changed)(std::io::ErrorKind::NotFound.into());
    files::digest(changed)?.ok_or_else(missing)
}

fn staged_digest(staged: &coldstart_output::StagedFile) -> Result<String, PackageError> {
    use std::io::{Read, Seek};
    let mut hasher = blake3::Hasher::new();
    let mut file = staged.file();
    let read = file.rewind().and_then(|()| std::io::copy(&mut file.by_ref(), &mut hasher));
    read.map_err(PackageError::io("read back", Path::new("the new file")))?;
    Ok(hasher.finalize().to_hex().to_string())
}
