//! Why a file, or a table in it, cannot be read.

use crate::address::{FileOffset, Vaddr};
use crate::kind::FileKind;

/// What is wrong with a file or one of its tables.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// Not an ELF file at all.
    #[error("not an ELF file: {0}")]
    NotElf(FileKind),
    /// An ELF header with an undefined class, byte order or version.
    #[error("the ELF header has {field} {value} at file offset {offset}, which the ELF specification does not define")]
    Header {
        /// The header field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// Its file offset.
        offset: FileOffset,
    },
    /// A table extends past the end of the file.
    #[error("{table} ({needed} bytes at file offset {offset}) extends past the end of the file ({available} bytes)")]
    OutOfFile {
        /// The table.
        table: &'static str,
        /// Its file offset.
        offset: FileOffset,
        /// Its size in bytes, as the file states it.
        needed: u64,
        /// Size of the file in bytes.
        available: u64,
    },
    /// No segment has file bytes at a table's address.
    #[error("{table} ({needed} bytes at address {address}) is not within the file part of one segment")]
    Unmapped {
        /// The table.
        table: &'static str,
        /// Its address.
        address: Vaddr,
        /// Its size in bytes, as the file states it.
        needed: u64,
    },
    /// A table is malformed.
    #[error("{table} at file offset {offset}: {problem}")]
    Malformed {
        /// The table.
        table: &'static str,
        /// File offset of the malformed entry.
        offset: FileOffset,
        /// What is wrong.
        problem: &'static str,
    },
    /// Very many records refer to the same bytes of a string table.
    #[error("the names in the file overlap, and together are more than four times as long as the file")]
    OverlappingNames,
}

/// The result of reading something from an ELF file.
pub type Result<T> = std::result::Result<T, ElfError>;
