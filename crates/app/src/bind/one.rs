//! Binding one program: plan, create the links, write, prove, rename.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_bind::{
    BindPlan, Binding, FarmWritten, MachineFiles, Mode, Program, audit_library_caution, remove_left_farm,
    usual_audit_library, usual_farm,
};
use coldstart_elf::ElfFile;
use coldstart_profile::printable;
use coldstart_prove::Proof;
use coldstart_rewrite::{
    Allowed, Change, Claim, EditNote, NotTakenBack, OriginalFile, Refusal, Replacement, SearchSummary, binding_note,
    plan_search, without_edit,
};
use coldstart_sys::file_view::FileView;

use super::audit::{self, remove_library, write_library};
use crate::error::AppError;
use crate::restoring::other_edit;
use crate::rewriting::{
    Destination, NotWritten, Outcome, Planning, Refused, Rule, Task, Unproven, Worked, Writing, taken_back,
    truncated_error, write,
};
use crate::text::{counted, counted_are, plain};

/// How to bind, and where to.
pub(super) struct Binder {
    pub(super) options: coldstart_bind::Options,
    pub(super) allowed: Allowed,
    pub(super) place: Destination,
    /// The rule for replacing existing files.
    pub(super) rule: Rule,
    /// A path for the only original, or a directory for several.
    pub(super) keep_original: Option<Destination>,
    /// Whether to bind programs without failed probes, too.
    pub(super) anyway: bool,
    /// The path that the program will be started under, if not that of the result.
    pub(super) seen_as: Option<PathBuf>,
}

/// The result for a bindable program.
#[derive(Debug)]
pub enum Done {
    /// Bound.
    Bound(Box<Bound>),
    /// Would be bound; nothing was written.
    WouldBind(Box<(BindPlan, SearchSummary)>),
}

/// A plan, and its input.
struct Planned<'view> {
    plan: BindPlan,
    /// The program's bytes without an earlier binding.
    content: Cow<'view, [u8]>,
    /// Whether the new audit library may replace the program's own earlier one.
    replaces_audit_library: bool,
}

/// A bound program.
#[derive(Debug)]
pub struct Bound {
    /// The plan, with its cautions.
    pub plan: BindPlan,
    /// How the file was edited.
    pub summary: SearchSummary,
    /// The written file, with its proof.
    pub replacement: Replacement<Proof>,
}

impl Binder {
    /// Binds a program.
    pub(super) fn bind(&self, task: &Task) -> Worked<Done> {
        Worked::on(task, |original, planning| self.work_on(task, original, planning))
    }

    fn work_on(
        &self,
        task: &Task,
        original: &OriginalFile,
        planning: &mut Planning,
    ) -> Result<Outcome<Done>, AppError> {
        let view = original.map().with_context(|| format!("cannot read `{}`", printable(&task.path)))?;
        let planned = self.plan(task, original, &view);
        planning.ends();
        if view.shrank() {
            return Err(truncated_error(&task.path));
        }
        let Planned { mut plan, content, replaces_audit_library } = match planned? {
            Ok(planned) => planned,
            Err(refused) => return Ok(Outcome::Refused(refused)),
        };
        if let Some(refusal) = original.facts().refusal(&self.allowed) {
            return Ok(Outcome::Refused(refusal.into()));
        }
        if !self.anyway && gains_nothing(&plan) {
            return Ok(Outcome::Refused(Refused {
                code: "nothing-to-gain",
                reason: format!(
                    "its {} found with {} now, and with {} when bound",
                    plain(&counted_are(plan.predicted.objects as u64, "library")),
                    plain(&counted(plan.predicted.failed_probes_before as u64, "failed probe")),
                    plan.predicted.failed_probes_after
                ),
                hint: Some("use `--anyway` to bind it nevertheless".to_owned()),
            }));
        }
        let text = plan.binding.to_json()?;
        let note = EditNote { name: "bind", content: Some(&text) };
        let file = ElfFile::parse(&content).map_err(Refusal::from);
        let search = match file.and_then(|file| plan_search(&file, &plan.edit, note)) {
            Ok(search) => search,
            Err(refusal) => return Ok(Outcome::Refused(refusal.into())),
        };
        if self.place == Destination::Nowhere {
            return Ok(Outcome::Done(Done::WouldBind(Box::new((plan, search.summary)))));
        }
        // The links must exist before the program that uses them.
        let farm = plan.farm.as_ref().map(|farm| coldstart_bind::write_farm(farm, &farm.directory)).transpose()?;
        let mut new_library = None;
        if let Some(library) = &plan.audit_library {
            let place = audit::place(&library.path, &self.rule, &self.place, Some(task))?;
            let is_new = write_library(library, &place, replaces_audit_library || self.rule.is_forced())?;
            new_library = is_new.then_some(place);
        }
        let keep_original = self.keep_original.as_ref().and_then(|keep| keep.target(task));
        let writing = Writing {
            task,
            original,
            view: &view,
            content: taken_back(&content),
            place: &self.place,
            rule: &self.rule,
            keep_original,
        };
        let written = write(&writing, &search.script, Claim::Search(&plan.edit));
        match written {
            Ok(replacement) => {
                let real = replacement.path.canonicalize().unwrap_or_else(|_| replacement.path.clone());
                plan.cautions.extend(audit_library_caution(&plan.binding, &real));
                if self.seen_as.is_none() {
                    remove_unused(&plan, &real);
                }
                Ok(Outcome::Done(Done::Bound(Box::new(Bound { plan, summary: search.summary, replacement }))))
            }
            Err(error) => {
                // Remove unused links, unless an earlier program uses them.
                if let (Some(FarmWritten::Made), Some(farm)) = (farm, &plan.farm) {
                    let _ = coldstart_bind::remove_farm(&farm.directory, Some(&farm.program));
                }
                if let (Some(place), Some(library)) = (&new_library, &plan.audit_library) {
                    remove_library(library, place);
                }
                match error {
                    NotWritten::Unproven(Unproven::Contradicts { source, .. }) => {
                        Ok(Outcome::Refused(Refusal::Layout(source.to_string()).into()))
                    }
                    error => Err(error.into()),
                }
            }
        }
    }

    /// The plan, and the program's bytes without an earlier binding.
    fn plan<'view>(
        &self,
        task: &Task,
        original: &OriginalFile,
        view: &'view FileView,
    ) -> Result<Result<Planned<'view>, Refused>, AppError> {
        let mut content = Cow::Borrowed(view.bytes());
        let binding = match earlier(view.bytes()) {
            Ok(binding) => binding,
            Err(refused) => return Ok(Err(refused)),
        };
        if binding.is_some() && self.options.rebind {
            match unbound(view.bytes()) {
                Ok(original) => content = original,
                Err(refused) => return Ok(Err(refused)),
            }
        }
        let facts = original.facts();
        let secure = facts.set_user_id || facts.set_group_id || facts.has_capabilities;
        let program = Program { path: original.real_path().to_owned(), secure, binding };
        let files = MachineFiles::default();
        let environment = coldstart_bind::machine_environment(&program.path, &files, secure);
        let output = self.output(task, original)?;
        let mut options = self.options.clone();
        let earlier_library = program.binding.as_ref().and_then(|binding| binding.audit_library_path(&program.path));
        // A path given by the user may be another program's library; the default one is named after this program.
        let replaces_audit_library = options.audit_library.is_none() || options.audit_library == earlier_library;
        if options.mode == Mode::Audit && options.audit_library.is_none() {
            options.audit_library = Some(usual_audit_library(&output));
        }
        options.output = Some(output);
        Ok(match coldstart_bind::plan(&program, &files, &environment, &options) {
            Ok(plan) => Ok(Planned { plan, content, replaces_audit_library }),
            Err(refusal) => Err(Refused {
                code: refusal.code(),
                reason: refusal.to_string(),
                hint: refusal.hint().map(str::to_owned),
            }),
        })
    }

    /// The path of the bound program: absolute, with a directory free of symbolic links.
    fn output(&self, task: &Task, original: &OriginalFile) -> Result<PathBuf, AppError> {
        if let Some(path) = &self.seen_as {
            return Ok(path.clone());
        }
        let Some(target) = self.place.target(task) else { return Ok(original.real_path().to_owned()) };
        let absolute = std::path::absolute(&target)?;
        let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else { return Ok(absolute) };
        Ok(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()).join(name))
    }
}

/// Whether the bound program has as many failed probes. Always false in mode `audit`, which also serves `dlopen`.
fn gains_nothing(plan: &BindPlan) -> bool {
    plan.binding.mode != Mode::Audit && plan.predicted.failed_probes_after >= plan.predicted.failed_probes_before
}

/// Removes links of an earlier binding beside the bound program, which does not use them. What cannot be removed is harmless, and
/// `unbind` says so.
fn remove_unused(plan: &BindPlan, program: &Path) {
    if plan.farm.as_ref().is_none_or(|farm| farm.directory != usual_farm(program)) {
        let search = plan.binding.path.as_ref().map(|path| path.text.as_bytes());
        let _ = remove_left_farm(program, search.as_slice());
    }
}

/// The binding in a program's note, if it has one.
fn earlier(bytes: &[u8]) -> Result<Option<Binding>, Refused> {
    let Ok(file) = ElfFile::parse(bytes) else { return Ok(None) };
    let Some(text) = binding_note(&file) else { return Ok(None) };
    Binding::from_json(text).map(Some).map_err(|error| Refused {
        code: "already-bound",
        reason: format!("it is already bound, and {error}"),
        hint: Some("restore the original with `coldstart unbind`".to_owned()),
    })
}

/// The hint for a bound program with later edits, which binding again would lose.
const EDITED: &str = "`coldstart unbind --discard-changes` restores the original without the changes, if possible; make the \
                      change there, and bind it then";

/// The program before it was bound.
fn unbound(bytes: &[u8]) -> Result<Cow<'_, [u8]>, Refused> {
    without_edit(bytes, "bind").map_err(|reason| match reason {
        NotTakenBack::OtherEdit(last) => other_edit(&last),
        NotTakenBack::Refused(refusal) => {
            let hint = match &refusal {
                Refusal::ChangedSince(Change::Edited { .. }) => Some(EDITED.to_owned()),
                other => other.hint(),
            };
            Refused { hint, ..Refused::from(refusal) }
        }
    })
}
