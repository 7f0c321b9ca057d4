//! Packing one file: plan, write, prove, rename.

use std::path::PathBuf;

use anyhow::Context;
use coldstart_elf::ElfFile;
use coldstart_loader::ObjectFacts;
use coldstart_profile::printable;
use coldstart_prove::{BindEdit, Proof};
use coldstart_rewrite::{
    Allowed, Claim, NothingToPack, OriginalFile, PackDecision, PackOptions, PackPlan, PackSummary, Pass, PassOutcome,
    PassReport, Passes, Refusal, Replacement, Script, WayBack,
};
use coldstart_startup::HostLibcs;
use coldstart_sys::file_view::FileView;

use super::world::WorldSymbols;
use crate::error::AppError;
use crate::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Rule, Task, Unproven, Worked, Writing, truncated_error, write,
};

/// How to pack, and where to.
pub(super) struct Packer<'w> {
    /// The closed world, if one was given.
    pub(super) world: Option<WorldSymbols<'w>>,
    pub(super) options: PackOptions,
    pub(super) allowed: Allowed,
    pub(super) place: Destination,
    /// The rule for replacing existing files.
    pub(super) rule: Rule,
    /// A path for the only original, or a directory for several.
    pub(super) keep_original: Option<Destination>,
    /// Whether a file that cannot be packed any further is copied as it is.
    pub(super) copies_unchanged: bool,
    pub(super) libcs: HostLibcs,
}

/// The result for a packable file.
#[derive(Debug)]
pub enum Done {
    /// Packed.
    Packed(Box<(PackSummary, Replacement<Proof>)>),
    /// Would be packed; nothing was written.
    WouldPack(Box<PackSummary>),
    /// Nothing to pack; copied if a result was required.
    Nothing(NothingToPack, Option<Box<Replacement<Proof>>>),
}

impl Packer<'_> {
    /// Packs a file.
    pub(super) fn pack(&self, task: &Task) -> Worked<Done> {
        Worked::on(task, |original, planning| self.work_on(task, original, planning))
    }

    fn writing<'a>(
        &'a self,
        task: &'a Task,
        original: &'a OriginalFile,
        view: &'a FileView,
        keep_original: Option<PathBuf>,
    ) -> Writing<'a> {
        Writing { task, original, view, content: None, place: &self.place, rule: &self.rule, keep_original }
    }

    fn work_on(
        &self,
        task: &Task,
        original: &OriginalFile,
        planning: &mut Planning,
    ) -> Result<Outcome<Done>, AppError> {
        let view = original.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let file = match ElfFile::parse(view.bytes()) {
            Ok(file) => file,
            Err(error) => return refused(task, &view, Refusal::from(error)),
        };
        let closed_world = match &self.world {
            Some(world) => world.closed(&task.path, &file).map(Some),
            None => Ok(None),
        };
        let decision = closed_world.map_err(Refusal::from).and_then(|closed_world| {
            let options = PackOptions { closed_world, ..self.options.clone() };
            coldstart_rewrite::plan_pack(&file, &options).map(|decision| (decision, options))
        });
        planning.ends();
        let (plan, options) = match decision {
            Err(refusal) => return refused(task, &view, refusal),
            Ok((PackDecision::Nothing(nothing), _)) => {
                if view.shrank() {
                    return Err(truncated_error(&task.path));
                }
                let copied = if self.copies_unchanged && self.place.is_elsewhere() {
                    let script = Script::identity(file.encoding(), file.size());
                    let writing = self.writing(task, original, &view, None);
                    match write_or_refuse(&writing, &script, Claim::Same)? {
                        Ok(copied) => Some(Box::new(copied)),
                        Err(refused) => return Ok(Outcome::Refused(refused)),
                    }
                } else {
                    None
                };
                return Ok(Outcome::Done(Done::Nothing(nothing, copied)));
            }
            Ok((PackDecision::Pack(plan), options)) => (plan, options),
        };
        if let Some(refusal) = original.facts().refusal(&self.allowed) {
            return Ok(Outcome::Refused(refusal.into()));
        }
        let plan = match self.for_this_machine(&file, plan, &options) {
            Ok(plan) => plan,
            Err(refused) => return Ok(Outcome::Refused(refused)),
        };
        if let Some(refused) = self.lost(&plan.summary) {
            return Ok(Outcome::Refused(refused));
        }
        if self.place == Destination::Nowhere {
            return if view.shrank() {
                Err(truncated_error(&task.path))
            } else {
                Ok(Outcome::Done(Done::WouldPack(Box::new(plan.summary))))
            };
        }
        let keep_original = self.keep_original.as_ref().and_then(|keep| keep.target(task));
        let writing = self.writing(task, original, &view, keep_original);
        let edit = BindEdit {
            not_interposed: options.closed_world.and_then(|world| world.not_interposed).unwrap_or_default(),
            pure_virtual: plan.summary.pure_virtual > 0,
            stub: options.passes.has(Pass::Stub),
            lower_alignment: plan.summary.lowers_alignment(),
        };
        let claim = if plan.summary.bound > 0 || edit.stub || edit.lower_alignment {
            Claim::Bound(&edit)
        } else {
            Claim::SameIdentified
        };
        Ok(match write_or_refuse(&writing, &plan.script, claim)? {
            Ok(replacement) => Outcome::Done(Done::Packed(Box::new((plan.summary, replacement)))),
            Err(refused) => Outcome::Refused(refused),
        })
    }
}

impl Packer<'_> {
    /// The plan, without RELR if this machine's loader does not know it and no other one was named.
    fn for_this_machine(
        &self,
        file: &ElfFile<'_>,
        plan: Box<PackPlan>,
        options: &PackOptions,
    ) -> Result<Box<PackPlan>, Refused> {
        if !options.passes.has(Pass::Relr) || plan.summary.relr_bytes == 0 || options.libc_floor.is_some() {
            return Ok(plan);
        }
        let Some(refused) = loader_here_too_old(&self.libcs, file) else { return Ok(plan) };
        let others = Pass::ALL.into_iter().filter(|pass| *pass != Pass::Relr && options.passes.has(*pass));
        let options = PackOptions { passes: Passes::of(others), ..options.clone() };
        let Ok(PackDecision::Pack(mut plan)) = coldstart_rewrite::plan_pack(file, &options) else {
            return Err(refused);
        };
        let Refused { code, reason, hint } = refused;
        plan.summary.passes.push(PassReport { pass: Pass::Relr, outcome: PassOutcome::Refused { code, reason, hint } });
        Ok(plan)
    }

    /// Refuses to replace an original with a file that cannot be unpacked, unless requested.
    fn lost(&self, summary: &PackSummary) -> Option<Refused> {
        let is_lost = self.place == Destination::InPlace && self.keep_original.is_none();
        let refused = || Refused {
            code: "no-way-back",
            reason: "the packed file could not be unpacked: its undo data exceeds a quarter of what \
                     packing saves, or half of the records that it binds"
                .to_owned(),
            hint: Some(
                "keep the original with `--keep-original PATH`, or pack without undo data with `--no-undo`".to_owned(),
            ),
        };
        (is_lost && summary.way_back == WayBack::TooLong).then(refused)
    }
}

/// A refusal, or an error if the file was truncated meanwhile.
fn refused(task: &Task, view: &FileView, refusal: Refusal) -> Result<Outcome<Done>, AppError> {
    if view.shrank() { Err(truncated_error(&task.path)) } else { Ok(Outcome::Refused(refusal.into())) }
}

/// Writes a result, or refuses an inconsistent file.
fn write_or_refuse(
    writing: &Writing<'_>,
    script: &Script,
    claim: Claim<'_>,
) -> Result<Result<Replacement<Proof>, Refused>, AppError> {
    match write(writing, script, claim) {
        Ok(replacement) => Ok(Ok(replacement)),
        Err(NotWritten::Unproven(Unproven::Contradicts { source, .. })) => {
            Ok(Err(Refusal::Layout(source.to_string()).into()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Refuses if this machine has a C library for such files, whose loader does not know `DT_RELR`. On an older machine a file is most
/// likely meant for the machine it is packed on, and would be of no use there.
fn loader_here_too_old(libcs: &HostLibcs, file: &ElfFile<'_>) -> Option<Refused> {
    let libc = libcs.without_relr(&ObjectFacts::of(file).ok()?)?;
    Some(Refused {
        code: "loader-here-too-old",
        reason: format!("the loader of this machine's `{}` does not support DT_RELR", printable(&libc)),
        hint: Some("if all target machines have glibc 2.36 or later, use `--min-libc 2.36`".to_owned()),
    })
}
