//! Removing a link directory.

use std::path::Path;

use crate::beside::usual_farm;
use crate::origin::{expanded, without_dots};

use super::FarmError;
use super::marker::Marker;
use super::parent::{FarmPlace, Parent};

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
    let place = match FarmPlace::find(directory) {
        Err(FarmError::NoParent(_)) => return Ok(FarmRemoved::WasGone),
        place => place?,
    };
    if place.open()?.is_none() {
        return Ok(FarmRemoved::WasGone);
    }
    let parent = Parent::of(place, program)?;
    let Some(held) = parent.farm.open()? else { return Ok(FarmRemoved::WasGone) };
    let marker = Marker::read(&held)?.ok_or_else(|| FarmError::NotOurs(directory.to_owned()))?;
    if program.is_some_and(|program| !marker.is_for(program, directory)) {
        return Err(FarmError::OtherProgram { directory: directory.to_owned(), program: marker.program });
    }
    if let Some(foreign) = marker.foreign_in(&held)? {
        return Err(FarmError::Foreign(foreign));
    }
    let temporary = parent.temporary();
    parent.put_away(&temporary).map_err(FarmError::system("remove", directory))?;
    // Without it, a power loss may bring back the name, of a directory that nothing uses.
    let _: Result<(), FarmError> = parent.flush();
    // The next run removes what remains.
    parent.remove(&marker, &temporary)?;
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
    let place = match FarmPlace::find(&directory) {
        Err(FarmError::NoParent(_)) => return Ok(FarmRemoved::WasGone),
        place => place?,
    };
    let held = match place.open() {
        Err(FarmError::NotOurs(_)) => None,
        held => held?,
    };
    let marker = held.as_ref().map(Marker::read).transpose()?.flatten();
    let stands = marker.is_some_and(|marker| marker.is_for(program, &directory));
    if !stands && !place.may_have_leftovers() {
        return Ok(FarmRemoved::WasGone);
    }
    let were_leftovers = Parent::of(place, None)?.remove_leftovers(program)?;
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
