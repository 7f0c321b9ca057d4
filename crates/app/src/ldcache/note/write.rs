//! Adding resolution notes to objects, and removing them.

use std::path::PathBuf;

use coldstart_launch::Interrupt;
use coldstart_loader::nix_note::NixEntry;
use coldstart_profile::{JsonPath, printable};
use coldstart_prove::Proof;
use coldstart_rewrite::{Allowed, Replacement, SearchSummary};
use coldstart_startup::Files;
use serde::{Serialize, Serializer};

use super::one::{Done, Noter};
use super::{EDIT, NameEntry};
use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::observer::Observer;
use crate::restoring::{self, Beside, Taking, restore};
use crate::rewriting::{Destination, Outcome, PlaceOptions, Refused, Rule, StepSeconds, Task, Worked, link_warnings};
use crate::starting::open_root;

/// The verb in hints.
pub const VERB: &str = "ldcache write --note";
/// The name and version of the JSON schema for writing notes.
pub const SCHEMA: &str = "coldstart.ldcache-note/1";
/// Removing the note.
const TAKING: Taking = Taking {
    verb: "ldcache write --note --remove",
    edit: EDIT,
    was: "given a note",
    doing: "that",
    schema: "coldstart.ldcache-note-removed/1",
};

/// The files to get a note, and the output.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The programs and libraries.
    pub files: Vec<PathBuf>,
    /// Where results go.
    pub place: PlaceOptions,
    /// The root of absolute paths.
    pub sysroot: Option<PathBuf>,
    /// Whether to write to set-ID programs and programs with capabilities.
    pub allow_set_id: bool,
    /// Whether to write to signed files, which invalidates their signature.
    pub allow_signed: bool,
}

/// The results of all files. It is serialised with a record for each.
#[derive(Debug)]
pub struct Report {
    /// Each processed file, in argument order.
    pub done: Vec<(Task, Worked<Done>)>,
    /// The output.
    pub place: Destination,
    /// Files not started because of a signal.
    pub not_begun: u64,
}

/// Adds to each file a note with its own search. The result of each file, errors included, is in the report.
///
/// # Errors
/// If no output is given, a result would replace a file that must not be replaced, or the sysroot cannot be used. Nothing is
/// written in this case.
pub fn write(options: &Options, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Report, AppError> {
    if let Some(directory) = options.files.iter().find(|file| file.is_dir()) {
        return Err(anyhow::anyhow!("`{}` is a directory", printable(directory)))
            .hint(|| "name the programs and libraries; each gets its own note");
    }
    let place = Destination::of(VERB, &options.place, &options.files, false)?;
    let tasks: Vec<Task> = options.files.iter().map(|file| Task::named(file)).collect();
    let rule = Rule::new(kinds::NOTED, options.place.force, &tasks);
    place.check(VERB, &tasks, &rule)?;
    let noter = Noter {
        files: Files::new(open_root(options.sysroot.as_deref(), observer)?, None),
        allowed: Allowed {
            set_id: options.allow_set_id,
            signed: options.allow_signed,
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
    Ok(Report { done, place: noter.place, not_begun })
}

/// Removes the notes: restores the original files, byte for byte.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn remove(
    options: &restoring::Options,
    interrupt: &Interrupt,
    observer: &dyn Observer,
) -> Result<restoring::Report, AppError> {
    restore(TAKING, options, interrupt, observer, Beside::NOTHING)
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
    entries: Option<Vec<NameEntry>>,
    summary: Option<&'a SearchSummary>,
    proof: Option<&'a Proof>,
    seconds: StepSeconds,
    warnings: Vec<String>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            action: &'static str,
            files: Vec<Record<'a>>,
        }
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        Body { action: "write", files }.serialize(serializer)
    }
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let replacement = replacement(worked);
    let entries = worked.done().map(|done| match done {
        Done::Written(written) => written.note.entries.as_slice(),
        Done::Current(note) => note.entries.as_slice(),
    });
    let to_json = |entries: &[NixEntry]| entries.iter().map(NameEntry::new).collect();
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

/// Warnings about a file in addition to its result.
pub fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match replacement(worked) {
        Some(replacement) => link_warnings(task, worked.link_to.as_deref(), replacement),
        None => Vec::new(),
    }
}
