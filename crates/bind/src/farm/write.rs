//! Writing a link directory.

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
    earlier(plan, &plan.directory).map(|_| ())
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
    // After a swap, the earlier one has the temporary name; the next run removes what remains.
    let left = if made.is_ok() { earlier.as_ref() } else { Some(&marker) };
    let _: Option<Result<(), FarmError>> = left.map(|left| left.remove(&temporary));
    made?;
    Ok(if earlier.is_some() { FarmWritten::Exchanged } else { FarmWritten::Made })
}

/// The link directory at a path; an error if something else is there.
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

/// Whether all links of a marker exist.
fn is_complete(marker: &Marker, directory: &Path) -> bool {
    let stands = |link: &BoundLink| fs::read_link(directory.join(&link.path));
    marker.links.iter().all(|link| stands(link).is_ok_and(|target| target.as_os_str() == link.target.as_str()))
}

/// Fills the directory under its temporary name and flushes its contents. The marker comes first: the next run
/// recognises the leftovers of a killed process by it.
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
    // Flushed last: a kill during the flush would otherwise leave a directory without a readable marker.
    file.sync_all().map_err(FarmError::system("flush", &path))?;
    for directory in directories.iter().rev() {
        File::open(directory).and_then(|open| flush(&open)).map_err(FarmError::system("flush", directory))?;
    }
    Ok(())
}

/// Creates a world-readable directory, whatever the process's umask is.
fn make_directory(directory: &Path) -> Result<(), FarmError> {
    let failed = FarmError::system("make the directory", directory);
    if let Err(error) = fs::DirBuilder::new().mode(0o755).create(directory) {
        return Err(failed(error));
    }
    fs::set_permissions(directory, Permissions::from_mode(0o755)).map_err(|error| {
        let _ = fs::remove_dir(directory);
        failed(error)
    })
}

/// Renames the new directory into place, or swaps it with the earlier one.
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
    parent.flush().inspect_err(|_| {
        // The caller removes what has the temporary name.
        let _: io::Result<()> = match exchange {
            true => renameat_with(CWD, from, CWD, to, RenameFlags::EXCHANGE).map_err(io::Error::from),
            false => rename_to_free(to, from),
        };
    })
}
