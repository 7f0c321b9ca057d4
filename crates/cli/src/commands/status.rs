//! `coldstart status`: the edits by coldstart in a file, and the libraries of a bound program that have changed since.

use std::path::Path;

use coldstart_app::bind::caution_sentence;
use coldstart_app::status::{SCHEMA, Status, next_step, status};
use coldstart_bind::Change;
use coldstart_rewrite::{Identity, Pass, Refusal};

use crate::args::status::StatusArgs;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::{counted, escaped, fact, list, prose};
use crate::output::{self, json, note};

pub(super) fn run(args: &StatusArgs) -> Result<Exit, CliError> {
    let report = status(&args.files);
    let is_unchanged = |status: &Result<Status, CliError>| status.as_ref().map_or(true, Status::is_unchanged);
    let exit = if report.files.iter().all(|(_, status)| is_unchanged(status)) { Exit::Done } else { Exit::No };
    let mut complaints = Complaints::default();
    for (path, status) in &report.files {
        match status {
            Err(error) => complaints.tell(error),
            Ok(_) if args.json => {}
            Ok(status) => {
                output::print(&text(path, status))?;
                for caution in &status.cautions {
                    note(&caution_sentence(caution));
                }
            }
        }
    }
    if args.json {
        json::print(SCHEMA, &report)?;
    }
    Ok(complaints.finish().worse(exit))
}

fn text(path: &Path, status: &Status) -> String {
    let name = printable(path);
    let next = next_step(path, status);
    let Some(about) = &status.about else {
        let text = match &status.identity {
            Some(Identity::Changed { change }) => {
                format!("`{name}` was rewritten by coldstart and has changed since: {change}")
            }
            _ => format!("`{name}` was not edited by coldstart"),
        };
        return prose(&text, 0, 2) + &list("next", &next.unwrap_or_default());
    };
    let version = escaped(&about.coldstart);
    let edits: Vec<String> = about.edits.iter().map(|edit| escaped(edit)).collect();
    let edits = match (&status.binding, edits.as_slice()) {
        (Some(_), [only]) if only == "bind" => "bound".to_owned(),
        (Some(_), packed) if packed.iter().all(|edit| Pass::is_edit(edit)) => "bound, then packed".to_owned(),
        (Some(_), edits) => format!("bound, then edited ({})", edits.join(", ")),
        (None, [only]) if only == Pass::Relr.name() => "packed".to_owned(),
        (None, packed) if packed.iter().all(|edit| Pass::is_edit(edit)) => format!("packed ({})", packed.join(", ")),
        (None, edits) => format!("edited ({})", edits.join(", ")),
    };
    let mut text = prose(&format!("`{name}` was {edits} by version {version}"), 0, 2);
    let state = match &status.identity {
        Some(Identity::Changed { change }) => format!("changed after coldstart wrote it: {change}"),
        Some(Identity::Unrecorded) | None => Refusal::Unrecorded.to_string(),
        Some(Identity::Intact) => "unchanged since coldstart wrote it".to_owned(),
    };
    text.push_str(&fact("file", &escaped(&state)));
    if let Some(world) = &about.world {
        let programs: Vec<String> = world.programs.iter().map(|program| format!("`{}`", escaped(program))).collect();
        text.push_str(&fact("world", &format!("made for {} only", programs.join(", "))));
    }
    let Some(binding) = &status.binding else {
        return text + &list("next", &escaped(&next.unwrap_or_default()));
    };
    let libraries = counted(binding.libraries.len() as u64, "library");
    text.push_str(&fact("mode", &format!("{}, {libraries}", binding.mode.name())));
    if let Some(library) = &binding.audit {
        text.push_str(&fact("audit", &format!("`{}`", escaped(library))));
    }
    if let Some(farm) = &binding.farm {
        let links = counted(farm.links.len() as u64, "link");
        text.push_str(&fact("links", &format!("{links} in `{}`", escaped(&farm.text))));
    }
    if status.changes.is_empty() {
        text.push_str(&fact("changes", "none since it was bound"));
    }
    for change in &status.changes {
        text.push_str(&fact("changed", &changed(change)));
    }
    text + &list("next", &next.unwrap_or_default())
}

/// A change, as a clause.
pub(super) fn changed(change: &Change) -> String {
    let path = |path: &Path| printable(path);
    match change {
        Change::Gone { library, path: was, reason } => {
            format!("`{}` cannot be read at `{}`: {}", escaped(library), path(was), escaped(reason))
        }
        Change::Replaced { library, path: at } => {
            format!("`{}`: a different file is at `{}`", escaped(library), path(at))
        }
        Change::FoundElsewhere { library, level, was, now } => {
            let level = level.as_ref().map(|level| format!(" at processor level {}", escaped(level)));
            format!(
                "`{}` would now be found at `{}`{} instead of `{}`",
                escaped(library),
                path(now),
                level.unwrap_or_default(),
                path(was)
            )
        }
        Change::OtherNames { now, was } => {
            let name = |name: &Option<String>| {
                name.as_ref().map_or("nothing".to_owned(), |name| format!("`{}`", escaped(name)))
            };
            format!("the original would load {} instead of {}", name(now), name(was))
        }
        Change::CannotBeBound { reason } => format!("the original can no longer be bound: {}", escaped(reason)),
        Change::FarmGone { directory } => format!("the link directory `{}` is missing", path(directory)),
        Change::LinkGone { path: link } => format!("the link `{}` is missing", path(link)),
        Change::LinkLeadsElsewhere { path: link, target: Some(target) } => {
            format!("the link `{}` now points to `{}`", path(link), path(target))
        }
        Change::LinkLeadsElsewhere { path: link, target: None } => format!("`{}` is no longer a link", path(link)),
        Change::AuditLibraryGone { path: library, reason } => {
            format!("cannot read the audit library `{}`: {}", path(library), escaped(reason))
        }
        Change::AuditLibraryReplaced { path: library, by_coldstart: true } => {
            format!("the audit library `{}` has a table for another program", path(library))
        }
        Change::AuditLibraryReplaced { path: library, by_coldstart: false } => format!(
            "the audit library `{}` was not written by `bind`, and its code runs in the program before all other code",
            path(library)
        ),
        Change::AuditLibraryUnrecorded { path: library } => {
            format!("the content of `{}` is not recorded in the note and cannot be checked", path(library))
        }
        Change::ProgramEdited => "its list of libraries or its search path was edited by another tool".to_owned(),
    }
}
