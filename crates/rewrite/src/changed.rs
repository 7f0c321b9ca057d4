//! How a file differs from what was written.

use serde::Serialize;

/// How a file was changed since we wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// Bytes were appended; all before them is unchanged.
    #[serde(rename_all = "snake_case")]
    Appended {
        /// Their number.
        bytes: u64,
        /// Size of the file when it was written.
        size_before: u64,
    },
    /// Bytes are missing at the end.
    Cut {
        /// Their number.
        bytes: u64,
    },
    /// Its content has changed.
    Edited {
        /// The changed parts; empty if unknown.
        parts: Vec<ChangedPart>,
    },
}

/// A changed part of a file.
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
    /// Removed entries of the dynamic table, not replaced by others.
    DynamicEntriesGone {
        /// Their number.
        count: u64,
    },
    /// The content of a section, or a new section.
    SectionContent {
        /// Its name.
        name: String,
    },
    /// The header of a section.
    SectionHeader {
        /// Its name.
        name: String,
    },
    /// Added sections.
    SectionsAdded {
        /// Their number.
        count: u64,
    },
    /// Removed sections.
    SectionsRemoved {
        /// Their number.
        count: u64,
    },
    /// Bytes outside sections.
    NoSection,
}
