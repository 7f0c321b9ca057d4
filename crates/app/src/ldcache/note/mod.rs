//! The resolution note of an ELF file: writing, showing, checking and removing it.
//!
//! It is a cache of one object's own search, for loaders that support it (Nix's patched glibc). Not obvious: other loaders
//! ignore it, like any unknown note.

mod check;
mod one;
mod show;
mod write;

use std::path::Path;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_loader::ObjectFacts;
use coldstart_loader::nix_note::{NixNote, NixNoteError, NixPlace, SECTION};
use coldstart_profile::printable;
use coldstart_startup::Files;
use coldstart_sys::file_view::FileView;

use super::path;
use crate::error::AppError;
use crate::reading::map;
use crate::rewriting::truncated_error;
use crate::text::harmless;

pub use check::check;
pub use one::{Done, Written};
pub use show::{NameEntry, NamePlace, ShownNote, show};
pub use write::{Options, Report, SCHEMA, VERB, remove, warnings, write};

/// The edit's name in coldstart's note.
const EDIT: &str = "nix-note";

/// The relevant content of a file.
struct Noted {
    facts: ObjectFacts,
    /// Its resolution note, if it has one.
    note: Result<Option<NixNote>, NixNoteError>,
    /// Whether the note is in a `PT_NOTE` segment, as loaders require.
    is_loaded: bool,
}

impl Noted {
    /// Reads a file.
    fn read(path: &Path) -> Result<Self, AppError> {
        let failed = || format!("cannot read `{}`", printable(path));
        let view: FileView = map(path).with_context(failed)?;
        let file = ElfFile::parse(view.bytes()).with_context(failed)?;
        let noted = Self::of(&file).with_context(failed);
        if view.shrank() {
            return Err(truncated_error(path));
        }
        Ok(noted?)
    }

    fn of(file: &ElfFile<'_>) -> Result<Self, coldstart_elf::ElfError> {
        let facts = ObjectFacts::of(file)?;
        Ok(Self { facts, note: NixNote::read(file), is_loaded: NixNote::is_loaded(file) })
    }
}

/// Whether a file has a section with this name, with any content.
fn has_section(file: &ElfFile<'_>) -> bool {
    file.sections().iter().any(|section| section.name == SECTION.as_bytes())
}

/// The result of a search now.
fn fresh(facts: &ObjectFacts, files: &Files) -> NixNote {
    NixNote::of(facts, files)
}

/// A path as in the note.
fn place_text(place: &NixPlace) -> String {
    match place {
        NixPlace::Exact(path) => format!("={}", harmless(path)),
        NixPlace::Search(directory) => format!("?{}", harmless(directory)),
    }
}

/// All paths of a name as in the note.
fn places_text(places: &[NixPlace]) -> String {
    places.iter().map(place_text).collect::<Vec<_>>().join(":")
}
