//! What a proof says: what was compared, or the first thing that differs.

use std::fmt;

use serde::Serialize;

/// What was compared, and found to be the same to a dynamic loader.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proof {
    /// Load biases at which relative relocations were applied to both files.
    pub load_biases: Vec<u64>,
    /// Bytes of memory, from the file or filled with zeros, that hold the same at each of these biases.
    pub memory_bytes: u64,
    /// Bytes of memory that only hold tables of the loader, headers, or nothing: compared by what they mean.
    pub table_bytes: u64,
    /// Relative relocations that the original applies, from all its tables.
    pub relative_relocations: u64,
    /// Those of them that are RELR in the output.
    pub relr_relocations: u64,
    /// Other relocations that are the same, in the same order.
    pub other_relocations: u64,
    /// Entries of the dynamic table of the original, without the `DT_NULL` at its end.
    pub dynamic_entries: u64,
    /// Entries that only one of the files has, and that change nothing, by name.
    pub redundant_entries: Vec<String>,
    /// Whether the dynamic table has moved out of the memory that loaders make read-only after relocation
    /// (`PT_GNU_RELRO`). It is the same to them, but stays writable.
    pub dynamic_left_relro: bool,
    /// Dynamic symbols that are the same.
    pub symbols: u64,
    /// Defined dynamic symbols that were looked up by name in the hash tables of both files.
    pub lookups: u64,
    /// Versions that are needed from other objects, in the original.
    pub needed_versions: u64,
    /// Section headers that are the same, or have moved with their table.
    pub sections: u64,
    /// Names of sections that have another place or size.
    pub moved_sections: Vec<String>,
    /// Notes that are the same.
    pub notes: u64,
    /// Entries of the unwind table's index.
    pub unwind_entries: u64,
    /// Bytes that no loader maps, in sections or between them, that are the same.
    pub unloaded_bytes: u64,
    /// By how many bytes the file got shorter; negative when it grew.
    pub bytes_freed: i64,
}

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The file as it was.
    Original,
    /// The file that was made from it.
    Output,
}

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Original => "original",
            Self::Output => "output",
        })
    }
}

/// Why two files are not proven to be the same object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotProven {
    /// A file is no ELF file, or a table of it cannot be read.
    #[error("the {which} cannot be read: {cause}")]
    Unreadable {
        /// Which of the files.
        which: Which,
        /// What is wrong with it.
        cause: String,
    },
    /// Something breaks a rule of loaders by itself.
    #[error("in the {which}, {what} breaks a rule at {place}: {problem}")]
    Broken {
        /// Which of the files.
        which: Which,
        /// What kind of thing, one of a fixed set of names.
        what: &'static str,
        /// An address, file offset or entry.
        place: String,
        /// The rule.
        problem: String,
    },
    /// Something is not the same.
    #[error("{what} differs at {place}: {original} in the original, {output} in the output")]
    Differs {
        /// What kind of thing, one of a fixed set of names.
        what: &'static str,
        /// An address, file offset or entry.
        place: String,
        /// What the original has there.
        original: String,
        /// What the output has there.
        output: String,
    },
}

impl NotProven {
    /// What kind of thing is wrong, by the same names as in the message; `file` when it cannot be read at all.
    pub fn what(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "file",
            Self::Broken { what, .. } | Self::Differs { what, .. } => what,
        }
    }
}

pub(crate) fn unreadable(which: Which, cause: impl fmt::Display) -> NotProven {
    NotProven::Unreadable { which, cause: cause.to_string() }
}

pub(crate) fn broken(
    which: Which,
    what: &'static str,
    place: impl fmt::Display,
    problem: impl fmt::Display,
) -> NotProven {
    NotProven::Broken { which, what, place: place.to_string(), problem: problem.to_string() }
}

pub(crate) fn differs(
    what: &'static str,
    place: impl fmt::Display,
    original: impl fmt::Display,
    output: impl fmt::Display,
) -> NotProven {
    let [place, original, output] = [place.to_string(), original.to_string(), output.to_string()];
    NotProven::Differs { what, place, original, output }
}

/// Requires that two numbers are the same.
pub(crate) fn same(
    what: &'static str,
    place: impl fmt::Display,
    original: impl Into<u64>,
    output: impl Into<u64>,
) -> Result<(), NotProven> {
    let (original, output) = (original.into(), output.into());
    if original == output { Ok(()) } else { Err(differs(what, place, hex(original), hex(output))) }
}

/// Requires that two tables hold the same, and says where they do not.
pub(crate) fn same_bytes(what: &'static str, original: &[u8], output: &[u8]) -> Result<(), NotProven> {
    if original == output {
        return Ok(());
    }
    if original.len() != output.len() {
        return same(what, "its size", original.len() as u64, output.len() as u64);
    }
    let at = original.iter().zip(output).position(|(from, to)| from != to).unwrap_or(0);
    let byte = |bytes: &[u8]| bytes.get(at).map_or_else(String::new, |byte| hex(u64::from(*byte)));
    Err(differs(what, format!("byte {at:#x} of it"), byte(original), byte(output)))
}

/// A number as addresses are written.
pub(crate) fn hex(number: u64) -> String {
    format!("{number:#x}")
}
