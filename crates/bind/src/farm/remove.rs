//! Taking a directory of links away.

use std::io;
use std::path::Path;

use super::FarmError;
use super::marker::Marker;
use super::parent::{Parent, rename_to_free};

/// What became of a directory of links that was to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmRemoved {
    /// It is gone.
    Removed,
    /// It was not there.
    WasGone,
}

/// Removes a directory of links, if it is one and nothing else was put into it. `program` is whose it must be; none for any.
///
/// It loses its name at one blow, so that no program sees half of it; take the binding back before.
///
/// # Errors
/// When it is not ours, holds something else, or the system refuses; it then stays as it is.
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
    // What stays is removed by the next run.
    marker.remove(&temporary)?;
    Ok(FarmRemoved::Removed)
}
