//! The result of a proof: the comparison's figures, or the first difference.

use std::fmt;

use serde::Serialize;

/// The compared items, all the same to a dynamic loader.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Proof {
    /// Load biases at which relative relocations were applied to both files.
    pub load_biases: Vec<u64>,
    /// Bytes of memory, from the file or zero-filled, that are the same at each of these biases.
    pub memory_bytes: u64,
    /// Bytes of memory with loader tables, headers or padding: compared by meaning.
    pub table_bytes: u64,
    /// Relative relocations of the original, from all its tables.
    pub relative_relocations: u64,
    /// Those that are RELR in the output.
    pub relr_relocations: u64,
    /// Other relocations that are the same and in the same order.
    pub other_relocations: u64,
    /// References with a symbol that are relative in the output: those to the original's own definitions, with the same address without a look-up,
    /// and those to pure virtual functions.
    pub bound_references: u64,
    /// Those among them that lead to a jump to `__cxa_pure_virtual`.
    pub pure_virtual_references: u64,
    /// Whether the output has a stub that relocates it.
    pub relocates_itself: bool,
    /// Entries of the original's dynamic table, without the final `DT_NULL`.
    pub dynamic_entries: u64,
    /// Redundant entries that only one of the files has, by name.
    pub redundant_entries: Vec<String>,
    /// Whether the dynamic table has moved out of the memory that is made read-only after relocation
    /// (`PT_GNU_RELRO`). To loaders it is the same, but it stays writable.
    pub dynamic_left_relro: bool,
    /// Compared dynamic symbols.
    pub symbols: u64,
    /// Defined dynamic symbols, each looked up by name in the hash tables of both files.
    pub lookups: u64,
    /// Versions needed from other objects, in the original.
    pub needed_versions: u64,
    /// Section headers that are the same, or have moved with their table.
    pub sections: u64,
    /// Names of sections with another address or size.
    pub moved_sections: Vec<String>,
    /// Compared notes.
    pub notes: u64,
    /// Entries of the unwind table's index.
    pub unwind_entries: u64,
    /// Unmapped bytes, in sections or between them, that are the same.
    pub unloaded_bytes: u64,
    /// Bytes by which the file became shorter; negative if it grew.
    pub bytes_freed: i64,
}

/// One of the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Which {
    /// The original file.
    Original,
    /// The rewritten file.
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
    /// A file is not an ELF file, or one of its tables cannot be read.
    #[error("the {which} cannot be read: {cause}")]
    Unreadable {
        /// The file.
        which: Which,
        /// The cause.
        cause: String,
    },
    /// One of the files breaks a rule of loaders.
    #[error("invalid {what} in the {which} at {place}: {problem}")]
    Broken {
        /// The file.
        which: Which,
        /// The kind of thing, from a fixed set of names.
        what: &'static str,
        /// An address, file offset or entry.
        place: String,
        /// The rule.
        problem: String,
    },
    /// A difference.
    #[error("{what} differs at {place}: {original} in the original, {output} in the output")]
    Differs {
        /// The kind of thing, from a fixed set of names.
        what: &'static str,
        /// An address, file offset or entry.
        place: String,
        /// The value in the original.
        original: String,
        /// The value in the output.
        output: String,
    },
}

impl NotProven {
    /// The kind of thing, with the names of the messages; `file` if a file cannot be read at all.
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

/// Requires that two tables have the same bytes, and reports the first difference.
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

/// A number in the format of addresses.
pub(crate) fn hex(number: u64) -> String {
    format!("{number:#x}")
}
