//! After an upgrade: the new originals in place of files that were made from the old ones.
//!
//! Files of one package fit together, and a changed file of the old version beside new ones may break the program. So dpkg calls this
//! after each run ([`crate::hook`]). It takes no lock of dpkg's, which the caller's caller may hold: no diversion changes, and dpkg does
//! not touch the path of a diverted file.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::record::Phase;
use super::{Locks, files, lock_records, recorded};
use crate::error::PackageError;

/// The longest wait for another coldstart, which holds the lock for one file at a time.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const INTERVAL: Duration = Duration::from_millis(50);

/// Puts the original in place of each replaced file whose original is another one now. The diversion stays, so that the file can be
/// replaced again by [`super::Replacement::refresh`]. Without an upgrade it looks at each original once and reads nothing.
///
/// # Errors
/// The first file that cannot be restored; the others are tried, too.
pub fn fall_back(root: &Path, records: &Path) -> Result<Vec<PathBuf>, PackageError> {
    if !records.is_dir() {
        return Ok(Vec::new());
    }
    let mut restored = Vec::new();
    let mut failed = None;
    let _lock = wait_for_records(records)?;
    for mut replacement in recorded(root, records)? {
        let is_settled = replacement.record.phase == Phase::Applied && replacement.record.pending.is_none();
        if !is_settled || files::identity(&replacement.kept()) == replacement.record.identity {
            continue;
        }
        match replacement.put_original() {
            Ok(true) => restored.push(replacement.file()),
            Ok(false) => {}
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    failed.map_or(Ok(restored), Err)
}

/// Another coldstart that replaces a file now is waited for: nobody would come back for what is left out here.
fn wait_for_records(records: &Path) -> Result<Locks, PackageError> {
    let begin = Instant::now();
    loop {
        match lock_records(records) {
            Err(PackageError::Locked(_)) if begin.elapsed() < LONGEST_WAIT => std::thread::sleep(INTERVAL),
            locked => return locked,
        }
    }
}

impl super::Replacement {
    /// False if there is nothing to be put in place: the package is gone, or the file in place is somebody else's.
    fn put_original(&mut self) -> Result<bool, PackageError> {
        let (file, kept) = (self.file(), self.kept());
        let Some(original) = files::digest(&kept)? else { return Ok(false) };
        if original == self.record.original {
            // A reinstallation, or only another time. The file in place is still made from this.
            self.settle()?;
            return Ok(false);
        }
        match files::digest(&file)? {
            Some(now) if now == self.record.changed => files::restore(&kept, &file)?,
            // Restored already, before a kill.
            Some(now) if now == original => {}
            _ => return Ok(false),
        }
        self.record.original.clone_from(&original);
        self.record.changed = original;
        self.settle()?;
        Ok(true)
    }
}
