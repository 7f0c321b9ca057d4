//! The properties of files that the loader does not check.

mod machine;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_loader::FileSystem;

pub use machine::MachineFiles;

/// The properties of a library's or program's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Size in bytes.
    pub size: u64,
    /// Time of its last modification, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The build id in hexadecimal (`NT_GNU_BUILD_ID`).
    pub build_id: Option<String>,
    /// It may open libraries later: it imports `dlopen` or `dlmopen`.
    pub imports_dlopen: bool,
    /// It may query the path by which it was opened: it imports `dladdr`, `dladdr1`, `dlinfo`, or other libraries'
    /// wrappers for them.
    pub asks_own_path: bool,
    /// It is a program: `ET_EXEC`, or `DF_1_PIE` of `DT_FLAGS_1`.
    pub is_program: bool,
    /// It has `DT_FILTER` or `DT_AUXILIARY`: the loader loads more than `DT_NEEDED`.
    pub filters: bool,
}

/// The loader's file access, and the other properties that a plan needs.
pub trait Files: FileSystem {
    /// The properties of the file at a path.
    ///
    /// # Errors
    /// A system error, or `InvalidData` if it is not an ELF file.
    fn details(&self, path: &Path) -> io::Result<Details>;

    /// The entries of a directory, in order; none if it cannot be read.
    fn names_in(&self, directory: &Path) -> Vec<OsString>;

    /// BLAKE3 of the file's content in hexadecimal.
    ///
    /// # Errors
    /// A system error.
    fn content_hash(&self, path: &Path) -> io::Result<String>;

    /// The first directory, from `directory` (or its first existing parent) up to the root, that users other than
    /// root can change: not owned by root, or writable by its group or others.
    ///
    /// # Errors
    /// A system error.
    fn changeable_by_others(&self, directory: &Path) -> io::Result<Option<PathBuf>>;
}
