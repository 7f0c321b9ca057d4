//! Why a file, or a table in it, cannot be read: what, where, and how it differs from what it should be.

use crate::address::{FileOffset, Vaddr};
use crate::kind::FileKind;

/// What is wrong with a file or one of its tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Not an ELF file at all.
    #[error("it is no ELF file: {0}")]
    NotElf(FileKind),
    /// An ELF file of a class, byte order or version that the specification does not have.
    #[error("the ELF header has {field} {value} at file offset {offset}, which the format does not define")]
    Header {
        /// Which field of the header.
        field: &'static str,
        /// What stands there.
        value: u64,
        /// Where it stands.
        offset: FileOffset,
    },
    /// A table reaches past the end of the file.
    #[error("{table} ({needed} bytes at file offset {offset}) reaches past the end of the file ({available} bytes)")]
    OutOfFile {
        /// Which table.
        table: &'static str,
        /// Where it begins.
        offset: FileOffset,
        /// Its size in bytes, as the file states it.
        needed: u64,
        /// Size of the file in bytes.
        available: u64,
    },
    /// A table lies where no segment has bytes from the file.
    #[error("{table} ({needed} bytes at address {address}) is not within the file part of one segment")]
    Unmapped {
        /// Which table.
        table: &'static str,
        /// The address that the file gives for it.
        address: Vaddr,
        /// Its size in bytes, as the file states it.
        needed: u64,
    },
    /// A table that contradicts itself or the format.
    #[error("{table} at file offset {offset}: {problem}")]
    Malformed {
        /// Which table.
        table: &'static str,
        /// Where the contradiction stands.
        offset: FileOffset,
        /// What is wrong.
        problem: &'static str,
    },
}

/// The result of reading something from an ELF file.
pub type Result<T> = std::result::Result<T, ElfError>;
