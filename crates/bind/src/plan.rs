//! Plans a bound program.

use std::path::Path;

use coldstart_loader::{Closure, Environment, Hwcaps, ObjectFacts, resolve};
use coldstart_prove::SearchEdit;
use serde::Serialize;

use crate::answers::table;
use crate::audit::Table;
use crate::audit_library::AuditLibrary;
use crate::binding::BINDING_VERSION;
use crate::farm::FarmPlan;
use crate::hoist::{utf8, without_meaning};
use crate::libraries::libraries;
use crate::origin::{bytes, way};
use crate::overlay::Overlay;
use crate::requesters::requesters;
use crate::search_path::effective;
use crate::subject::{AtLevel, Subject};
use crate::{Binding, Caution, Files, Mode, Options, Program, Refusal, Requester, SearchText, by_path, soname};

/// How a program is bound: the changes to it, the files next to it, and their effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindPlan {
    /// The changes to the program.
    pub edit: SearchEdit,
    /// The link directory; in mode `soname` only. It must be in place before the program is.
    pub farm: Option<FarmPlan>,
    /// The note for the program.
    pub binding: Binding,
    /// Differences in the bound program's behaviour.
    pub cautions: Vec<Caution>,
    /// What it saves.
    pub predicted: Predicted,
    /// The requesters and their directories; in mode `audit` only.
    pub requesters: Vec<Requester>,
    /// The auditing library; in mode `audit` only. It must be in place before the program is.
    pub audit_library: Option<AuditLibrary>,
}

/// Failed probes of a start, before and after, in the given environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Predicted {
    /// Failed probes for files.
    pub failed_probes_before: usize,
    /// The same for the bound program; in mode `audit` those for names outside the table.
    pub failed_probes_after: usize,
    /// Directories that are checked after a failed probe in them.
    pub directory_probes_before: usize,
    /// The same for the bound program.
    pub directory_probes_after: usize,
    /// Loaded files, without the program.
    pub objects: usize,
}

/// The result of a mode.
pub(crate) struct Made {
    pub(crate) needed: Vec<String>,
    pub(crate) path: Option<SearchText>,
    pub(crate) farm: Option<FarmPlan>,
    pub(crate) cautions: Vec<Caution>,
    /// The bound program's closure in the given environment; none if it is unknown.
    pub(crate) bound: Option<Closure>,
}

/// Plans how `program` is bound, and verifies that it loads the same: the same files in the same order, for the same
/// names, for each set of processor levels.
///
/// `environment` is that of the machine, from [`machine_environment`](crate::machine_environment); its variables and
/// preloaded libraries are ignored. The same input gives the same plan.
///
/// # Errors
/// Why it is not bound.
pub fn plan(
    program: &Program,
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Result<BindPlan, Refusal> {
    let environment = Environment {
        ld_library_path: None,
        ld_preload: None,
        preload_file: None,
        secure: environment.secure || program.secure,
        ..environment.clone()
    };
    let subject = Subject::of(program, files, &environment, options)?;
    let levels = subject.survey(files, &environment, options)?;
    let before = resolve(&subject.program, &subject.original(files), &environment)?;
    let mut made = match options.mode {
        Mode::Soname => soname::make(&subject, &levels, files, &environment, options)?,
        Mode::Absolute | Mode::Origin => by_path::make(&subject, &levels, files, &environment, options)?,
        Mode::Audit => audited(&subject)?,
    };
    if let Some(level) = frozen(&subject, &levels, files, &environment, options) {
        made.cautions.push(level);
    }
    let audit = audit_text(&subject, options)?;
    let base = levels.first();
    if let Some(base) = base.filter(|_| options.mode != Mode::Audit) {
        let lost = without_meaning(&base.survey)?;
        made.needed.extend(lost.iter().cloned());
        made.cautions.extend(lost.into_iter().map(|name| Caution::NameWithoutMeaning { name }));
    }
    let objects = before.objects.len().saturating_sub(1);
    let predicted = Predicted {
        failed_probes_before: before.failed_probes.len(),
        failed_probes_after: made.bound.as_ref().map_or(0, |bound| bound.failed_probes.len()),
        directory_probes_before: before.directory_probes.len(),
        directory_probes_after: made.bound.as_ref().map_or(0, |bound| bound.directory_probes.len()),
        objects,
    };
    let idle = subject.facts.rpath.clone().filter(|_| subject.facts.runpath.is_some());
    let moves = subject.output.parent() != subject.program.parent();
    let original_program = moves.then(|| utf8(bytes(&subject.program).to_vec())).transpose()?;
    let binding = Binding {
        version: BINDING_VERSION,
        coldstart: env!("CARGO_PKG_VERSION").to_owned(),
        mode: options.mode,
        levels: levels.last().map(|level| level.levels.clone()).unwrap_or_default(),
        farm: made.farm.as_ref().map(FarmPlan::bound),
        original_program,
        original_needed: subject.facts.needed.iter().cloned().map(utf8).collect::<Result<_, _>>()?,
        original_path: effective(&subject.facts)?,
        original_idle_rpath: idle.map(utf8).transpose()?,
        needed: made.needed,
        path: made.path,
        audit,
        audit_library: None,
        libraries: libraries(&levels, files)?,
    };
    let edit = binding.edit();
    let mut plan = BindPlan {
        edit,
        farm: made.farm,
        binding,
        cautions: made.cautions,
        predicted,
        requesters: Vec::new(),
        audit_library: None,
    };
    if let (Mode::Audit, Some(base)) = (options.mode, base) {
        let closure = &base.survey.closure;
        plan.requesters = requesters(closure, &subject.program, &environment);
        let table = table(&plan.requesters, &subject.facts, &plan.binding, files, &environment);
        let failed = before.failed_probes.iter();
        plan.predicted.failed_probes_after =
            failed.filter(|probe| !is_answered(&table, &plan.requesters, probe)).count();
        let place = options.audit_library.clone().ok_or(Refusal::NoAuditLibrary)?;
        let library = AuditLibrary::plan(place, moving(table, &subject, options), &subject.facts)?;
        plan.binding.audit_library = Some(library.bound());
        plan.audit_library = Some(library);
    }
    Ok(plan)
}

/// The text for `DT_AUDIT`: glibc expands `$ORIGIN` there to the program's directory (tested with 2.36).
fn audit_text(subject: &Subject, options: &Options) -> Result<Option<String>, Refusal> {
    if options.mode != Mode::Audit {
        return Ok(None);
    }
    let library = options.audit_library.as_ref().ok_or(Refusal::NoAuditLibrary)?;
    if !library.is_absolute() {
        return Err(Refusal::NotAbsolute(library.clone()));
    }
    let directory = subject.output.parent().unwrap_or(Path::new("/"));
    let text = match options.root {
        Some(_) => format!("$ORIGIN/{}", utf8(bytes(&way(directory, library)).to_vec())?),
        None => utf8(bytes(library).to_vec())?,
    };
    Ok(Some(text))
}

/// The table for a program that moves together with everything below a directory.
fn moving(table: Table, subject: &Subject, options: &Options) -> Table {
    let directory = subject.output.parent().unwrap_or(Path::new("/"));
    let table = Table { check_files: options.check_files, ..table };
    match &options.root {
        Some(root) => table.relative_to(bytes(directory), bytes(root)),
        None => table,
    }
}

/// Whether a table has a result for the requester of a failed probe.
fn is_answered(table: &Table, requesters: &[Requester], probe: &coldstart_loader::FailedProbe) -> bool {
    let Some(asks) = requesters.get(probe.requester) else { return false };
    let asks = asks.search().requester;
    table.groups.iter().any(|group| group.requesters.contains(&asks) && group.entries.contains_key(&probe.needed))
}

/// The program's facts with another list and search path.
pub(crate) fn planned_facts(facts: &ObjectFacts, needed: &[String], path: Option<&SearchText>) -> ObjectFacts {
    let mut planned = facts.clone();
    planned.needed = needed.iter().map(|name| name.clone().into_bytes()).collect();
    (planned.rpath, planned.runpath) = match path {
        None => (None, None),
        Some(path) => {
            let text = Some(path.text.clone().into_bytes());
            if path.kind == crate::TagName::Rpath { (text, None) } else { (None, text) }
        }
    };
    planned
}

/// The bound program's closure with the given subdirectories.
pub(crate) fn bound_closure(
    subject: &Subject,
    files: &impl Files,
    environment: &Environment,
    facts: &ObjectFacts,
    farm: Option<&FarmPlan>,
    hwcaps: Hwcaps,
) -> Result<Closure, Refusal> {
    let overlay = Overlay::new(files, &subject.output, (subject.identity, facts.clone()), farm);
    Ok(resolve(&subject.output, &overlay, &Environment { hwcaps, ..environment.clone() })?)
}

/// Mode `audit`: the program keeps its names and its path.
fn audited(subject: &Subject) -> Result<Made, Refusal> {
    let needed = subject.facts.needed.iter().cloned().map(utf8).collect::<Result<_, _>>()?;
    let path = effective(&subject.facts)?;
    Ok(Made { needed, path, farm: None, cautions: Vec::new(), bound: None })
}

/// Whether given levels omit variants that the architecture may have.
fn frozen(
    subject: &Subject,
    levels: &[AtLevel],
    files: &impl Files,
    environment: &Environment,
    options: &Options,
) -> Option<Caution> {
    let given = options.levels.as_ref().filter(|_| options.mode != Mode::Audit)?;
    let planned = levels.last()?;
    let all = Options { levels: None, ..options.clone() };
    let same = subject
        .survey(files, environment, &all)
        .is_ok_and(|all| all.last().is_some_and(|all| all.hoisted == planned.hoisted));
    (!same).then(|| Caution::LevelFrozen { levels: given.clone() })
}
