//! What `unpack` and `unbind` share: restore what was there before an edit, byte for byte.

mod advice;
mod report;

use std::path::PathBuf;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_rewrite::{
    About, ChangedFile, OriginalFile, Payload, Refusal, Replacement, Restored as Original, plan_unpack,
};

use crate::error::AppError;
use crate::kinds;
use crate::observer::Observer;
use crate::rewriting::{
    Destination, NotWritten, Outcome, PlaceOptions, Planning, Refused, Rule, Task, Unproven, Worked, Writing, gather,
    over_tasks, shrank, write_restored,
};

pub use advice::{other_edit, taken_back_by, way_out};
pub use report::{Report, Total, warnings};

/// Which edit is taken back, and by which verb.
#[derive(Clone, Copy, Debug)]
pub struct Taking {
    /// `unpack`.
    pub verb: &'static str,
    /// The edit's name in our note.
    pub edit: &'static str,
    /// What the file was before: "packed".
    pub was: &'static str,
    /// What was done to it: "packing".
    pub doing: &'static str,
    /// The name and version of the JSON schema.
    pub schema: &'static str,
}

/// What is left to do when a file has been put in place; answers what to tell the user.
pub type Afterwards<'a> = &'a (dyn Fn(&Task, &ElfFile<'_>) -> Vec<String> + Sync);

/// What shall be restored, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Files, and directories to walk.
    pub targets: Vec<PathBuf>,
    /// Whether walks stay in the file system of their root.
    pub one_file_system: bool,
    /// Where results go.
    pub place: PlaceOptions,
    /// What becomes of a file that was changed after it had been rewritten.
    pub changed: ChangedFile,
}

/// What came of a file that could be restored.
#[derive(Debug)]
pub enum Done {
    /// It was restored.
    Restored(Box<Restored>),
    /// It holds no note of ours, in a directory.
    NotOurs,
}

/// A file that was restored.
#[derive(Debug)]
pub struct Restored {
    /// With the digest of the restored file (BLAKE3, hexadecimal), as the note has it and as it was compared.
    pub replacement: Replacement<Original>,
    /// Size of the rewritten file in bytes.
    pub size_before: u64,
    /// The version that packed it.
    pub packed_by: String,
    /// Names of the edits that were taken back.
    pub edits: Vec<String>,
    /// What was appended to it, and is kept.
    pub payload: Option<Payload>,
    /// What became of what belonged to it.
    pub notes: Vec<String>,
}

/// Takes an edit back in all files that were named or lie in directories that were.
///
/// # Errors
/// If no output is given, or a result would replace a file that must not be replaced. Nothing is written in this case.
pub fn restore(
    taking: Taking,
    options: &Options,
    interrupt: &Interrupt,
    observer: &dyn Observer,
    afterwards: Afterwards<'_>,
) -> Result<Report, AppError> {
    let targets = options.targets.as_slice();
    let place = Destination::of(taking.verb, &options.place, targets, false)?;
    let results: Vec<_> = place.directory().into_iter().collect();
    let gathered = gather(targets, options.one_file_system, &results, interrupt, observer);
    let rule = Rule::new(kinds::RESTORED, options.place.force, &gathered.tasks);
    place.check(taking.verb, &gathered.tasks, &rule)?;
    let is_one = !gathered.has_walked && targets.len() == 1;
    let restorer = Restorer { taking, changed: options.changed, place: &place, rule: &rule, afterwards };
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
    afterwards: Afterwards<'a>,
}

impl Restorer<'_> {
    fn restore(&self, task: &Task, edited: &OriginalFile, planning: &mut Planning) -> Result<Outcome<Done>, AppError> {
        let view = edited.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let parsed = ElfFile::parse(view.bytes()).map_err(Refusal::from);
        let last = parsed.as_ref().ok().and_then(About::read).and_then(|about| about.edits.last().cloned());
        let other = last.filter(|last| last != self.taking.edit);
        let plan = match (&other, &parsed) {
            (Some(_), _) => Err(Refusal::NotOurs),
            (None, Err(refusal)) => Err(refusal.clone()),
            (None, Ok(file)) => plan_unpack(file, self.changed),
        };
        planning.ends();
        let plan = match (plan, other) {
            _ if view.shrank() => return Err(shrank(&task.path)),
            (Ok(plan), _) => plan,
            // In a directory, it is not meant.
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
            // What was changed cannot be told from what was there: an answer, not a fault.
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
            // What belongs to the file is taken away only where the file itself was replaced.
            notes: match (self.place, parsed) {
                (Destination::InPlace, Ok(file)) => (self.afterwards)(task, &file),
                _ => Vec::new(),
            },
        }))))
    }

    fn refused(&self, task: &Task, refusal: Refusal) -> Refused {
        let hint = match &refusal {
            Refusal::ChangedSince(change) => Some(way_out(&task.path, change, Some(self.taking.edit))),
            other => other.hint(),
        };
        Refused { hint, ..Refused::from(refusal) }
    }
}
