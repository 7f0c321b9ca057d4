//! The contents of a file's note.

use std::path::Path;

use coldstart_loader::nix_note::{NixEntry, NixPlace};
use coldstart_profile::pattern::fits;
use coldstart_profile::{JsonPath, printable};
use serde::Serialize;

use super::{Noted, path, place_text};
use crate::error::{AppError, HintExt};
use crate::text::harmless;

/// The note in a file, and the selected names.
#[derive(Debug, Serialize)]
pub struct ShownNote {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    format: &'static str,
    /// Whether it is in a `PT_NOTE` segment.
    pub is_loaded: bool,
    /// Number of all names.
    pub entry_count: usize,
    /// The selected names.
    pub entries: Vec<NameEntry>,
}

/// A name, and where the loader finds it.
#[derive(Debug, Serialize)]
pub struct NameEntry {
    /// The name.
    pub name: String,
    /// In the loader's search order.
    pub places: Vec<NamePlace>,
}

/// A path for a name.
#[derive(Debug, Serialize)]
pub struct NamePlace {
    /// `exact`: the file; `search`: a directory for the loader to search.
    kind: &'static str,
    #[serde(flatten)]
    path: JsonPath,
    /// As in the note, escaped.
    #[serde(skip)]
    pub text: String,
}

impl NameEntry {
    pub(super) fn new(entry: &NixEntry) -> Self {
        let place = |place: &NixPlace| {
            let (kind, bytes) = match place {
                NixPlace::Exact(file) => ("exact", file),
                NixPlace::Search(directory) => ("search", directory),
            };
            NamePlace { kind, path: JsonPath::new(path(bytes)), text: place_text(place) }
        };
        Self { name: harmless(&entry.needed), places: entry.places.iter().map(place).collect() }
    }
}

/// Reads the note in a file, and selects the names that match the pattern; `None` without a note.
///
/// # Errors
/// If the file is not an ELF file or cannot be read, or its note is damaged.
pub fn show(file: &Path, pattern: Option<&str>) -> Result<Option<ShownNote>, AppError> {
    let Noted { note, is_loaded, .. } = Noted::read(file)?;
    let note = note
        .map_err(|error| anyhow::anyhow!("the resolution note of `{}` is damaged: {error}", printable(file)))
        .hint(|| "remove it, then write another with `coldstart ldcache write --note`")?;
    let is_wanted = |entry: &&NixEntry| pattern.is_none_or(|pattern| fits(pattern.as_bytes(), &entry.needed));
    Ok(note.map(|note| ShownNote {
        action: "show",
        file: JsonPath::new(file),
        format: "resolution note",
        is_loaded,
        entry_count: note.entries.len(),
        entries: note.entries.iter().filter(is_wanted).map(NameEntry::new).collect(),
    }))
}
