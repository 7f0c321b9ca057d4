//! The changed file: made from the original by the edits of an installation, each proven.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_profile::printable;

use super::details::Details;
use crate::error::AppError;
use crate::order::ordered_copy::OrderBy;
use crate::speedup::copies::{TrialDirectory, bound_from, ordered_from, packed_from};

/// A changed file, in a directory of its own on the file system of the original. It is removed when this is dropped.
pub(super) struct Made {
    pub(super) file: PathBuf,
    _directory: TrialDirectory,
}

/// Makes the file that replaces `file` from its `original`, which may have another name meanwhile.
///
/// # Errors
/// An edit that is refused, with its reason; also if there is nothing to gain any more.
pub(super) fn make(original: &Path, file: &Path, edits: &str, details: &Details) -> Result<Made, AppError> {
    let links = details.links.as_ref().map(|links| links.path());
    let interrupt = Interrupt::listen()?;
    let size = original.metadata().map_or(0, |found| found.len());
    let directory = TrialDirectory::beside(original, size.saturating_mul(2), &[])?;
    let mut made = original.to_owned();
    for (number, edit) in edits.split('+').enumerate() {
        let result = directory.path().join(format!("changed-{number}"));
        let refused = |reason: String| AppError::new(format!("cannot {edit} `{}`: {reason}", printable(file)));
        match (edit, links) {
            ("bind", Some(links)) => drop(bound_from(&made, file, &result, links, &interrupt).map_err(refused)?),
            ("order", _) => {
                let names: Vec<PathBuf> = details.order.iter().map(|name| name.path().to_owned()).collect();
                drop(ordered_from(&made, OrderBy::Names(&names), &result, &interrupt).map_err(refused)?);
            }
            ("pack", _) => drop(packed_from(&made, &result, &interrupt).map_err(refused)?),
            _ => return Err(refused("this version of coldstart does not know this edit".to_owned())),
        }
        made = result;
    }
    Ok(Made { file: made, _directory: directory })
}
