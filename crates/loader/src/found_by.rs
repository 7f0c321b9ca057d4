//! By which rule a library was found.

use std::fmt;

/// By which rule an object was found, or would have been at a place where a probe failed. Indices are those of
/// [`Closure::objects`](crate::Closure::objects).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoundBy {
    /// It is the program.
    Program,
    /// It is the program's interpreter, which the kernel maps before anything is searched.
    Interpreter,
    /// The name holds a slash, so it is a path and nothing is searched.
    Path,
    /// `DT_RPATH` of the requester or of one of those that brought it in.
    Rpath {
        /// The object whose `DT_RPATH` it is.
        of: usize,
    },
    /// `LD_LIBRARY_PATH`.
    LdLibraryPath,
    /// `DT_RUNPATH` of the requester.
    Runpath {
        /// The object whose `DT_RUNPATH` it is.
        of: usize,
    },
    /// The loader's cache.
    LdSoCache,
    /// The loader's default directories.
    DefaultDirectory,
    /// An object that is there already answers to the name.
    AlreadyLoaded(Known),
}

/// What makes the loader see that a name means an object it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// Somebody asked for the same name before.
    Name,
    /// The name is the object's `DT_SONAME`.
    Soname,
    /// The name is the path by which the object was opened.
    Path,
    /// A search came to the same file: device and inode are equal.
    SameFile,
}

impl fmt::Display for FoundBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Program => "the program itself",
            Self::Interpreter => "the interpreter",
            Self::Path => "path with a slash",
            Self::Rpath { .. } => "RPATH",
            Self::LdLibraryPath => "LD_LIBRARY_PATH",
            Self::Runpath { .. } => "RUNPATH",
            Self::LdSoCache => "ld.so.cache",
            Self::DefaultDirectory => "default directory",
            Self::AlreadyLoaded(Known::Name) => "already loaded under this name",
            Self::AlreadyLoaded(Known::Soname) => "already loaded, by its soname",
            Self::AlreadyLoaded(Known::Path) => "already loaded from this path",
            Self::AlreadyLoaded(Known::SameFile) => "already loaded, the same file",
        })
    }
}
