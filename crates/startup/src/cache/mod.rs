//! What belongs into a loader's cache: the libraries of directories, or those that programs need.
//!
//! The `loader` crate knows the format and `ldconfig`'s rules; here the files of a root are found for them.

mod closures;
mod conf;
mod directories;

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::ProbeFailure;

use crate::Root;

pub use closures::{Conflict, Following, FromClosures, Missing, files_below, follow};
pub use conf::RelativeLine;
pub use directories::{Asked, FromDirectories, NEWEST_RELEASE, family_loader, file_name, gather, named_family, parent};

/// Why no cache can be made. Paths are as seen from inside the root.
#[derive(Debug, thiserror::Error)]
pub enum CacheSourceError {
    /// What was named as a program is no object, or cannot be read.
    #[error("cannot determine what `{}` loads: {reason}", path.display())]
    NotAnObject {
        /// What was named.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A program of another architecture than the cache.
    #[error("`{}` is for another machine than {wanted}, and a cache is for one", path.display())]
    OtherFamily {
        /// The program.
        path: PathBuf,
        /// The name of the cache's architecture.
        wanted: &'static str,
    },
    /// musl's loader has no cache.
    #[error("`{}` is started by musl's loader, which reads no cache", path.display())]
    Musl {
        /// The program.
        path: PathBuf,
    },
    /// The loader of a program is not there or is not for it.
    #[error(transparent)]
    Loader(#[from] coldstart_loader::Error),
    /// A start would end at a file.
    #[error("`{}` cannot start: `{}`: {reason}", path.display(), file.display())]
    Stopped {
        /// The program.
        path: PathBuf,
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        reason: ProbeFailure,
    },
    /// No program or library was named.
    #[error("nothing that is named is a program or library")]
    Nothing,
    /// A store item is no directory.
    #[error("`{}` is no folder", path.display())]
    NotADirectory {
        /// The store item.
        path: PathBuf,
    },
    /// A directory cannot be listed.
    #[error("cannot list `{}`", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A store item holds too many files.
    #[error("`{}` holds more than a million files", path.display())]
    TooMany {
        /// The store item.
        path: PathBuf,
    },
    /// A directory that was named cannot be used.
    #[error("cannot use `{}`", path.display())]
    Unusable {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The configuration file that was named is not there.
    #[error("there is no `{}`", path.display())]
    NoConfiguration {
        /// The file.
        path: PathBuf,
    },
    /// Configuration files include one another without end.
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
        /// The system's answer.
        source: io::Error,
    },
    /// A name that is no architecture's.
    #[error("`{name}` is no machine that glibc runs on")]
    UnknownFamily {
        /// As typed.
        name: String,
    },
    /// The directories hold libraries for several architectures, and it was not said whose are meant.
    #[error("the folders hold libraries for several machines ({}), which no cache can hold", families.join(", "))]
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
