//! What is to be known of files beyond what the loader asks.

mod machine;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_loader::FileSystem;

pub use machine::MachineFiles;

/// What is to be known of a library's or program's file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Size in bytes.
    pub size: u64,
    /// When its content last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// The build id's hexadecimal digits (`NT_GNU_BUILD_ID`).
    pub build_id: Option<String>,
    /// It may open libraries later: it imports `dlopen` or `dlmopen`.
    pub imports_dlopen: bool,
    /// It may ask for the path by which it was opened: it imports `dladdr`, `dladdr1`, `dlinfo`, or what other libraries
    /// offer in their place.
    pub asks_own_path: bool,
    /// It is a program: `ET_EXEC`, or `DF_1_PIE` of `DT_FLAGS_1`.
    pub is_program: bool,
    /// `DT_FILTER` or `DT_AUXILIARY` stands in it: the loader loads more than `DT_NEEDED` names.
    pub filters: bool,
}

/// The loader's questions, and what else a plan must know of files.
pub trait Files: FileSystem {
    /// What is to be known of the file at a path.
    ///
    /// # Errors
    /// The system's answer, or `InvalidData` when it is no ELF file.
    fn details(&self, path: &Path) -> io::Result<Details>;

    /// Names of what stands in a directory, in order; none when it cannot be read.
    fn names_in(&self, directory: &Path) -> Vec<OsString>;

    /// BLAKE3 of the file's content in hexadecimal digits.
    ///
    /// # Errors
    /// The system's answer.
    fn content_hash(&self, path: &Path) -> io::Result<String>;

    /// The first directory, from `directory` (or the first above it that is there) up to the root, that somebody else than
    /// root could change: not owned by root, or writable by its group or others.
    ///
    /// # Errors
    /// The system's answer.
    fn changeable_by_others(&self, directory: &Path) -> io::Result<Option<PathBuf>>;
}
