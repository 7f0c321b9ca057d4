//! What the note in a file says.

use coldstart_loader::nix_note::{NixEntry, NixNote, NixPlace};
use coldstart_profile::pattern::fits;
use serde::Serialize;

use super::super::{SCHEMA, path, shown};
use super::{Noted, places_text};
use crate::args::ldcache::ShowArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::table::{Align, Table};
use crate::output::text::{counted, cut, plain};
use crate::output::{self, json};

/// Columns of a name; longer ones lose their middle.
const NAME_COLUMNS: usize = 40;

#[derive(Serialize)]
struct Shown {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    format: &'static str,
    /// Whether a `PT_NOTE` segment leads to it.
    is_loaded: bool,
    /// Number of names, those that were not asked for included.
    entry_count: usize,
    entries: Vec<ShownEntry>,
}

#[derive(Serialize)]
pub(super) struct ShownEntry {
    name: String,
    places: Vec<ShownPlace>,
}

#[derive(Serialize)]
struct ShownPlace {
    /// `exact`: the file is there; `search`: the loader is to look in the folder.
    kind: &'static str,
    #[serde(flatten)]
    path: JsonPath,
}

pub(in super::super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    if args.ldconfig {
        return Err(anyhow::anyhow!("`{}` is an ELF file, of which ldconfig shows nothing", printable(&args.file)))
            .hint(|| "leave --ldconfig out to see the resolution note in it");
    }
    let noted = Noted::read(&args.file)?;
    let name = printable(&args.file);
    let note = noted
        .note
        .map_err(|error| anyhow::anyhow!("the resolution note of `{name}` is damaged: {error}"))
        .hint(|| "`coldstart ldcache write --note` writes another, once this one is taken out")?;
    let Some(note) = note else {
        output::note(&format!("`{name}` has no resolution note"));
        output::hint("`coldstart ldcache write --note FILE -o OUT` writes one");
        return Ok(Exit::No);
    };
    let wanted = |entry: &&NixEntry| args.name.as_ref().is_none_or(|name| fits(name.as_bytes(), &entry.needed));
    let entries: Vec<&NixEntry> = note.entries.iter().filter(wanted).collect();
    if args.json {
        let shown = Shown {
            action: "show",
            file: JsonPath::new(&args.file),
            format: "resolution note",
            is_loaded: noted.is_loaded,
            entry_count: note.entries.len(),
            entries: entries.iter().map(|entry| entry_to_json(entry)).collect(),
        };
        json::print(SCHEMA, &shown)?;
    } else {
        output::print(&to_text(&name, &note, noted.is_loaded, &entries))?;
    }
    Ok(if entries.is_empty() && args.name.is_some() { Exit::No } else { Exit::Done })
}

/// An entry for scripts.
pub(super) fn entry_to_json(entry: &NixEntry) -> ShownEntry {
    let place = |place: &NixPlace| match place {
        NixPlace::Exact(file) => ShownPlace { kind: "exact", path: JsonPath::new(path(file)) },
        NixPlace::Search(folder) => ShownPlace { kind: "search", path: JsonPath::new(path(folder)) },
    };
    ShownEntry { name: shown(&entry.needed), places: entry.places.iter().map(place).collect() }
}

fn to_text(name: &str, note: &NixNote, is_loaded: bool, entries: &[&NixEntry]) -> String {
    let mut table = Table::new(&[("name", Align::Left), ("places", Align::Left)]);
    for entry in entries {
        table.row(vec![cut(&shown(&entry.needed), NAME_COLUMNS), String::new()]);
    }
    let places = |row: usize, room: usize| entries.get(row).map(|entry| cut(&places_text(&entry.places), room));
    table.fit_last_column(|row, room| places(row, room).unwrap_or_default());
    let count = note.entries.len();
    let shown_of = if entries.len() == count { String::new() } else { format!("{} of ", entries.len()) };
    let names = counted(count as u64, "name");
    let unloaded = if is_loaded { "" } else { ", which no loader finds: no PT_NOTE segment leads to it" };
    let heading = format!("{name}: resolution note with {shown_of}{names}{unloaded}\n");
    let rest = if entries.is_empty() { String::new() } else { format!("\n{}", table.render()) };
    plain(&format!("{heading}{rest}"))
}
