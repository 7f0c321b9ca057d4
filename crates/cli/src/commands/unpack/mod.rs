//! `coldstart unpack`: restore what was there before packing, byte for byte.

mod report;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_rewrite::{OriginalFile, Refusal, Replacement, plan_unpack};

use super::rewriting::{
    Destination, NotWritten, Outcome, Planning, Task, Unproven, Worked, Writing, complain, finish, gather, over_tasks,
    shrank, write,
};
use crate::args::unpack::UnpackArgs;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, note};
use report::Report;

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
}

pub(super) fn run(args: &UnpackArgs) -> Result<Exit, CliError> {
    let place = Destination::of("unpack", &args.place, &args.targets, false)?;
    let interrupt = Interrupt::listen()?;
    let mut complaints = Complaints::default();
    let results: Vec<_> = place.directory().into_iter().collect();
    let gathered = gather(&args.targets, args.many.one_file_system, &results, &interrupt, &mut complaints);
    place.check("unpack", &gathered.tasks)?;
    let is_one = !gathered.has_walked && args.targets.len() == 1;
    let passage = over_tasks(gathered.tasks, &interrupt, |task| {
        Worked::on(task, |packed, planning| unpack(task, packed, &place, planning))
    });
    let report = Report::new(passage);
    if args.many.json {
        report.print_json()?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if is_one => output::print(&report::one(task, worked, &place))?,
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
    let refused = complain("unpack", report.done, is_one && !args.many.json, &mut complaints);
    Ok(finish(complaints, refused, &interrupt, not_begun))
}

fn unpack(
    task: &Task,
    packed: &OriginalFile,
    place: &Destination,
    planning: &mut Planning,
) -> Result<Outcome<Done>, CliError> {
    let view = packed.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
    let plan = ElfFile::parse(view.bytes()).map_err(Refusal::from).and_then(|file| plan_unpack(&file));
    planning.ends();
    let plan = match plan {
        _ if view.shrank() => return Err(shrank(&task.path)),
        Ok(plan) => plan,
        Err(Refusal::NotOurs) if !task.is_named => return Ok(Outcome::Done(Done::NotOurs)),
        Err(refusal) => return Ok(Outcome::Refused(refusal.into())),
    };
    let writing = Writing { task, original: packed, view: &view, place, keep_original: None };
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
        size_before: packed.facts().size,
        packed_by: plan.about.coldstart,
        edits: plan.about.edits,
    }))))
}
