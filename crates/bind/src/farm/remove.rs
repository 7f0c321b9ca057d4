//! Removing a link directory.

use std::io;
use std::path::Path;

use crate::beside::usual_farm;
use crate::origin::{expanded, without_dots};

use super::FarmError;
use super::marker::Marker;
use super::parent::{Parent, rename_to_free};

/// The result of removing a link directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmRemoved {
    /// It was removed.
    Removed,
    /// It did not exist.
    WasGone,
}

/// Removes a link directory, unless other files were added to it. `program` is its expected program; none for any.
///
/// It is first renamed, so that no program sees half of it; undo the binding before.
///
/// # Errors
/// If it is not ours, contains other files, or the system refuses; it is then unchanged.
pub fn remove_farm(directory: &Path, program: Option<&Path>) -> Result<FarmRemoved, FarmError> {
    match directory.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(FarmRemoved::WasGone),
        Err(error) => return Err(FarmError::system("look at", directory)(error)),
        Ok(metadata) if !metadata.is_dir() => return Err(FarmError::NotOurs(directory.to_owned())),
        Ok(_) => {}
    }
    let parent = Parent::of(directory, program)?;
    let marker = Marker::read(directory)?.ok_or_else(|| FarmError::NotOurs(directory.to_owned()))?;
    if program.is_some_and(|program| !marker.is_for(program, directory)) {
        return Err(FarmError::OtherProgram { directory: directory.to_owned(), program: marker.program });
    }
    if let Some(foreign) = marker.foreign_in(directory)? {
        return Err(FarmError::Foreign(foreign));
    }
    let temporary = parent.temporary();
    rename_to_free(directory, &temporary).map_err(FarmError::system("remove", directory))?;
    // Without it, a power loss may bring back the name, of a directory that nothing uses.
    let _: Result<(), FarmError> = parent.flush();
    // The next run removes what remains.
    marker.remove(&temporary)?;
    Ok(FarmRemoved::Removed)
}

/// Removes the usual link directory of a program that is not bound, under its own name and temporary ones: a run of `unbind` that
/// was killed, or failed, after it had restored the program leaves one. Only a directory that was made for this program, or moved or
/// copied with it, is removed; and none that is on `search`, the program's search paths: a bound program without its note still
/// uses it.
///
/// # Errors
/// If it contains other files, or the system refuses.
pub fn remove_left_farm(program: &Path, search: &[&[u8]]) -> Result<FarmRemoved, FarmError> {
    let directory = usual_farm(program);
    if search.iter().any(|path| names_directory(path, program, &directory)) {
        return Ok(FarmRemoved::WasGone);
    }
    let stands = directory.symlink_metadata().is_ok_and(|found| found.is_dir())
        && Marker::read(&directory)?.as_ref().is_some_and(|marker| marker.is_for(program, &directory));
    if !stands && !Parent::may_have_leftovers(&directory) {
        return Ok(FarmRemoved::WasGone);
    }
    let were_leftovers = Parent::of(&directory, None)?.remove_leftovers(&directory, program)?;
    if stands {
        remove_farm(&directory, Some(program))
    } else {
        Ok(if were_leftovers { FarmRemoved::Removed } else { FarmRemoved::WasGone })
    }
}

/// Whether a directory is on a search path of a program.
fn names_directory(search: &[u8], program: &Path, directory: &Path) -> bool {
    let is_it = |element: &[u8]| match std::str::from_utf8(element) {
        Ok(text) => {
            let named = expanded(text, program);
            without_dots(&named) == directory || named.canonicalize().is_ok_and(|real| real == directory)
        }
        // Not one that we write.
        Err(_) => false,
    };
    search.split(|byte| *byte == b':').any(is_it)
}
