//! What `unpack` and `unbind` share: restore what was there before an edit, byte for byte.

mod report;

use std::path::Path;

use anyhow::Context;
use coldstart_app::kinds;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_rewrite::{About, Change, ChangedFile, OriginalFile, Payload, Refusal, Replacement, plan_unpack};

use super::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Rule, Task, Unproven, Worked, Writing, complain, finish,
    gather, over_tasks, shrank, write,
};
use crate::args::rewriting::{ChangedArgs, ManyArgs, PlaceArgs};
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::text::escaped;
use crate::output::{self, command, note};
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
    pub(super) changed: &'a ChangedArgs,
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
    /// What was appended to it, and is kept.
    payload: Option<Payload>,
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
    let rule = Rule::new(kinds::RESTORED, args.place.force, &gathered.tasks);
    place.check(taking.verb, &gathered.tasks, &rule)?;
    let is_one = !gathered.has_walked && args.targets.len() == 1;
    let changed = match args.changed {
        ChangedArgs { keep_payload: true, .. } => ChangedFile::KeepPayload,
        ChangedArgs { discard_changes: true, .. } => ChangedFile::Discard,
        _ => ChangedFile::Refuse,
    };
    let restorer = Restorer { taking, changed, place: &place, rule: &rule, afterwards };
    let passage = over_tasks(gathered.tasks, &interrupt, |task| {
        Worked::on(task, |edited, planning| restorer.restore(task, edited, planning))
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

/// How to restore a file, and where to.
struct Restorer<'a> {
    taking: Taking,
    changed: ChangedFile,
    place: &'a Destination,
    rule: &'a Rule,
    afterwards: Afterwards<'a>,
}

impl Restorer<'_> {
    fn restore(&self, task: &Task, edited: &OriginalFile, planning: &mut Planning) -> Result<Outcome<Done>, CliError> {
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
        let written = write(&writing, &plan.script, |restored| match plan.check(restored) {
            Ok(restored) => Ok(restored.blake3),
            Err(source) => Err(Unproven::NotRestored { path: task.path.clone(), source }),
        });
        let replacement = match written {
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

/// The advice for a file that was changed after we had written it, by the name of the edit made last. The commands in it can be
/// pasted.
pub(super) fn way_out(path: &Path, change: &Change, edit: Option<&str>) -> String {
    let verb = match edit {
        Some("relr") => Some("unpack"),
        Some("bind") => Some("unbind"),
        _ => None,
    };
    let undo = |verb: &str, option: &str| command::of_ours_in_prose(&format!("{verb} --in-place {option}"), path);
    match (change, verb) {
        (Change::Appended { size_before, .. }, verb) => {
            let keep =
                verb.map(|verb| format!("`{}` keeps them behind the restored file; ", undo(verb, "--keep-payload")));
            let truncate = command::in_prose(&["truncate", "-s", &size_before.to_string()], path);
            format!("{}`{truncate}` takes the appended bytes away", keep.unwrap_or_default())
        }
        (Change::Edited { .. }, Some(verb)) => {
            format!("`{}` restores the original without what was changed, if it can", undo(verb, "--discard-changes"))
        }
        _ => Refusal::ChangedSince(change.clone()).hint().unwrap_or_default(),
    }
}

/// The last edit in the file is not the one that shall be taken back.
pub(super) fn other_edit(last: &str) -> Refused {
    let reason = match last {
        "bind" => "the last edit in it is a binding".to_owned(),
        "relr" => "the last edit in it is packing".to_owned(),
        "nix-note" => "the last edit in it is a resolution note for Nix's loader".to_owned(),
        last => format!("the last edit in it is `{}`", escaped(last)),
    };
    Refused { code: "other-edit", reason, hint: taken_back_by(last) }
}

/// The advice to take an edit of ours back before anything else, by its name in our note.
pub(super) fn taken_back_by(edit: &str) -> Option<String> {
    let verb = match edit {
        "bind" => "unbind --in-place FILE",
        "relr" => "unpack --in-place FILE",
        "nix-note" => "ldcache write --note FILE --remove --in-place",
        _ => return None,
    };
    Some(format!("`coldstart {verb}` takes that back first"))
}
