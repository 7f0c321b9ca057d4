//! Restoring names: directories are opened and read, links looked up.

use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, RawDir};

use super::look::open;
use super::missing::{Missing, MissingReason};
use super::restore::NameTally;
use super::threads::map;

/// Reads directories.
pub(super) fn read_directories(directories: &[PathBuf], threads: usize, missing: &mut Vec<Missing>) -> NameTally {
    count(directories, map(directories, threads, |path| read_directory(path)), missing)
}

/// Reads symbolic links.
pub(super) fn read_links(links: &[PathBuf], threads: usize, missing: &mut Vec<Missing>) -> NameTally {
    let read = |path: &PathBuf| rustix::fs::readlink(path, Vec::new()).map(|_| ());
    count(links, map(links, threads, read), missing)
}

fn count(paths: &[PathBuf], results: Vec<rustix::io::Result<()>>, missing: &mut Vec<Missing>) -> NameTally {
    let mut came = NameTally { asked: paths.len() as u64, back: 0 };
    for (path, result) in paths.iter().zip(results) {
        match result {
            Ok(()) => came.back += 1,
            Err(errno) => missing.push(Missing { path: path.clone(), pages: 0, reason: MissingReason::of_name(errno) }),
        }
    }
    came
}

fn read_directory(path: &Path) -> rustix::io::Result<()> {
    let directory = open(None, path, OFlags::DIRECTORY)?;
    let mut buffer = Vec::with_capacity(32 * 1024);
    let mut entries = RawDir::new(&directory, buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        entry?;
    }
    Ok(())
}
