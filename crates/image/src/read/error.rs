//! Why an image cannot be read.

use std::io;

use crate::index::IndexError;

/// Why an image, or something in it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Not an EROFS image at all.
    #[error("not an EROFS image: no magic number at offset 1024")]
    NotErofs,
    /// An EROFS image that uses something we do not read.
    #[error("the image uses {what} ({value:#x} at offset {offset:#x}), which coldstart does not read")]
    Unsupported {
        /// The feature.
        what: &'static str,
        /// The field's value.
        value: u64,
        /// Where it is.
        offset: u64,
    },
    /// The superblock's checksum is wrong.
    #[error(
        "the image is damaged: its first block has checksum {found:#010x}, and its superblock says {expected:#010x}"
    )]
    Checksum {
        /// Computed.
        found: u32,
        /// Stored.
        expected: u32,
    },
    /// Something reaches beyond the image's end.
    #[error(
        "the image is damaged or cut: {what} ({needed} bytes at offset {offset:#x}) reaches beyond its end ({available} bytes)"
    )]
    OutOfImage {
        /// What it is.
        what: &'static str,
        /// Where it begins.
        offset: u64,
        /// Its size in bytes.
        needed: u64,
        /// Size of the image in bytes.
        available: u64,
    },
    /// Something is not as the format demands.
    #[error("the image is damaged: {what} at offset {offset:#x}: {problem}")]
    Malformed {
        /// What it is.
        what: &'static str,
        /// Where it is.
        offset: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The index of a start image.
    #[error("{0}")]
    Index(#[source] IndexError),
    /// The system's error.
    #[error("cannot read the image at offset {offset:#x}: {source}")]
    Io {
        /// Where.
        offset: u64,
        /// The error.
        source: io::Error,
    },
}

/// The result of reading something from an image.
pub type Result<T> = std::result::Result<T, ReadError>;

impl ReadError {
    pub(super) fn malformed(what: &'static str, offset: u64, problem: &'static str) -> Self {
        Self::Malformed { what, offset, problem }
    }

    /// Advice, if there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotErofs => Some("name an image that `coldstart image make` wrote"),
            Self::Unsupported { .. } => {
                Some("make the image without compression and with one device; mkfs.erofs does so without options")
            }
            Self::Checksum { .. } | Self::OutOfImage { .. } | Self::Malformed { .. } => {
                Some("make the image again with `coldstart image make`")
            }
            Self::Index(error) => error.hint(),
            Self::Io { .. } => None,
        }
    }
}

coldstart_hint::hinted!(ReadError);
