//! Putting a directory of links in place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::BoundLink;

use super::marker::{MARKER_NAME, Marker};
use super::parent::{Parent, flush, rename_to_free};
use super::{FarmError, FarmPlan};

/// What became of a directory of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmWritten {
    /// It was not there.
    Made,
    /// It took the place of an earlier one.
    Exchanged,
    /// It was there, just so.
    Unchanged,
}

/// Whether the place of a planned directory of links is free, or taken by an earlier one of the same program. Changes nothing.
///
/// # Errors
/// What stands in its place.
pub fn check_farm_place(plan: &FarmPlan) -> Result<(), FarmError> {
    earlier(plan, &plan.directory).map(|_| ())
}

/// Puts the planned links into `directory`, at one blow: killed at any instant, either what was there before or the new
/// directory stands there, whole and on disk. What killed runs have left is removed.
///
/// `directory` is the plan's own, or another place from which its links mean the same.
///
/// # Errors
/// When something else stands there, or the system refuses; what was there before stays.
pub fn write_farm(plan: &FarmPlan, directory: &Path) -> Result<FarmWritten, FarmError> {
    for BoundLink { path, target } in plan.bound().links {
        let mut parts = Path::new(&path).components();
        if !parts.all(|part| matches!(part, Component::Normal(_))) || path == MARKER_NAME || target.is_empty() {
            return Err(FarmError::LinkName(path));
        }
    }
    let parent = Parent::of(directory, Some(&plan.program))?;
    let earlier = earlier(plan, directory)?;
    let marker = Marker::of(plan, directory);
    if earlier.as_ref() == Some(&marker) && is_complete(&marker, directory) {
        return Ok(FarmWritten::Unchanged);
    }
    let temporary = parent.temporary();
    make_directory(&temporary)?;
    let made = fill(&marker, &temporary).and_then(|()| put_in_place(&parent, &temporary, directory, earlier.is_some()));
    // After an exchange the earlier one has the temporary name; what stays is removed by the next run.
    let left = if made.is_ok() { earlier.as_ref() } else { Some(&marker) };
    let _: Option<Result<(), FarmError>> = left.map(|left| left.remove(&temporary));
    made?;
    Ok(if earlier.is_some() { FarmWritten::Exchanged } else { FarmWritten::Made })
}

/// The directory of links that stands at a place; an error when something else stands there.
fn earlier(plan: &FarmPlan, directory: &Path) -> Result<Option<Marker>, FarmError> {
    match directory.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(FarmError::system("look at", directory)(error)),
        Ok(metadata) if !metadata.is_dir() => return Err(FarmError::NotOurs(directory.to_owned())),
        Ok(_) => {}
    }
    let marker = Marker::read(directory)?.ok_or_else(|| FarmError::NotOurs(directory.to_owned()))?;
    if !marker.is_for(&plan.program, directory) {
        return Err(FarmError::OtherProgram { directory: directory.to_owned(), program: marker.program });
    }
    match marker.foreign_in(directory)? {
        Some(foreign) => Err(FarmError::Foreign(foreign)),
        None => Ok(Some(marker)),
    }
}

/// Whether all links of a marker are there.
fn is_complete(marker: &Marker, directory: &Path) -> bool {
    let stands = |link: &BoundLink| fs::read_link(directory.join(&link.path));
    marker.links.iter().all(|link| stands(link).is_ok_and(|target| target.as_os_str() == link.target.as_str()))
}

/// Fills the directory under its temporary name, with all that is in it on disk. The marker comes first: whoever is killed
/// meanwhile leaves a directory that the next run knows by it.
fn fill(marker: &Marker, directory: &Path) -> Result<(), FarmError> {
    let path = directory.join(MARKER_NAME);
    let written = || -> io::Result<File> {
        let mut file = File::options().write(true).create_new(true).mode(0o644).open(&path)?;
        file.write_all(&[serde_json::to_vec(marker)?.as_slice(), b"\n"].concat())?;
        file.set_permissions(Permissions::from_mode(0o644))?;
        Ok(file)
    };
    let file = written().map_err(FarmError::system("write", &path))?;
    let mut directories = vec![directory.to_owned()];
    for link in &marker.links {
        let path = directory.join(&link.path);
        let above: Vec<_> = path.ancestors().skip(1).take_while(|above| *above != directory).collect();
        for above in above.into_iter().rev() {
            if !directories.iter().any(|known| known == above) {
                make_directory(above)?;
                directories.push(above.to_owned());
            }
        }
        symlink(&link.target, &path).map_err(FarmError::system("make the link", &path))?;
    }
    // Only now: while it waits for the disk, a kill would otherwise leave a directory whose marker cannot be read.
    file.sync_all().map_err(FarmError::system("flush", &path))?;
    for directory in directories.iter().rev() {
        File::open(directory).and_then(|open| flush(&open)).map_err(FarmError::system("flush", directory))?;
    }
    Ok(())
}

/// Makes a directory that everybody may read, whatever the process's mask is.
fn make_directory(directory: &Path) -> Result<(), FarmError> {
    let made = fs::DirBuilder::new().mode(0o755).create(directory);
    let made = made.and_then(|()| fs::set_permissions(directory, Permissions::from_mode(0o755)));
    made.map_err(FarmError::system("make the directory", directory))
}

/// Renames the new directory to its place, or exchanges it with the earlier one.
fn put_in_place(parent: &Parent, from: &Path, to: &Path, exchange: bool) -> Result<(), FarmError> {
    let renamed = match exchange {
        true => renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).map_err(io::Error::from),
        false => rename_to_free(from, to),
    };
    match renamed.as_ref().map_err(Errno::from_io_error) {
        Err(Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)) if exchange => {
            return Err(FarmError::NoExchange(parent.path.clone()));
        }
        Err(Some(Errno::EXIST)) if !exchange => return Err(FarmError::NotOurs(to.to_owned())),
        _ => renamed.map_err(FarmError::system("put in place", to))?,
    }
    parent.flush()
}
