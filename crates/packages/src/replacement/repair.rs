//! Ends what a kill interrupted: forward if the new file is in place, else back.

use std::path::{Path, PathBuf};

use super::record::Phase;
use super::{files, recorded};
use crate::error::PackageError;

/// What was repaired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Repaired {
    /// The new file was in place already.
    Settled(PathBuf),
    /// The original is back.
    Undone(PathBuf),
}

/// Repairs all that is recorded in a directory. Doing it twice changes nothing more.
///
/// # Errors
/// The first record that cannot be repaired; those before it are.
pub fn repair(root: &Path, records: &Path) -> Result<Vec<Repaired>, PackageError> {
    let mut repaired = Vec::new();
    for mut replacement in recorded(root, records)? {
        if replacement.record.phase == Phase::Applied && replacement.record.pending.is_none() {
            continue;
        }
        let _locks = replacement.lock()?;
        let file = replacement.file();
        if let Some(directory) = file.parent() {
            // What has no name yet vanished by itself; this is for file systems without such files.
            let _ = coldstart_output::remove_leftovers(directory);
        }
        let now = files::digest(&file)?;
        if replacement.record.phase != Phase::Undoing {
            let pending = replacement.record.pending.as_ref();
            if pending.is_some_and(|pending| now.as_ref() == Some(&pending.changed)) {
                replacement.accept_pending();
            }
            replacement.record.pending = None;
            if now.as_ref() == Some(&replacement.record.changed) && files::digest(&replacement.kept())?.is_some() {
                replacement.settle()?;
                repaired.push(Repaired::Settled(file));
                continue;
            }
        }
        replacement.take_back(&mut |_| {})?;
        repaired.push(Repaired::Undone(file));
    }
    Ok(repaired)
}
