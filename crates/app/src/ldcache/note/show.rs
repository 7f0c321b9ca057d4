//! What the note in a file says.

use std::path::Path;

use coldstart_loader::nix_note::{NixEntry, NixPlace};
use coldstart_profile::pattern::fits;
use coldstart_profile::{JsonPath, printable};
use serde::Serialize;

use super::{Noted, path, place_text};
use crate::error::{AppError, HintExt};
use crate::text::harmless;

/// The note in a file, and those of its names that were asked for.
#[derive(Debug, Serialize)]
pub struct ShownNote {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    format: &'static str,
    /// Whether a `PT_NOTE` segment leads to it.
    pub is_loaded: bool,
    /// Number of names, those that were not asked for included.
    pub entry_count: usize,
    /// The names that were asked for.
    pub entries: Vec<NameEntry>,
}

/// A name, and where the loader finds it.
#[derive(Debug, Serialize)]
pub struct NameEntry {
    /// The name.
    pub name: String,
    /// In the order in which the loader tries them.
    pub places: Vec<NamePlace>,
}

/// Where the loader finds a name.
#[derive(Debug, Serialize)]
pub struct NamePlace {
    /// `exact`: the file is there; `search`: the loader is to look in the directory.
    kind: &'static str,
    #[serde(flatten)]
    path: JsonPath,
    /// As it stands in the note, in harmless characters.
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

/// Reads the note in a file, and those of its names that fit the pattern; `None` where there is no note.
///
/// # Errors
/// When the file is no ELF file or cannot be read, or its note is damaged.
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
