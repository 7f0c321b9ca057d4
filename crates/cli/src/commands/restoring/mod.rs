//! What `unpack` and `unbind` share: restore what was there before an edit, byte for byte.

mod report;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_rewrite::{OriginalFile, Refusal, Replacement, plan_unpack};

use super::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Task, Unproven, Worked, Writing, complain, finish, gather,
    over_tasks, shrank, write,
};
use crate::args::rewriting::{ManyArgs, PlaceArgs};
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, note};
use report::Report;

/// Which edit is taken back, and by which verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking {
    /// `unpack`.
    pub(super) verb: &'static str,
    /// The edit's name in our note.
    pub(super) edit: &'static str,
    /// What the file was before: "packed".
    pub(super) was: &'static str,
    /// What was done to it: "packing".
    pub(super) doing: &'static str,
    /// The schema of `--json`.
    pub(super) schema: &'static str,
}

/// What is left to do when a file has been put in place, by its new path; answers what to tell the user.
pub(super) type Afterwards<'a> = &'a (dyn Fn(&Task, &ElfFile<'_>) -> Vec<String> + Sync);

/// What was typed.
pub(super) struct Restoring<'a> {
    pub(super) targets: &'a [std::path::PathBuf],
    pub(super) place: &'a PlaceArgs,
    pub(super) many: &'a ManyArgs,
}

/// What came of a file that could be unpacked.
enum Done {
    Restored(Box<Restored>),
    /// It holds no note of ours, in a directory.
    NotOurs,
}

/// A file that was restored.
struct Restored {
    /// With the digest of the restored file (BLAKE3, hexadecimal), as the note has it and as it was compared.
    replacement: Replacement<String>,
    size_before: u64,
    /// The version that packed it.
    packed_by: String,
    /// Names of the edits that were taken back.
    edits: Vec<String>,
    /// What became of what belonged to it.
    notes: Vec<String>,
}

/// Takes an edit back in all files that were named or lie in directories that were.
pub(super) fn restore(taking: Taking, args: &Restoring<'_>, afterwards: Afterwards<'_>) -> Result<Exit, CliError> {
    let place = Destination::of(taking.verb, args.place, args.targets, false)?;
    let interrupt = Interrupt::listen()?;
    let mut complaints = Complaints::default();
    let results: Vec<_> = place.directory().into_iter().collect();
    let gathered = gather(args.targets, args.many.one_file_system, &results, &interrupt, &mut complaints);
    place.check(taking.verb, &gathered.tasks)?;
    let is_one = !gathered.has_walked && args.targets.len() == 1;
    let passage = over_tasks(gathered.tasks, &interrupt, |task| {
        Worked::on(task, |edited, planning| one(taking, task, edited, &place, planning, afterwards))
    });
    let report = Report::new(taking, passage);
    if args.many.json {
        report.print_json()?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if is_one => output::print(&report::one(taking, task, worked, &place))?,
            [] if complaints.count() > 0 => {}
            _ => output::print(&report::many(&report, args.many.all))?,
        }
        for (task, worked) in &report.done {
            for warning in report::warnings(task, worked) {
                note(&warning);
            }
        }
    }
    let not_begun = report.total.not_begun;
    let refused = complain(taking.verb, report.done, is_one && !args.many.json, &mut complaints);
    Ok(finish(complaints, refused, &interrupt, not_begun))
}

fn one(
    taking: Taking,
    task: &Task,
    edited: &OriginalFile,
    place: &Destination,
    planning: &mut Planning,
    afterwards: Afterwards<'_>,
) -> Result<Outcome<Done>, CliError> {
    let view = edited.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
    let file = ElfFile::parse(view.bytes());
    let plan = file.as_ref().map_err(|error| Refusal::from(error.clone())).and_then(plan_unpack);
    planning.ends();
    let plan = match plan {
        _ if view.shrank() => return Err(shrank(&task.path)),
        Ok(plan) if plan.about.edits.last().is_some_and(|edit| edit != taking.edit) => {
            // In a directory, it is not meant.
            if !task.is_named {
                return Ok(Outcome::Done(Done::NotOurs));
            }
            return Ok(Outcome::Refused(other_edit(plan.about.edits.last().map_or("", String::as_str))));
        }
        Ok(plan) => plan,
        Err(Refusal::NotOurs) if !task.is_named => return Ok(Outcome::Done(Done::NotOurs)),
        Err(refusal) => return Ok(Outcome::Refused(refusal.into())),
    };
    let writing = Writing { task, original: edited, view: &view, content: None, place, keep_original: None };
    let written = write(&writing, &plan.script, |restored| match plan.check(restored) {
        Ok(restored) => Ok(restored.blake3),
        Err(source) => Err(Unproven::NotRestored { path: task.path.clone(), source }),
    });
    let replacement = match written {
        Ok(replacement) => replacement,
        // The file was changed since: an answer, not a fault.
        Err(NotWritten::Unproven(Unproven::NotRestored { source, .. })) => return Ok(Outcome::Refused(source.into())),
        Err(error) => return Err(error.into()),
    };
    Ok(Outcome::Done(Done::Restored(Box::new(Restored {
        replacement,
        size_before: edited.facts().size,
        packed_by: plan.about.coldstart,
        edits: plan.about.edits,
        // What belongs to the file is taken away only where the file itself was replaced.
        notes: match (place, file) {
            (Destination::InPlace, Ok(file)) => afterwards(task, &file),
            _ => Vec::new(),
        },
    }))))
}

/// The last edit in the file is not the one that shall be taken back.
fn other_edit(last: &str) -> Refused {
    Refused { code: "other-edit", reason: format!("the last edit in it is `{last}`"), hint: taken_back_by(last) }
}

/// The advice to take an edit of ours back before anything else, by its name in our note.
pub(super) fn taken_back_by(edit: &str) -> Option<String> {
    let verb = match edit {
        "bind" => "unbind",
        "relr" => "unpack",
        "nix-note" => "ldcache write --note FILE --remove --in-place",
        _ => return None,
    };
    Some(format!("`coldstart {verb}` takes that back first"))
}
