//! Who may have written an image. The kernel's code for file systems is not made for hostile ones, and root mounts nothing that another user could
//! change while it is mounted.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why an image is not mounted.
#[derive(Debug, thiserror::Error)]
pub enum Distrust {
    /// A file or directory on the way to it.
    #[error("root mounts only images that nobody else can change: {} `{}` belongs to user {owner}", what(*.is_image), .path.display())]
    Owner {
        /// The file or directory.
        path: PathBuf,
        /// Whether it is the image itself.
        is_image: bool,
        /// Its owner.
        owner: u32,
    },
    /// A file or directory on the way to it.
    #[error("root mounts only images that nobody else can change: others may write to {} `{}`", what(*.is_image), .path.display())]
    Writable {
        /// The file or directory.
        path: PathBuf,
        /// Whether it is the image itself.
        is_image: bool,
    },
    /// It cannot be looked at.
    #[error("cannot look at `{}`: {source}", .path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

fn what(is_image: bool) -> &'static str {
    if is_image { "the image" } else { "the directory" }
}

impl Distrust {
    /// Advice.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { .. } => None,
            _ => Some(
                "keep it in a directory of root's, such as /var/lib/coldstart, with `coldstart image make` or `install -m 644`",
            ),
        }
    }
}

coldstart_hint::hinted!(Distrust);

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Checks an open image and the directories that lead to it. A directory that others may write to is accepted if they may not rename what is in
/// it (sticky, as `/tmp`): the image itself is opened already.
///
/// # Errors
/// Who else could change it.
pub fn check(path: &Path, image: &File) -> Result<(), Distrust> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Distrust::Io { path, source }
    };
    let found = image.metadata().map_err(failed(path))?;
    one(path, true, found.uid(), found.mode() & WRITABLE_BY_OTHERS)?;
    let real = path.canonicalize().map_err(failed(path))?;
    for directory in real.ancestors().skip(1) {
        let found = directory.metadata().map_err(failed(directory))?;
        let writable = if found.mode() & STICKY != 0 { 0 } else { found.mode() & WRITABLE_BY_OTHERS };
        one(directory, false, found.uid(), writable)?;
    }
    Ok(())
}

/// Whether a directory belongs to root, and nobody else may write to it. A link to one does not count.
pub fn is_roots_directory(path: &Path) -> bool {
    let is_roots =
        |found: std::fs::Metadata| found.is_dir() && found.uid() == 0 && found.mode() & WRITABLE_BY_OTHERS == 0;
    path.symlink_metadata().is_ok_and(is_roots)
}

fn one(path: &Path, is_image: bool, owner: u32, writable: u32) -> Result<(), Distrust> {
    if owner != 0 {
        return Err(Distrust::Owner { path: path.to_owned(), is_image, owner });
    }
    if writable != 0 {
        return Err(Distrust::Writable { path: path.to_owned(), is_image });
    }
    Ok(())
}
