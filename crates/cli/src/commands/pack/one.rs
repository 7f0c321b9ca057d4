//! The work on one file: plan, write, prove, put in place.

use std::ops::Range;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_rewrite::{
    Allowed, NothingToPack, OriginalFile, PackDecision, PackOptions, PackSummary, Proof, Refusal, Replacement, Script,
    Source,
};
use coldstart_sys::file_view::FileView;

use super::libc_here::LibcsHere;
use crate::commands::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Task, Unproven, Worked, Writing, proven, shrank, write,
};
use crate::error::CliError;
use crate::output::path::printable;

/// How to pack, and where to.
pub(super) struct Packer {
    pub(super) options: PackOptions,
    pub(super) allowed: Allowed,
    pub(super) place: Destination,
    /// The name for the only original, or a directory for several.
    pub(super) keep_original: Option<Destination>,
    /// Whether a file that cannot be packed any further is copied as it is.
    pub(super) copies_unchanged: bool,
    pub(super) libcs: LibcsHere,
}

/// What came of a file that could be packed.
pub(super) enum Done {
    /// A packed file was put in place.
    Packed(Box<(PackSummary, Replacement<Proof>)>),
    /// It would be packed; nothing was written.
    WouldPack(Box<PackSummary>),
    /// It is as good as it can be; copied if there had to be a result.
    Nothing(NothingToPack, Option<Box<Replacement<Proof>>>),
}

impl Packer {
    /// Packs a file.
    pub(super) fn pack(&self, task: &Task) -> Worked<Done> {
        Worked::on(task, |original, planning| self.work_on(task, original, planning))
    }

    fn work_on(
        &self,
        task: &Task,
        original: &OriginalFile,
        planning: &mut Planning,
    ) -> Result<Outcome<Done>, CliError> {
        let view = original.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let file = match ElfFile::parse(view.bytes()) {
            Ok(file) => file,
            Err(error) => return refused(task, &view, Refusal::from(error)),
        };
        let decision = coldstart_rewrite::plan_pack(&file, &self.options);
        planning.ends();
        let plan = match decision {
            Err(refusal) => return refused(task, &view, refusal),
            Ok(PackDecision::Nothing(nothing)) => {
                if view.shrank() {
                    return Err(shrank(&task.path));
                }
                let copied = if self.copies_unchanged && self.place.is_elsewhere() {
                    let script = Script::identity(file.encoding(), file.size());
                    let writing =
                        Writing { task, original, view: &view, content: None, place: &self.place, keep_original: None };
                    match write_or_refuse(&writing, &script)? {
                        Ok(copied) => Some(Box::new(copied)),
                        Err(refused) => return Ok(Outcome::Refused(refused)),
                    }
                } else {
                    None
                };
                return Ok(Outcome::Done(Done::Nothing(nothing, copied)));
            }
            Ok(PackDecision::Pack(plan)) => plan,
        };
        if let Some(refusal) = original.facts().refusal(&self.allowed) {
            return Ok(Outcome::Refused(refusal.into()));
        }
        if self.options.libc_floor.is_none()
            && let Some(refused) = self.libcs.refusal(&file)
        {
            return Ok(Outcome::Refused(refused));
        }
        if self.place == Destination::Nowhere {
            return if view.shrank() {
                Err(shrank(&task.path))
            } else {
                Ok(Outcome::Done(Done::WouldPack(Box::new(plan.summary))))
            };
        }
        let keep_original = self.keep_original.as_ref().and_then(|keep| keep.target(task));
        let writing = Writing { task, original, view: &view, content: None, place: &self.place, keep_original };
        Ok(match write_or_refuse(&writing, &plan.script)? {
            Ok(replacement) => Outcome::Done(Done::Packed(Box::new((plan.summary, replacement)))),
            Err(refused) => Outcome::Refused(refused),
        })
    }
}

/// A refusal, unless what was read of the file is worth nothing.
fn refused(task: &Task, view: &FileView, refusal: Refusal) -> Result<Outcome<Done>, CliError> {
    if view.shrank() { Err(shrank(&task.path)) } else { Ok(Outcome::Refused(refusal.into())) }
}

/// Writes a result; or refuses, because the file breaks rules by itself.
fn write_or_refuse(writing: &Writing<'_>, script: &Script) -> Result<Result<Replacement<Proof>, Refused>, CliError> {
    match write(writing, script, |output| proof(writing.task, writing.view, output)) {
        Ok(replacement) => Ok(Ok(replacement)),
        // Whatever went wrong, it began with that.
        Err(_) if writing.view.shrank() => Err(shrank(&writing.task.path)),
        Err(NotWritten::Unproven(Unproven::Contradicts { source, .. })) => {
            Ok(Err(Refusal::Layout(source.to_string()).into()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The proof that a result is the same to a loader.
fn proof(task: &Task, view: &FileView, output: Source<'_>) -> Result<Proof, Unproven> {
    let release = |range: Range<usize>| view.release(range);
    proven(&task.path, Source { bytes: view.bytes(), release: &release }, output)
}
