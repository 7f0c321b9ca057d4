//! The words and tables of `coldstart installed`.

use std::path::Path;

use coldstart_app::install::{
    FellBack, Health, InstallationReport, InstalledImage, InstalledIndex, Listing, RefreshOutcome, RepairOutcome,
    Repairs, UndoOutcome,
};
use coldstart_install::{FileState, Scope, Stored};
use coldstart_profile::shell_command;

use crate::output::path::printable;
use crate::output::size;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, cut_end, escaped, fact, list, number};

fn health(health: Health) -> &'static str {
    match health {
        Health::Fresh => "fresh",
        Health::Stale => "stale",
        Health::Broken => "broken",
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::System => "all users",
        Scope::User => "this user",
    }
}

pub(super) fn shown(path: &Stored) -> String {
    printable(path.path())
}

/// A row for each installation.
pub(super) fn table(listing: &Listing) -> String {
    if listing.installations.is_empty() {
        return "nothing is installed\n".to_owned();
    }
    let columns = ["name", "state", "for", "places", "next step"];
    let mut table = Table::new(&columns.map(|name| (name, Align::Left)));
    let mut steps = Vec::new();
    for report in &listing.installations {
        let places: Vec<String> = report.places.iter().map(|place| kind(&place.place)).collect();
        table.row(vec![
            shown(&report.name),
            health(report.health).to_owned(),
            scope(report.scope).to_owned(),
            places.join(", "),
            String::new(),
        ]);
        steps.push(escaped(report.next_step.as_deref().unwrap_or("-")));
    }
    table.fit_last_column(|row, room| steps.get(row).map(|step| cut_end(step, room)).unwrap_or_default());
    let mut text = table.render();
    for report in &listing.installations {
        if let Some(first) = report.reasons.first() {
            text.push_str(&list(&shown(&report.name), &escaped(first)));
        }
    }
    text
}

/// `unit` of `unit=a.service`.
fn kind(place: &Stored) -> String {
    let text = shown(place);
    text.split('=').next().unwrap_or_default().to_owned()
}

/// Everything about one installation.
pub(super) fn details(listing: &Listing) -> String {
    listing.installations.iter().map(one).collect()
}

fn one(report: &InstallationReport) -> String {
    let mut text = format!("{}: {}, for {}\n", shown(&report.name), health(report.health), scope(report.scope));
    if let Some(program) = &report.program {
        let words = std::iter::once(program).chain(&report.arguments).map(Stored::word);
        text.push_str(&list("program", &escaped(&shell_command(words))));
    }
    text.push_str(&fact("fixes", &escaped(&report.fixes.join(", "))));
    for place in &report.places {
        for (path, state) in &place.files {
            let state = match state {
                FileState::Ours => "",
                FileState::Before => " (not as installed)",
                FileState::Missing => " (gone)",
                FileState::Edited => " (edited)",
            };
            text.push_str(&list(&kind(&place.place), &format!("{}{state}", shown(path))));
        }
    }
    if let Some(image) = &report.image {
        text.push_str(&list("image", &format!("{}: {}", shown(&image.file), cost(image))));
    }
    if let Some(index) = &report.index {
        text.push_str(&list("index", &format!("{}: {}", shown(&index.directory), cost_of_index(index))));
    }
    for path in &report.replaced_files {
        text.push_str(&list("replaced", &shown(path)));
    }
    for reason in &report.reasons {
        text.push_str(&list("why", &escaped(reason)));
    }
    for file in report.stale_files.iter().take(10) {
        let package = file.package.as_ref().map(|package| format!(" ({})", escaped(&package.to_string())));
        let package = package.unwrap_or_default();
        text.push_str(&list("changed", &format!("{}: {}{package}", shown(&file.path), escaped(&file.reason))));
    }
    text + &list("next", &escaped(report.next_step.as_deref().unwrap_or_default()))
}

/// What an image costs.
pub(crate) fn cost(image: &InstalledImage) -> String {
    let (bytes, read, memory) = (image.bytes, image.read_bytes, image.memory_bytes);
    format!(
        "{} on the disk, of which a start reads {}; up to {} stay in memory while there is room",
        size::bytes(bytes),
        size::bytes(read),
        size::bytes(memory)
    )
}

/// What an index costs.
pub(crate) fn cost_of_index(index: &InstalledIndex) -> String {
    format!("for {}, {} on the disk", index.languages.join(" and "), size::bytes(index.bytes))
}

pub(super) fn refreshed(outcome: &RefreshOutcome) -> String {
    let mut text = String::new();
    let name = shown(&outcome.name);
    if outcome.replaced_files > 0 || !outcome.notes.is_empty() {
        let files = counted(outcome.replaced_files as u64, "changed file");
        text.push_str(&format!("{name} has {files}\n"));
        for note in &outcome.notes {
            text.push_str(&list("note", &escaped(note)));
        }
    }
    if let Some([before, after]) = outcome.index_calls {
        let (before, after) = (counted(before, "call"), number(after));
        text.push_str(&format!("made the index of {name} again: {before} by name in a plain start, {after} with it\n"));
    }
    if outcome.bytes > 0 {
        let read = size::bytes(outcome.bytes);
        text.push_str(&match outcome.image_bytes {
            None => format!("recorded {name} again: the plan reads {read}"),
            Some(bytes) => {
                format!("made the image of {name} again: {}, of which a start reads {read}", size::bytes(bytes))
            }
        });
        if outcome.predicted_start_seconds > 0.0 {
            text.push_str(&format!(", {:.3} s predicted for a cold start", outcome.predicted_start_seconds));
        }
        text.push('\n');
    }
    if outcome.places_written {
        text.push_str("its places were written again\n");
    }
    text + &commands(&outcome.afterwards)
}

pub(crate) fn undone(outcome: &UndoOutcome) -> String {
    let name = shown(&outcome.name);
    let mut text = match outcome.complete {
        true => format!("{name} is uninstalled\n"),
        false => format!("{name} is only partly uninstalled: edited files were kept, and may start it\n"),
    };
    for path in &outcome.restored {
        text.push_str(&list("undone", &shown(path)));
    }
    for path in &outcome.edited {
        text.push_str(&list("edited", &shown(path)));
    }
    for path in &outcome.foreign {
        text.push_str(&list("kept", &format!("{}, which is not ours any more", shown(path))));
    }
    if !outcome.complete {
        text.push_str(&list("next", "save the edits, then repeat the command with --force"));
    }
    text + &commands(&outcome.afterwards)
}

/// Nothing if nothing was done.
pub(super) fn fell_back(outcome: &FellBack) -> String {
    let line = |file: &Stored| list("original in place since an upgrade", &shown(file));
    let mut text: String = outcome.restored.iter().map(line).collect();
    if !outcome.restored.is_empty() {
        text.push_str("`coldstart installed` names the programs; `--refresh` changes the files again\n");
    }
    text
}

pub(super) fn repaired(outcome: &Repairs) -> String {
    let repairs = &outcome.repairs;
    if repairs.is_empty() && outcome.files.is_empty() {
        return "nothing to repair\n".to_owned();
    }
    let line = |repair: &RepairOutcome| {
        let name = shown(&repair.name);
        match (&repair.error, &repair.undone, repair.repaired) {
            (Some(error), _, _) => format!("{name}: cannot be repaired: {}\n", escaped(error)),
            (None, Some(undone), "rolled-back") => {
                format!("{name}: its interrupted installation was undone\n{}", self::undone(undone))
            }
            (None, Some(undone), _) => {
                format!("{name}: its interrupted removal was completed\n{}", self::undone(undone))
            }
            (None, None, "mounted") => format!("{name}: its image is mounted again\n"),
            (None, None, "whole") => format!("{name}: is complete, nothing to repair\n"),
            (None, None, _) => format!("{name}: what was left of it was removed\n"),
        }
    };
    let files = outcome.files.iter().map(|file| list("repaired", &shown(file)));
    repairs.iter().map(line).chain(files).collect()
}

/// Commands that the user has to run now.
pub(super) fn commands(commands: &[String]) -> String {
    commands.iter().map(|command| format!("run now: {}\n", printable(Path::new(command)))).collect()
}
