//! Writing a link directory.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

use coldstart_output::{HeldDirectory, flush_directory};
use rustix::io::Errno;

use crate::BoundLink;

use super::marker::{MARKER_NAME, Marker};
use super::parent::{FarmPlace, Parent};
use super::{FarmError, FarmPlan};

/// The result of writing a link directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FarmWritten {
    /// It was created.
    Made,
    /// It replaced an earlier one.
    Exchanged,
    /// It existed already, with the same links.
    Unchanged,
}

/// Whether the path of a planned link directory is free or has an earlier one of the same program. Changes nothing.
///
/// # Errors
/// If something else exists there.
pub fn check_farm_place(plan: &FarmPlan) -> Result<(), FarmError> {
    match FarmPlace::find(&plan.directory) {
        // Writing reports it.
        Err(FarmError::NoParent(_)) => Ok(()),
        place => earlier(plan, &place?).map(|_| ()),
    }
}

/// Puts the planned links into `directory`, atomically: if the process is killed at any instant, the directory is
/// either the previous or the complete new one, on disk. Leftovers of killed runs are removed.
///
/// `directory` is the plan's own, or another path where its links have the same meaning.
///
/// # Errors
/// If something else exists there, or the system refuses; the previous state is unchanged.
pub fn write_farm(plan: &FarmPlan, directory: &Path) -> Result<FarmWritten, FarmError> {
    for BoundLink { path, target } in plan.bound().links {
        let mut parts = Path::new(&path).components();
        let is_below = !path.is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
        if !is_below || path == MARKER_NAME || target.is_empty() {
            return Err(FarmError::LinkName(path));
        }
    }
    let parent = Parent::of(FarmPlace::find(directory)?, Some(&plan.program))?;
    let earlier = earlier(plan, &parent.farm)?;
    let marker = Marker::of(plan, directory);
    if let Some((held, earlier)) = &earlier
        && *earlier == marker
        && is_complete(&marker, held.sure())
    {
        return Ok(FarmWritten::Unchanged);
    }
    let temporary = parent.temporary();
    let held = make_directory(parent.held(), &temporary, &parent.farm.path.with_file_name(&temporary))?;
    let made = fill(&marker, &held).and_then(|()| put_in_place(&parent, &temporary, earlier.is_some()));
    // After a swap, the earlier one has the temporary name; the next run removes what remains.
    let left = if made.is_ok() { earlier.as_ref().map(|(_, earlier)| earlier) } else { Some(&marker) };
    let _: Option<Result<(), FarmError>> = left.map(|left| parent.remove(left, &temporary));
    made?;
    Ok(if earlier.is_some() { FarmWritten::Exchanged } else { FarmWritten::Made })
}

/// The link directory at a place; an error if something else is there.
fn earlier(plan: &FarmPlan, place: &FarmPlace) -> Result<Option<(HeldDirectory, Marker)>, FarmError> {
    let Some(held) = place.open()? else { return Ok(None) };
    let marker = Marker::read(&held)?.ok_or_else(|| FarmError::NotOurs(place.path.clone()))?;
    if !marker.is_for(&plan.program, &place.path) {
        return Err(FarmError::OtherProgram { directory: place.path.clone(), program: marker.program });
    }
    match marker.foreign_in(&held)? {
        Some(foreign) => Err(FarmError::Foreign(foreign)),
        None => Ok(Some((held, marker))),
    }
}

/// Whether all links of a marker exist.
fn is_complete(marker: &Marker, directory: &Path) -> bool {
    let stands = |link: &BoundLink| fs::read_link(directory.join(&link.path));
    marker.links.iter().all(|link| stands(link).is_ok_and(|target| target.as_os_str() == link.target.as_str()))
}

/// Fills the directory under its temporary name and flushes its contents. The marker comes first: the next run
/// recognises the leftovers of a killed process by it.
fn fill(marker: &Marker, directory: &HeldDirectory) -> Result<(), FarmError> {
    let shown = directory.real().join(MARKER_NAME);
    let written = || -> io::Result<File> {
        let path = directory.sure().join(MARKER_NAME);
        let mut file = File::options().write(true).create_new(true).mode(0o644).open(path)?;
        file.write_all(&[serde_json::to_vec(marker)?.as_slice(), b"\n"].concat())?;
        file.set_permissions(Permissions::from_mode(0o644))?;
        Ok(file)
    };
    let file = written().map_err(FarmError::system("write", &shown))?;
    let mut levels = BTreeMap::from([(PathBuf::new(), directory.clone())]);
    for link in &marker.links {
        let path = Path::new(&link.path);
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(FarmError::LinkName(link.path.clone()));
        };
        let level = level(&mut levels, above)?;
        let made = symlink(&link.target, level.sure().join(name));
        made.map_err(FarmError::system("make the link", &level.real().join(name)))?;
    }
    // Flushed last: a kill during the flush would otherwise leave a directory without a readable marker.
    file.sync_all().map_err(FarmError::system("flush", &shown))?;
    for level in levels.values().rev() {
        flush_directory(level.sure(), &file).map_err(FarmError::system("flush", level.real()))?;
    }
    Ok(())
}

/// The directory with a path below that of the links, which is made if it is not there.
fn level(levels: &mut BTreeMap<PathBuf, HeldDirectory>, path: &Path) -> Result<HeldDirectory, FarmError> {
    if let Some(held) = levels.get(path) {
        return Ok(held.clone());
    }
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(FarmError::LinkName(path.display().to_string()));
    };
    let above = level(levels, above)?;
    let held = make_directory(&above, name, &above.real().join(name))?;
    levels.insert(path.to_owned(), held.clone());
    Ok(held)
}

/// Creates a world-readable directory, whatever the process's umask is. Errors name it as `shown`.
fn make_directory(above: &HeldDirectory, name: &OsStr, shown: &Path) -> Result<HeldDirectory, FarmError> {
    let path = above.sure().join(name);
    let failed = FarmError::system("make the directory", shown);
    if let Err(error) = fs::DirBuilder::new().mode(0o755).create(&path) {
        return Err(failed(error));
    }
    let readable = |held: HeldDirectory| {
        fs::set_permissions(held.sure(), Permissions::from_mode(0o755))?;
        Ok(held)
    };
    above.inside(name).and_then(readable).map_err(|error| {
        let _ = fs::remove_dir(&path);
        failed(error)
    })
}

/// Renames the new directory into place, or swaps it with the earlier one.
fn put_in_place(parent: &Parent, temporary: &OsStr, exchange: bool) -> Result<(), FarmError> {
    let put = || if exchange { parent.exchange(temporary) } else { parent.put_in_place(temporary) };
    let take_back = || if exchange { parent.exchange(temporary) } else { parent.put_away(temporary) };
    let place = &parent.farm.path;
    match put().map_err(|error| (Errno::from_io_error(&error), error)) {
        Err((Some(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP), _)) if exchange => {
            return Err(FarmError::NoExchange(parent.farm.parent().to_owned()));
        }
        Err((Some(Errno::EXIST), _)) if !exchange => return Err(FarmError::NotOurs(place.clone())),
        Err((_, error)) => return Err(FarmError::system("put in place", place)(error)),
        Ok(()) => {}
    }
    parent.flush().inspect_err(|_| {
        // The caller removes what has the temporary name.
        let _: io::Result<()> = take_back();
    })
}
