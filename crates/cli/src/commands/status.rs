//! `coldstart status`: which edits of ours a file holds, and which libraries of a bound program have changed since.

use std::path::Path;

use anyhow::Context;
use coldstart_bind::{Binding, Change, MachineFiles};
use coldstart_elf::ElfFile;
use coldstart_rewrite::{About, binding_note};
use serde::Serialize;

use super::reading::map;
use super::rewriting::shrank;
use crate::args::status::StatusArgs;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{counted, escaped, fact, prose};
use crate::output::{self, json};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.status/1";

/// What was found out about a file.
#[derive(Serialize)]
struct Status {
    #[serde(flatten)]
    path: JsonPath,
    /// Null for a file that holds no edit of ours.
    #[serde(flatten)]
    about: Option<About>,
    binding: Option<Binding>,
    changes: Vec<Change>,
    error: Option<String>,
}

pub(super) fn run(args: &StatusArgs) -> Result<Exit, CliError> {
    let mut complaints = Complaints::default();
    let (mut found, mut exit) = (Vec::new(), Exit::Done);
    for path in &args.files {
        let status = match status(path) {
            Ok(status) => status,
            Err(error) => {
                let message = error.sentence();
                complaints.add(error);
                let path = JsonPath::new(path);
                found.push(Status { path, about: None, binding: None, changes: Vec::new(), error: Some(message) });
                continue;
            }
        };
        if status.about.is_none() || !status.changes.is_empty() {
            exit = Exit::No;
        }
        if !args.json {
            output::print(&text(path, &status))?;
        }
        found.push(status);
    }
    if args.json {
        #[derive(Serialize)]
        struct Body {
            files: Vec<Status>,
        }
        json::print(SCHEMA, &Body { files: found })?;
    }
    Ok(complaints.finish().worse(exit))
}

fn status(path: &Path) -> Result<Status, CliError> {
    let shown = || format!("cannot read `{}`", printable(path));
    let view = map(path).with_context(shown)?;
    let file = ElfFile::parse(view.bytes()).with_context(shown)?;
    let about = About::read(&file);
    let binding = about.as_ref().and_then(|_| binding_note(&file)).map(Binding::from_json).transpose();
    let binding = binding.with_context(shown)?;
    if view.shrank() {
        return Err(shrank(path));
    }
    let mut changes = Vec::new();
    if let Some(binding) = &binding {
        let files = MachineFiles::default();
        let real = path.canonicalize().with_context(shown)?;
        let environment = coldstart_bind::machine_environment(&real, &files, false);
        changes = coldstart_bind::status(binding, &real, &files, &environment).with_context(shown)?;
    }
    Ok(Status { path: JsonPath::new(path), about, binding, changes, error: None })
}

fn text(path: &Path, status: &Status) -> String {
    let name = printable(path);
    let Some(about) = &status.about else {
        return prose(&format!("`{name}` holds no edit of coldstart"), 0, 2);
    };
    let version = escaped(&about.coldstart);
    let edits: Vec<String> = about.edits.iter().map(|edit| escaped(edit)).collect();
    let edits = match (&status.binding, edits.as_slice()) {
        (Some(_), [only]) if only == "bind" => "bound".to_owned(),
        (Some(_), edits) => format!("bound, then edited ({})", edits.join(", ")),
        (None, [only]) if only == "relr" => "packed".to_owned(),
        (None, edits) => format!("edited ({})", edits.join(", ")),
    };
    let mut text = prose(&format!("`{name}` was {edits} by version {version}"), 0, 2);
    let Some(binding) = &status.binding else { return text };
    let mode = serde_json::to_string(&binding.mode).unwrap_or_default();
    let libraries = counted(binding.libraries.len() as u64, "library");
    text.push_str(&fact("mode", &format!("{}, {libraries}", mode.trim_matches('"'))));
    if let Some(farm) = &binding.farm {
        let links = counted(farm.links.len() as u64, "link");
        text.push_str(&fact("links", &format!("{links} in `{}`", escaped(&farm.text))));
    }
    if status.changes.is_empty() {
        text.push_str(&fact("changes", "none since it was bound"));
    }
    for change in &status.changes {
        text.push_str(&fact("changed", &words(change)));
    }
    if !status.changes.is_empty() {
        text.push_str(&fact(
            "next",
            &format!("`coldstart bind --rebind --in-place {name}` binds it to what is there now"),
        ));
    }
    text
}

fn words(change: &Change) -> String {
    let path = |path: &Path| printable(path);
    match change {
        Change::Gone { library, path: was, reason } => {
            format!("`{}` cannot be read at `{}`: {}", escaped(library), path(was), escaped(reason))
        }
        Change::Replaced { library, path: at } => {
            format!("`{}`: another file stands at `{}`", escaped(library), path(at))
        }
        Change::FoundElsewhere { library, level, was, now } => {
            let level = level.as_ref().map(|level| format!(" at processor level {}", escaped(level)));
            format!(
                "`{}` would be found at `{}` now{}, and was at `{}`",
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
            format!("the original would load {} where it loaded {}", name(now), name(was))
        }
        Change::CannotBeBound { reason } => format!("the original could not be bound now: {}", escaped(reason)),
        Change::FarmGone { directory } => format!("the folder of links `{}` is gone", path(directory)),
        Change::LinkGone { path: link } => format!("the link `{}` is gone", path(link)),
        Change::LinkLeadsElsewhere { path: link, target: Some(target) } => {
            format!("the link `{}` leads to `{}`", path(link), path(target))
        }
        Change::LinkLeadsElsewhere { path: link, target: None } => format!("`{}` is no link any more", path(link)),
        Change::ProgramEdited => "its list of libraries or its search path were edited by others".to_owned(),
    }
}
