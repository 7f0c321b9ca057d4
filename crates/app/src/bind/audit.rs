//! Writing the audit library of mode `audit`.

use std::path::Path;

use coldstart_bind::AuditLibrary;
use coldstart_output::OutputTarget;
use coldstart_profile::printable;
use coldstart_sys::file_view::FileView;

use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::reading::map;
use crate::rewriting::{Destination, Rule, Task};
use crate::writing::write_file;

/// The hint if the library cannot be written.
const ELSEWHERE: &str = "give another path with `--audit-library`";

/// The checked path of the library: it must be neither an input nor the output.
pub(super) fn place(
    path: &Path,
    rule: &Rule,
    program: &Destination,
    task: Option<&Task>,
) -> Result<OutputTarget, AppError> {
    let place = rule.of_kind(kinds::AUDIT_LIBRARY).place(path)?;
    let bound = task.and_then(|task| program.target(task)).and_then(|target| rule.place(&target).ok());
    if bound.is_some_and(|bound| bound.is_same_name(&place)) {
        return Err(anyhow::anyhow!("`{}` is given twice as output", printable(path))).hint(|| ELSEWHERE);
    }
    place.check().hint(|| ELSEWHERE)?;
    Ok(place)
}

/// Puts the library in place. `may_replace` permits replacing one made by `bind`, unless it could belong to another program.
/// Returns whether nothing was there before.
pub(super) fn write_library(library: &AuditLibrary, place: &OutputTarget, may_replace: bool) -> Result<bool, AppError> {
    let path = place.path();
    // A symbolic link itself is replaced, not its target.
    let found = path.symlink_metadata();
    let is_file = found.as_ref().is_ok_and(|found| found.is_file());
    let is_anothers = |view: FileView| !view.bytes().is_empty() && view.bytes() != library.bytes;
    if !may_replace && is_file && map(path).is_ok_and(is_anothers) {
        let taken = anyhow::anyhow!("`{}` already exists and belongs to another program", printable(path));
        return Err(taken)
            .hint(|| "give another path with `--audit-library`, or remove the file if no program uses it");
    }
    write_file(place, &library.bytes)?;
    Ok(found.is_err())
}

/// Removes a library that no program uses yet.
pub(super) fn remove_library(library: &AuditLibrary, place: &OutputTarget) {
    let path = place.sure_path();
    if map(&path).is_ok_and(|view| view.bytes() == library.bytes) {
        let _ = std::fs::remove_file(path);
    }
}
