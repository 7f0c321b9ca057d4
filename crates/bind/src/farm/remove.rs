//! Removing a link directory.

use std::io;
use std::path::Path;

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
    parent.flush()?;
    // The next run removes what remains.
    marker.remove(&temporary)?;
    Ok(FarmRemoved::Removed)
}
