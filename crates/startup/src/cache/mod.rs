//! The contents of a loader's cache: the libraries of directories, or those that programs need.
//!
//! The `loader` crate has the format and `ldconfig`'s rules; this module finds the files of a root for them.

mod closures;
mod conf;
mod directories;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::ProbeFailure;

use crate::Root;

pub use closures::{ClosureOptions, Conflict, FromClosures, Missing, files_below, follow};
pub use conf::RelativeLine;
pub use directories::{
    DirectoryOptions, FromDirectories, NEWEST_RELEASE, family_loader, file_name, gather, named_family, parent,
};

/// Why a cache cannot be built. Paths are as seen from inside the root.
#[derive(Debug, thiserror::Error)]
pub enum CacheSourceError {
    /// A given program is not an object, or cannot be read.
    #[error("cannot determine what `{}` loads: {reason}", path.display())]
    NotAnObject {
        /// The given path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A program of another architecture than the cache.
    #[error("`{}` is not for {wanted}; a cache is for one architecture", path.display())]
    OtherFamily {
        /// The program.
        path: PathBuf,
        /// The name of the cache's architecture.
        wanted: &'static str,
    },
    /// musl's loader has no cache.
    #[error("`{}` uses musl's loader, which has no cache", path.display())]
    Musl {
        /// The program.
        path: PathBuf,
    },
    /// The loader of a program is missing or has the wrong architecture.
    #[error(transparent)]
    Loader(#[from] coldstart_loader::Error),
    /// A start would fail at a file.
    #[error("`{}` cannot start: `{}`: {reason}", path.display(), file.display())]
    Stopped {
        /// The program.
        path: PathBuf,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: ProbeFailure,
    },
    /// No program or library was given.
    #[error("no program or library given")]
    Nothing,
    /// A store item is no directory.
    #[error("`{}` is not a directory", path.display())]
    NotADirectory {
        /// The store item.
        path: PathBuf,
    },
    /// A directory cannot be listed.
    #[error("cannot list `{}`", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// A store item contains too many files.
    #[error("`{}` contains more than a million files", path.display())]
    TooMany {
        /// The store item.
        path: PathBuf,
    },
    /// A given directory cannot be used.
    #[error("cannot use `{}`", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The given configuration file is missing.
    #[error("there is no `{}`", path.display())]
    NoConfiguration {
        /// The file.
        path: PathBuf,
    },
    /// Configuration files include each other recursively.
    #[error("`{}` is included recursively or too deeply", path.display())]
    IncludedTooDeep {
        /// The file.
        path: PathBuf,
    },
    /// A configuration file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// An unknown architecture name.
    #[error("`{name}` is not an architecture supported by glibc")]
    UnknownFamily {
        /// As typed.
        name: String,
    },
    /// The directories contain libraries for several architectures, and none was chosen.
    #[error("the directories contain libraries for several architectures ({}); a cache is for one", families.join(", "))]
    SeveralFamilies {
        /// Their names.
        families: Vec<&'static str>,
    },
    /// The current directory of this process is not known.
    #[error("cannot tell the current directory")]
    NoCurrentDirectory(#[source] io::Error),
}

/// A path of bytes.
fn as_path(bytes: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// An absolute path inside the root.
fn inside(root: &Root, path: &Path) -> Result<Vec<u8>, CacheSourceError> {
    let absolute = root.absolute(path).map_err(CacheSourceError::NoCurrentDirectory)?;
    Ok(absolute.as_os_str().as_bytes().to_vec())
}
