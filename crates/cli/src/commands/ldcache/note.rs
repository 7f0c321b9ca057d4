//! `coldstart ldcache` on ELF files: writing, showing and removing notes.

use coldstart_app::ldcache::SCHEMA as SHOW_SCHEMA;
use coldstart_app::ldcache::note::{self, Done, NameEntry, Options, SCHEMA, ShownNote, VERB, remove, warnings};
use coldstart_app::restoring;
use coldstart_app::rewriting::{Destination, PlaceOptions, Task, Worked};
use coldstart_launch::Interrupt;
use coldstart_rewrite::ChangedFile;

use super::{NAME_COLUMNS, shown_of};
use crate::args::ldcache::{ShowArgs, WriteArgs};
use crate::args::rewriting::ManyArgs;
use crate::commands::observer::{Console, Terminal};
use crate::commands::restoring::run as run_restoring;
use crate::commands::rewriting::{finish, into_words, proof_words};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, cut, fact, plain, prose, size};
use crate::output::{self, json};

pub(super) fn show(args: &ShowArgs) -> Result<Exit, CliError> {
    let name = printable(&args.file);
    if args.ldconfig {
        return Err(anyhow::anyhow!("`{name}` is an ELF file, not a loader cache"))
            .hint(|| "omit --ldconfig to see its resolution note");
    }
    let Some(shown) = note::show(&args.file, args.name.as_deref())? else {
        output::note(&format!("`{name}` has no resolution note"));
        output::hint("write one with `coldstart ldcache write --note FILE -o OUT`");
        return Ok(Exit::No);
    };
    if args.json {
        json::print(SHOW_SCHEMA, &shown)?;
    } else {
        output::print(&in_words(&name, &shown))?;
    }
    Ok(if shown.entries.is_empty() && args.name.is_some() { Exit::No } else { Exit::Done })
}

fn in_words(name: &str, shown: &ShownNote) -> String {
    let entries = &shown.entries;
    let mut table = Table::new(&[("name", Align::Left), ("paths", Align::Left)]);
    for entry in entries {
        table.row(vec![cut(&entry.name, NAME_COLUMNS), String::new()]);
    }
    let places = |entry: &NameEntry| entry.places.iter().map(|place| place.text.as_str()).collect::<Vec<_>>().join(":");
    table.fit_last_column(|row, room| entries.get(row).map(|entry| cut(&places(entry), room)).unwrap_or_default());
    let (shown_of, names) = (shown_of(entries.len(), shown.entry_count), counted(shown.entry_count as u64, "name"));
    let unloaded = if shown.is_loaded { "" } else { " (outside every PT_NOTE segment, so loaders do not find it)" };
    let heading = format!("{name}: resolution note with {shown_of}{names}{unloaded}\n");
    let rest = if entries.is_empty() { String::new() } else { format!("\n{}", table.render()) };
    plain(&format!("{heading}{rest}"))
}

pub(super) fn write(args: &WriteArgs) -> Result<Exit, CliError> {
    let place = PlaceOptions { output: args.output.clone(), force: args.force.force, in_place: args.in_place };
    if args.remove {
        let many = ManyArgs { one_file_system: false, all: false, json: args.json };
        let (targets, changed) = (args.note.clone(), ChangedFile::Refuse);
        let options = restoring::Options { targets, one_file_system: false, place, changed };
        return run_restoring(&options, &many, |options, interrupt, console| remove(options, interrupt, console));
    }
    let interrupt = Interrupt::listen()?;
    let options = Options {
        files: args.note.clone(),
        place,
        sysroot: args.sysroot.clone(),
        allow_set_id: args.allow_setuid,
        allow_signed: args.allow_signed,
    };
    let report = note::write(&options, &interrupt, &Terminal)?;
    if args.json {
        json::print(SCHEMA, &report)?;
    } else {
        let texts = report.done.iter().map(|(task, worked)| text(task, worked, &report.place));
        output::print(&texts.collect::<String>())?;
        let warnings = report.done.iter().flat_map(|(task, worked)| warnings(task, worked));
        warnings.for_each(|warning| output::note(&warning));
    }
    Ok(finish("write a note into", report.done, !args.json, Console::default(), &interrupt, report.not_begun))
}

fn text(task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    match worked.done() {
        None => String::new(),
        Some(Done::Current(_)) => {
            prose(&format!("`{}` already has this note; nothing was written", printable(&task.path)), 0, 2)
        }
        Some(Done::Written(written)) => {
            let names = counted(written.note.entries.len() as u64, "name");
            let shown = printable(&written.replacement.path);
            let mut text =
                prose(&format!("note of {names} {}", into_words(place, task, &written.replacement.path)), 0, 2);
            let (before, after) = (size(written.summary.size_before), size(written.summary.size_after));
            text.push_str(&fact("file", &format!("{before} before, {after} with the note")));
            text.push_str(&fact("proof", &proof_words(&written.replacement.proof)));
            let undo = format!("`coldstart {VERB} {shown} --remove --in-place` restores the original");
            text.push_str(&fact("undo", &undo));
            text
        }
    }
}
