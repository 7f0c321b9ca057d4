//! Errors in building and reading the library's table.

use coldstart_elf::ElfError;

/// Why a library cannot be built from a table.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The loader would expand the path, or it does not fit its kind.
    #[error("the audit library cannot answer with the path `{}`: {reason}", String::from_utf8_lossy(path))]
    Path {
        /// The path.
        path: Vec<u8>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An empty name, or one with a zero byte, which no program can request.
    #[error("`{}` is not a valid library name", String::from_utf8_lossy(name))]
    Name {
        /// The name.
        name: Vec<u8>,
    },
    /// A requester in two groups.
    #[error("`{}` is in more than one group of the audit library's table", String::from_utf8_lossy(path))]
    TwoGroups {
        /// The requester's path; empty for the program.
        path: Vec<u8>,
    },
    /// A format limit is exceeded.
    #[error("too many {what} for the audit library's table (limit {limit})")]
    TooLarge {
        /// The items.
        what: &'static str,
        /// Their limit.
        limit: u32,
    },
    /// The library built into coldstart is damaged.
    #[error("the built-in audit library for {architecture} is damaged: {reason}")]
    Template {
        /// Its architecture.
        architecture: &'static str,
        /// The reason.
        reason: &'static str,
    },
}

/// Why no table can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not an ELF file, or a malformed one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// Another ELF file, or one whose sections were removed.
    #[error("not a coldstart audit library: no section .coldstart with a table")]
    NotOurs,
    /// The table itself is damaged, or of another version.
    #[error("the audit library's table is damaged: {what} (byte {offset:#x} of the table)")]
    Damaged {
        /// The reason.
        what: &'static str,
        /// Offset in the table, in bytes.
        offset: u64,
    },
}
