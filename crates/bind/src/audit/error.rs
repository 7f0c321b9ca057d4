//! Why a table cannot become a library, and why none can be read from a file.

use coldstart_elf::ElfError;

/// Why a table cannot become a library.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The loader would replace what follows the dollar, or the path does not fit its kind of place.
    #[error("the audit library cannot answer with the path `{}`: {reason}", String::from_utf8_lossy(path))]
    Path {
        /// The path.
        path: Vec<u8>,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An empty name, or one with a zero byte, which nobody can ask for.
    #[error("`{}` is no name that a program could ask for", String::from_utf8_lossy(name))]
    Name {
        /// The name.
        name: Vec<u8>,
    },
    /// One requester, two groups.
    #[error("`{}` is in two groups of the audit library's table", String::from_utf8_lossy(path))]
    TwoGroups {
        /// The requester's path; empty for the program.
        path: Vec<u8>,
    },
    /// More than the format has room for.
    #[error("the audit library's table has no room for {what}: {limit} at most")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// The format's limit.
        limit: u32,
    },
    /// The built library that is part of coldstart is not as it should be.
    #[error("the built-in audit library for {architecture} is damaged: {reason}")]
    Template {
        /// Its machine.
        architecture: &'static str,
        /// What is not as it should be.
        reason: &'static str,
    },
}

/// Why no table can be read from a file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is no ELF file, or a broken one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// It is another ELF file, or one whose sections were dropped.
    #[error("this is not an audit library of coldstart's: there is no section .coldstart with a table")]
    NotOurs,
    /// The table itself is damaged, or not of this version.
    #[error("the audit library's table is damaged: {what} (byte {offset:#x} of the table)")]
    Damaged {
        /// What is not as it should be.
        what: &'static str,
        /// Where, in bytes from the table's start.
        offset: u64,
    },
}
