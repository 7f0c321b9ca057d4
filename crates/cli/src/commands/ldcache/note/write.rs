//! `coldstart ldcache write --note`: put an object's search into the object itself, or take it out again.

use coldstart_app::kinds;
use coldstart_app::restoring::{self, Taking, restore};
use coldstart_app::rewriting::{
    Destination, Outcome, PlaceOptions, Refused, Rule, StepSeconds, Task, Worked, link_warnings,
};
use coldstart_launch::Interrupt;
use coldstart_loader::nix_note::NixEntry;
use coldstart_prove::Proof;
use coldstart_rewrite::{Allowed, ChangedFile, Replacement, SearchSummary};
use coldstart_startup::Files;
use serde::Serialize;

use super::EDIT;
use super::one::{Done, Noter};
use super::show::{ShownEntry, entry_to_json};
use crate::args::ldcache::WriteArgs;
use crate::args::rewriting::ManyArgs;
use crate::commands::observer::Console;
use crate::commands::observer::Terminal;
use crate::commands::restoring::run as run_restoring;
use crate::commands::rewriting::{finish, into_words, proof_words};
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{counted, fact, prose, size};
use crate::output::{self, json, note};
use coldstart_app::starting::open_root;

/// What is said of the verb in advice.
const VERB: &str = "ldcache write --note";
/// The schema of `--json` when notes are written.
const SCHEMA: &str = "coldstart.ldcache-note/1";
/// Taking the note out again.
const TAKING: Taking = Taking {
    verb: "ldcache write --note --remove",
    edit: EDIT,
    was: "given a note",
    doing: "that",
    schema: "coldstart.ldcache-note-removed/1",
};

pub(in super::super) fn run(args: &WriteArgs) -> Result<Exit, CliError> {
    let place = PlaceOptions { output: args.output.clone(), force: args.force.force, in_place: args.in_place };
    if args.remove {
        let many = ManyArgs { one_file_system: false, all: false, json: args.json };
        let options = restoring::Options {
            targets: args.note.clone(),
            one_file_system: false,
            place,
            changed: ChangedFile::Refuse,
        };
        return run_restoring(&options, &many, |options, interrupt, console| {
            restore(TAKING, options, interrupt, console, &|_, _| Vec::new())
        });
    }
    if let Some(directory) = args.note.iter().find(|file| file.is_dir()) {
        return Err(anyhow::anyhow!("`{}` is a directory", printable(directory)))
            .hint(|| "name the programs and libraries; each gets a note of its own");
    }
    let place = Destination::of(VERB, &place, &args.note, false)?;
    let interrupt = Interrupt::listen()?;
    let tasks: Vec<Task> = args.note.iter().map(|file| Task::named(file)).collect();
    let rule = Rule::new(kinds::NOTED, args.force.force, &tasks);
    place.check(VERB, &tasks, &rule)?;
    let noter = Noter {
        files: Files::new(open_root(args.sysroot.as_deref(), &Terminal)?, None),
        allowed: Allowed {
            set_id: args.allow_setuid,
            signed: args.allow_signed,
            frozen: place != Destination::InPlace,
        },
        place,
        rule,
    };
    let (mut done, mut not_begun) = (Vec::new(), 0);
    for task in tasks {
        if interrupt.signal().is_some() {
            not_begun += 1;
            continue;
        }
        let worked = noter.write(&task);
        done.push((task, worked));
    }
    if args.json {
        print_json(&done)?;
    } else {
        output::print(&done.iter().map(|(task, worked)| text(task, worked, &noter.place)).collect::<String>())?;
        done.iter().flat_map(|(task, worked)| warnings(task, worked)).for_each(|warning| note(&warning));
    }
    Ok(finish("write a note into", done, !args.json, Console::default(), &interrupt, not_begun))
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    path: JsonPath,
    output: Option<JsonPath>,
    /// `written`, `current`, `refused`, `failed`.
    outcome: &'static str,
    refusal: Option<&'a Refused>,
    error: Option<String>,
    entries: Option<Vec<ShownEntry>>,
    summary: Option<&'a SearchSummary>,
    proof: Option<&'a Proof>,
    seconds: StepSeconds,
    warnings: Vec<String>,
}

fn print_json(done: &[(Task, Worked<Done>)]) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Body<'a> {
        action: &'static str,
        files: Vec<Record<'a>>,
    }
    let files = done.iter().map(|(task, worked)| record(task, worked)).collect();
    json::print(SCHEMA, &Body { action: "write", files })
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let replacement = replacement(worked);
    let entries = worked.done().map(|done| match done {
        Done::Written(written) => written.note.entries.as_slice(),
        Done::Current(note) => note.entries.as_slice(),
    });
    let to_json = |entries: &[NixEntry]| entries.iter().map(entry_to_json).collect();
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| JsonPath::new(&replacement.path)),
        outcome: match &worked.outcome {
            Outcome::Done(Done::Written(_)) => "written",
            Outcome::Done(Done::Current(_)) => "current",
            Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        refusal: worked.refused(),
        error: worked.error(),
        entries: entries.map(to_json),
        summary: match worked.done() {
            Some(Done::Written(written)) => Some(&written.summary),
            _ => None,
        },
        proof: replacement.map(|replacement| &replacement.proof),
        seconds: StepSeconds::of(worked.plan_seconds, replacement),
        warnings: warnings(task, worked),
    }
}

fn replacement(worked: &Worked<Done>) -> Option<&Replacement<Proof>> {
    match worked.done()? {
        Done::Written(written) => Some(&written.replacement),
        Done::Current(_) => None,
    }
}

fn text(task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    match worked.done() {
        None => String::new(),
        Some(Done::Current(_)) => {
            prose(&format!("`{}` has this note already; nothing was written", printable(&task.path)), 0, 2)
        }
        Some(Done::Written(written)) => {
            let names = counted(written.note.entries.len() as u64, "name");
            let shown = printable(&written.replacement.path);
            let mut text =
                prose(&format!("note of {names} {}", into_words(place, task, &written.replacement.path)), 0, 2);
            let (before, after) = (size(written.summary.size_before), size(written.summary.size_after));
            text.push_str(&fact("file", &format!("{before} before, {after} with the note")));
            text.push_str(&fact("proof", &proof_words(&written.replacement.proof)));
            let undo = format!("`coldstart {VERB} {shown} --remove --in-place` restores what was there");
            text.push_str(&fact("undo", &undo));
            text
        }
    }
}

fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match replacement(worked) {
        Some(replacement) => link_warnings(task, worked.link_to.as_deref(), replacement),
        None => Vec::new(),
    }
}
