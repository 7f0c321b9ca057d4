//! The rules by which libraries are found.

use std::fmt;

/// The rule by which an object was found, or by which a failed probe was made. Indices are those of
/// [`Closure::objects`](crate::Closure::objects).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoundBy {
    /// It is the program.
    Program,
    /// It is the program's interpreter, mapped by the kernel before any search.
    Interpreter,
    /// The name contains a slash, so it is a path and not searched.
    Path,
    /// `DT_RPATH` of the requester or of one of its requesters.
    Rpath {
        /// The object with the `DT_RPATH`.
        of: usize,
    },
    /// `LD_LIBRARY_PATH`.
    LdLibraryPath,
    /// `DT_RUNPATH` of the requester.
    Runpath {
        /// The object with the `DT_RUNPATH`.
        of: usize,
    },
    /// The loader's cache.
    LdSoCache,
    /// The loader's default directories.
    DefaultDirectory,
    /// An already loaded object matches the name.
    AlreadyLoaded(Known),
}

/// How the loader recognises a name as that of a loaded object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// The same name was requested before.
    Name,
    /// The name is the object's `DT_SONAME`.
    Soname,
    /// The name is the path by which the object was opened.
    Path,
    /// A search came to the same file: device and inode are equal.
    SameFile,
}

impl FoundBy {
    /// Its name in machine-readable output, which does not change.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Interpreter => "interpreter",
            Self::Path => "path",
            Self::Rpath { .. } => "rpath",
            Self::LdLibraryPath => "ld-library-path",
            Self::Runpath { .. } => "runpath",
            Self::LdSoCache => "ld-so-cache",
            Self::DefaultDirectory => "default-directory",
            Self::AlreadyLoaded(Known::Name) => "already-loaded-name",
            Self::AlreadyLoaded(Known::Soname) => "already-loaded-soname",
            Self::AlreadyLoaded(Known::Path) => "already-loaded-path",
            Self::AlreadyLoaded(Known::SameFile) => "already-loaded-same-file",
        }
    }
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
            Self::AlreadyLoaded(Known::Soname) => "already loaded with this soname",
            Self::AlreadyLoaded(Known::Path) => "already loaded from this path",
            Self::AlreadyLoaded(Known::SameFile) => "already loaded (same file)",
        })
    }
}
