//! Why a zip file cannot be read, or is not put into another order.

use thiserror::Error;

/// Why a zip file is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ZipError {
    /// No end record.
    #[error("not a zip file: no end record in its last 64 KiB")]
    NotZip,
    /// Bytes behind the end record.
    #[error("{count} bytes follow the end record at offset {at:#x}")]
    TrailingBytes {
        /// Offset of the end record.
        at: usize,
        /// How many.
        count: usize,
    },
    /// Several files.
    #[error("it is one of several volumes")]
    Volumes,
    /// The end record names a place without a central directory.
    #[error("no central directory at offset {at:#x}, which the end record at {end:#x} names")]
    NoDirectory {
        /// Named offset.
        at: u64,
        /// Offset of the end record.
        end: usize,
    },
    /// Two records contradict one another.
    #[error("the end records at {at:#x} contradict one another")]
    Contradiction {
        /// Offset of the end record.
        at: usize,
    },
    /// A header in the central directory is damaged.
    #[error("entry {number} of the central directory (offset {at:#x}) is damaged")]
    DamagedDirectory {
        /// Its number from 0.
        number: u64,
        /// Its offset.
        at: usize,
    },
    /// A local header does not fit its entry.
    #[error("the local header of `{name}` at offset {at:#x} does not fit the central directory")]
    DamagedEntry {
        /// The entry, escaped.
        name: String,
        /// Where its local header should be.
        at: u64,
    },
    /// Two entries share bytes.
    #[error("`{name}` at offset {at:#x} overlaps what follows it")]
    Overlap {
        /// The entry, escaped.
        name: String,
        /// Its offset.
        at: usize,
    },
    /// Bytes that belong to no entry.
    #[error("{count} bytes at offset {at:#x} belong to no entry")]
    Stray {
        /// Offset.
        at: usize,
        /// How many.
        count: usize,
    },
    /// The directory itself is encrypted.
    #[error("its central directory is encrypted")]
    EncryptedDirectory,
    /// A signature covers it.
    #[error("it is signed: {what}")]
    Signed {
        /// What signs it: a clause.
        what: String,
    },
    /// What Firefox cannot read.
    #[error("the layout of Mozilla cannot hold it: {what}")]
    NotForMozilla {
        /// A clause.
        what: String,
    },
    /// An offset beyond 64 bits, or a header that has no room.
    #[error("`{name}` cannot be moved: its header has no room for its new offset")]
    NoRoom {
        /// The entry, escaped.
        name: String,
    },
}

impl ZipError {
    /// Advice.
    pub fn hint(&self) -> Option<String> {
        Some(
            match self {
                Self::NotZip => "name a zip file, a jar, or a zipapp",
                Self::TrailingBytes { .. } | Self::Stray { .. } | Self::NoDirectory { .. } => {
                    "rewrite the archive with `zip -F`, and record a trace with that"
                }
                Self::Volumes => "join the volumes with `zip -s 0 IN --out OUT`",
                Self::Contradiction { .. }
                | Self::DamagedDirectory { .. }
                | Self::DamagedEntry { .. }
                | Self::Overlap { .. } => "look at it with `unzip -tv`; the archive is damaged, or made to deceive",
                Self::EncryptedDirectory => "decrypt it first",
                Self::Signed { .. } => "put the unsigned archive into order, and sign the result",
                Self::NotForMozilla { .. } => "use `--layout plain`",
                Self::NoRoom { .. } => "make the archive anew with its entries in the order of `coldstart order files`",
            }
            .to_owned(),
        )
    }
}

coldstart_hint::hinted!(ZipError);

/// How a rewritten archive differs from the original.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SameError {
    /// Another number of entries.
    #[error("{before} entries became {after}")]
    Count {
        /// Before.
        before: usize,
        /// After.
        after: usize,
    },
    /// An entry changed.
    #[error("`{name}` differs in its {part}")]
    Entry {
        /// The entry, escaped.
        name: String,
        /// What differs.
        part: &'static str,
    },
    /// Something around the entries changed.
    #[error("the {0} differs")]
    Around(&'static str),
}
