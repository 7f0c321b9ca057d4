//! The files of an index of modules in an installation's directory: copied, exchanged, removed.
//!
//! Not obvious: what is in an index is not looked at here. Its files are valid wherever they lie, and say themselves what they depend on.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::InstallError;
use crate::file::{copy_new, create_directories, flush_parent};
use crate::registry::Installation;

/// A file of an index that is to be copied.
#[derive(Clone, Debug)]
pub struct IndexFile {
    /// Its path below the index: `current/python/index.bin`.
    pub name: PathBuf,
    /// The open file; it may lose its name meanwhile.
    pub file: Arc<File>,
    /// Its permissions.
    pub mode: u32,
}

/// Copies an index into an installation's directory. No place starts anything with it yet.
pub(crate) fn put_index(files: &[IndexFile], installation: &Installation) -> Result<(), InstallError> {
    let index = installation.index();
    for file in files {
        let path = index.join(&file.name);
        let above = path.ancestors().skip(1).take_while(|above| above.starts_with(&index));
        let missing: Vec<PathBuf> = above.filter(|above| !above.exists()).map(Path::to_owned).collect();
        create_directories(&missing.into_iter().rev().collect::<Vec<_>>())?;
        copy_new(&file.file, &path, file.mode)?;
    }
    Ok(())
}

/// Puts the new index in the place of the earlier one, which is removed.
pub(crate) fn exchange_index(installation: &Installation) -> Result<(), InstallError> {
    let (new, index) = (installation.new_index(), installation.index());
    match renameat_with(CWD, &new, CWD, &index, RenameFlags::EXCHANGE) {
        // There is no earlier one any more.
        Err(Errno::NOENT) => std::fs::rename(&new, &index),
        // Not every file system can exchange. For an instant there is no index then, and the program starts without.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            remove_tree_if_there(&index)?;
            std::fs::rename(&new, &index)
        }
        other => other.map_err(io::Error::from),
    }
    .map_err(InstallError::io("put the new index at", &index))?;
    flush_parent(&index);
    remove_tree_if_there(&new)
}

/// Removes a directory with all below it.
pub(crate) fn remove_tree_if_there(directory: &Path) -> Result<(), InstallError> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(InstallError::io("remove", directory)(error)),
        _ => Ok(()),
    }
}
