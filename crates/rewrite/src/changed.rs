//! How a file differs from what was written.

use serde::Serialize;

/// What was done to a file since we wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// Bytes were appended; all before them is as it was.
    #[serde(rename_all = "snake_case")]
    Appended {
        /// How many.
        bytes: u64,
        /// Size of the file as it was written.
        size_before: u64,
    },
    /// Bytes are missing at its end.
    Cut {
        /// How many.
        bytes: u64,
    },
    /// Something in it is different.
    Edited {
        /// What; nothing where it cannot be told.
        parts: Vec<ChangedPart>,
    },
}

/// A part of a file that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "part")]
pub enum ChangedPart {
    /// The ELF header.
    FileHeader,
    /// The program headers.
    ProgramHeaders,
    /// An entry of the dynamic table.
    DynamicEntry {
        /// Its tag.
        tag: String,
    },
    /// Entries of the dynamic table that are gone, and had no other put in their place.
    DynamicEntriesGone {
        /// How many.
        count: u64,
    },
    /// The content of a section, or a section that is new.
    SectionContent {
        /// Its name.
        name: String,
    },
    /// The header of a section.
    SectionHeader {
        /// Its name.
        name: String,
    },
    /// There are more sections.
    SectionsAdded {
        /// How many.
        count: u64,
    },
    /// There are fewer sections.
    SectionsRemoved {
        /// How many.
        count: u64,
    },
    /// Bytes that belong to no section.
    NoSection,
}
