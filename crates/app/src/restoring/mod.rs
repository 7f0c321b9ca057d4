//! Shared by `unpack` and `unbind`: restore a file as it was before an edit, byte for byte.

mod advice;
mod report;

use std::path::PathBuf;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_rewrite::{
    About, ChangedFile, OriginalFile, Pass, Payload, Refusal, Replacement, Restored as Original, plan_unpack,
};

use crate::error::AppError;
use crate::kinds;
use crate::observer::Observer;
use crate::rewriting::{
    Destination, NotWritten, Outcome, PlaceOptions, Planning, Refused, Rule, Task, Unproven, Worked, Writing, gather,
    over_tasks, truncated_error, write_restored,
};

pub use advice::{changed_file_hint, other_edit, taken_back_by};
pub use report::{Report, Total, warnings};

/// The edit to undo, and the verb.
#[derive(Clone, Copy, Debug)]
pub struct Taking {
    /// `unpack`.
    pub verb: &'static str,
    /// The edit's name in the note.
    pub edit: &'static str,
    /// The participle of the edit: "packed".
    pub was: &'static str,
    /// The noun of the edit: "packing".
    pub doing: &'static str,
    /// The name and version of the JSON schema.
    pub schema: &'static str,
}

/// Work to do in place, on what belongs to a file.
#[derive(Clone, Copy)]
pub struct Beside<'a> {
    /// After a file was put in place; it gets the file as it was before.
    pub afterwards: &'a (dyn Fn(&Task, &ElfFile<'_>) -> Related + Sync),
    /// Where a file does not have the edit, for what an earlier run left.
    pub left: &'a (dyn Fn(&Task, &ElfFile<'_>) -> Related + Sync),
}

impl Beside<'_> {
    /// Nothing belongs to a file.
    pub const NOTHING: Self = Self { afterwards: &|_, _| Related::default(), left: &|_, _| Related::default() };
}

/// What became of the files that belong to one.
#[derive(Debug, Default)]
pub struct Related {
    /// What was done.
    pub notes: Vec<String>,
    /// What was kept with reason.
    pub kept: Vec<String>,
    /// What could not be removed, with the next step.
    pub failed: Vec<AppError>,
}

impl Related {
    fn is_empty(&self) -> bool {
        self.notes.is_empty() && self.kept.is_empty() && self.failed.is_empty()
    }
}

/// What to restore, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files, and directories to walk.
    pub targets: Vec<PathBuf>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
    /// Where results go.
    pub place: PlaceOptions,
    /// How to handle a file that was changed after it was rewritten.
    pub changed: ChangedFile,
}

/// The result for a restorable file.
#[derive(Debug)]
pub enum Done {
    /// It was restored.
    Restored(Box<Restored>),
    /// It does not have the edit, but files were there that an earlier run had left.
    Cleared(Related),
    /// A file in a directory without a coldstart note.
    NotOurs,
}

/// A restored file.
#[derive(Debug)]
pub struct Restored {
    /// The written file, with its verified digest (BLAKE3, hexadecimal).
    pub replacement: Replacement<Original>,
    /// Size of the rewritten file in bytes.
    pub size_before: u64,
    /// The version that packed it.
    pub packed_by: String,
    /// Names of the undone edits.
    pub edits: Vec<String>,
    /// The appended payload that is kept.
    pub payload: Option<Payload>,
    /// What became of related files.
    pub related: Related,
}

/// Undoes an edit in all given files and in the files below given directories.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn restore(
    taking: Taking,
    options: &Options,
    interrupt: &Interrupt,
    observer: &dyn Observer,
    beside: Beside<'_>,
) -> Result<Report, AppError> {
    let targets = options.targets.as_slice();
    let place = Destination::of(taking.verb, &options.place, targets, false)?;
    let results: Vec<_> = place.directory().into_iter().collect();
    let gathered = gather(targets, options.one_file_system, &results, interrupt, observer);
    let rule = Rule::new(kinds::RESTORED, options.place.force, &gathered.tasks);
    place.check(taking.verb, &gathered.tasks, &rule)?;
    let is_one = !gathered.has_walked && targets.len() == 1;
    let restorer = Restorer { taking, changed: options.changed, place: &place, rule: &rule, beside };
    let passage = over_tasks(gathered.tasks, interrupt, observer, |task| {
        Worked::on(task, |edited, planning| restorer.restore(task, edited, planning))
    });
    Ok(Report::new(taking, passage, is_one, place))
}

/// How to restore a file, and where to.
struct Restorer<'a> {
    taking: Taking,
    changed: ChangedFile,
    place: &'a Destination,
    rule: &'a Rule,
    beside: Beside<'a>,
}

impl Restorer<'_> {
    fn restore(&self, task: &Task, edited: &OriginalFile, planning: &mut Planning) -> Result<Outcome<Done>, AppError> {
        let view = edited.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let parsed = ElfFile::parse(view.bytes()).map_err(Refusal::from);
        let last = parsed.as_ref().ok().and_then(About::read).and_then(|about| about.edits.last().cloned());
        // All passes of packing are undone by one verb.
        let is_ours = |last: &str| last == self.taking.edit || Pass::is_edit(last) && Pass::is_edit(self.taking.edit);
        let other = last.filter(|last| !is_ours(last));
        let plan = match (&other, &parsed) {
            (Some(_), _) => Err(Refusal::NotOurs),
            (None, Err(refusal)) => Err(refusal.clone()),
            (None, Ok(file)) => plan_unpack(file, self.changed),
        };
        planning.ends();
        let plan = match (plan, other) {
            _ if view.shrank() => return Err(truncated_error(&task.path)),
            (Ok(plan), _) => plan,
            (Err(Refusal::NotOurs), _) if let Some(related) = self.left(task, parsed.as_ref().ok()) => {
                return Ok(Outcome::Done(Done::Cleared(related)));
            }
            // Files found in a directory may be other files.
            (Err(Refusal::NotOurs), _) if !task.is_named => return Ok(Outcome::Done(Done::NotOurs)),
            (Err(_), Some(last)) => return Ok(Outcome::Refused(other_edit(&last))),
            (Err(refusal), None) => return Ok(Outcome::Refused(self.refused(task, refusal))),
        };
        let writing = Writing {
            task,
            original: edited,
            view: &view,
            content: None,
            place: self.place,
            rule: self.rule,
            keep_original: None,
        };
        let replacement = match write_restored(&writing, &plan) {
            Ok(replacement) => replacement,
            // The change cannot be separated from the edit: a refusal, not an error.
            Err(NotWritten::Unproven(Unproven::NotRestored { source, .. })) => {
                return Ok(Outcome::Refused(self.refused(task, source)));
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Outcome::Done(Done::Restored(Box::new(Restored {
            replacement,
            size_before: edited.facts().size,
            packed_by: plan.about.coldstart,
            edits: plan.about.edits,
            payload: plan.payload,
            // Related files are removed only if the file itself was replaced.
            related: match (self.place, parsed) {
                (Destination::InPlace, Ok(file)) => (self.beside.afterwards)(task, &file),
                _ => Related::default(),
            },
        }))))
    }

    /// Clears away what an earlier run left, if anything.
    fn left(&self, task: &Task, file: Option<&ElfFile<'_>>) -> Option<Related> {
        let file = file.filter(|_| *self.place == Destination::InPlace)?;
        Some((self.beside.left)(task, file)).filter(|related| !related.is_empty())
    }

    fn refused(&self, task: &Task, refusal: Refusal) -> Refused {
        let hint = match &refusal {
            Refusal::ChangedSince(change) => Some(changed_file_hint(&task.path, change, Some(self.taking.edit))),
            other => other.hint(),
        };
        Refused { hint, ..Refused::from(refusal) }
    }
}
