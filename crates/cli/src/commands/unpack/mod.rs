//! `coldstart unpack`: restore what was there before packing, byte for byte.

mod report;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_launch::Interrupt;
use coldstart_rewrite::{OriginalFile, Refusal, Replacement, plan_unpack};

use super::rewriting::{
    Destination, NotWritten, Refused, Task, Unproven, Writing, complain_refused, finish, gather, is_gone, over_tasks,
    shrank, write,
};
use crate::args::unpack::UnpackArgs;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::{self, note};
use report::Report;

/// What became of a file.
struct Worked {
    outcome: Outcome,
    /// Seconds it took to read the file and to decide.
    plan_seconds: f64,
    /// Where its path leads, if that is a symbolic link.
    link_to: Option<PathBuf>,
}

enum Outcome {
    Restored(Box<Restored>),
    /// It holds no note of ours, in a directory.
    NotOurs,
    Refused(Refused),
    Failed(CliError),
    /// It was there when the directory was read, and is not any more.
    Gone,
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
    let gathered = gather(&args.targets, args.one_file_system, &results, &interrupt, &mut complaints);
    place.check("unpack", &gathered.tasks)?;
    let is_one = !gathered.has_walked && args.targets.len() == 1;
    let passage = over_tasks(gathered.tasks, &interrupt, |task| unpack(task, &place));
    let report = Report::new(passage);
    if args.json {
        report.print_json()?;
    } else {
        match report.done.as_slice() {
            [(task, worked)] if is_one => output::print(&report::one(task, worked, &place))?,
            [] if complaints.count() > 0 => {}
            _ => output::print(&report::many(&report, args.all))?,
        }
        for (task, worked) in &report.done {
            for warning in report::warnings(task, worked) {
                note(&warning);
            }
        }
    }
    let not_begun = report.total.not_begun;
    let mut refused = Exit::Done;
    for (task, worked) in report.done {
        match worked.outcome {
            Outcome::Refused(reason) if task.is_named => {
                refused = Exit::No;
                if is_one && !args.json {
                    complain_refused("unpack", &task.path, &reason);
                }
            }
            Outcome::Failed(error) => complaints.add(error),
            _ => {}
        }
    }
    Ok(finish(complaints, refused, &interrupt, not_begun))
}

fn unpack(task: &Task, place: &Destination) -> Worked {
    let begin = Instant::now();
    let mut worked = Worked { outcome: Outcome::Gone, plan_seconds: 0.0, link_to: None };
    worked.outcome = match OriginalFile::open(&task.path) {
        Ok(packed) => {
            worked.link_to = packed.facts().is_symlink.then(|| packed.real_path().to_owned());
            work_on(task, &packed, place, begin, &mut worked.plan_seconds).unwrap_or_else(Outcome::Failed)
        }
        Err(_) if !task.is_named && is_gone(&task.path) => Outcome::Gone,
        Err(error) => Outcome::Failed(error.into()),
    };
    worked
}

fn work_on(
    task: &Task,
    packed: &OriginalFile,
    place: &Destination,
    begin: Instant,
    plan_seconds: &mut f64,
) -> Result<Outcome, CliError> {
    let view = packed.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
    let plan = ElfFile::parse(view.bytes()).map_err(Refusal::from).and_then(|file| plan_unpack(&file));
    *plan_seconds = begin.elapsed().as_secs_f64();
    let plan = match plan {
        _ if view.shrank() => return Err(shrank(&task.path)),
        Ok(plan) => plan,
        Err(Refusal::NotOurs) if !task.is_named => return Ok(Outcome::NotOurs),
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
    Ok(Outcome::Restored(Box::new(Restored {
        replacement,
        size_before: packed.facts().size,
        packed_by: plan.about.coldstart,
        edits: plan.about.edits,
    })))
}
