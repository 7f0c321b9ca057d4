//! A program with everything that it loads, as the dynamic loader would find it in the current environment.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use coldstart_inspect::{Inspection, Missing, SearchCost};
use coldstart_loader::{Closure, FoundBy, Identity, LoadedObject, ObjectFacts};
use coldstart_profile::printable;
use rayon::prelude::*;

use super::read::{ReadError, map};
use super::symbol_uses::SymbolUses;
use crate::error::{AppError, HintExt};

/// A program's closure.
pub(super) struct ProgramLoads {
    /// The closure, as the loader's rules give it.
    pub(super) closure: Closure,
    /// Every object with its inspection or error, in load order.
    pub(super) objects: Vec<(PathBuf, Result<Inspection, ReadError>)>,
    /// The cost of the search.
    pub(super) cost: SearchCost,
}

/// Resolves what a program loads, as the dynamic loader would.
pub type LoadsOf<'a> = &'a (dyn Fn(&Path) -> Result<Closure, AppError> + Sync);

/// Follows a program's libraries and inspects them all.
pub(super) fn follow(
    program: &Path,
    loads_of: LoadsOf<'_>,
    inspect: impl Fn(&Path) -> Result<Inspection, ReadError> + Sync,
) -> Result<ProgramLoads, AppError> {
    let own = inspect(program)?;
    let closure = if own.parts.layout.dynamic.is_none() {
        // A debug file or a relocatable object; the inspection reports its kind.
        Closure { objects: vec![alone(program)], ..Closure::default() }
    } else {
        loads_of(program).hint(|| "without --closure only the file itself is inspected")?
    };
    let libraries: Vec<&Path> = closure.objects.iter().skip(1).map(|object| object.path.as_path()).collect();
    let mut objects = vec![(program.to_owned(), Ok(own))];
    objects.par_extend(libraries.into_par_iter().map(|path| (path.to_owned(), inspect(path))));
    let cost = cost(&closure, &objects);
    Ok(ProgramLoads { closure, objects, cost })
}

/// A program that loads nothing.
fn alone(program: &Path) -> LoadedObject {
    LoadedObject {
        path: program.to_owned(),
        name_asked: Vec::new(),
        found_by: FoundBy::Program,
        requester: None,
        preloaded: false,
        in_scope: true,
        identity: Identity::default(),
        facts: ObjectFacts::default(),
    }
}

/// The cost of the search, and unused libraries.
fn cost(closure: &Closure, objects: &[(PathBuf, Result<Inspection, ReadError>)]) -> SearchCost {
    let inspection = |index: usize| objects.get(index)?.1.as_ref().ok().cloned();
    SearchCost {
        unused: SymbolUses::default().unused(closure, |path| map(path).ok(), inspection),
        ..search_cost(closure)
    }
}

/// The cost of the search: failed probes and missing libraries. Whether libraries are used is not looked at.
pub fn search_cost(closure: &Closure) -> SearchCost {
    let mut by_rule = BTreeMap::new();
    for probe in &closure.failed_probes {
        *by_rule.entry(probe.rule.to_string()).or_insert(0) += 1;
    }
    let text = |bytes: &[u8]| printable(Path::new(&std::ffi::OsString::from_vec(bytes.to_vec())));
    let missing = closure.missing.iter().map(|missing| Missing {
        library: text(&missing.needed),
        needed_by: name_in(closure, missing.requester),
        is_preloaded: missing.preload,
    });
    SearchCost {
        failed_probes: closure.failed_probes.len() as u64,
        failed_probes_by_rule: by_rule,
        missing: missing.collect(),
        unused: Vec::new(),
    }
}

/// The file name of an object.
pub(super) fn name_in(closure: &Closure, index: usize) -> String {
    let path = closure.objects.get(index).map(|object| object.path.as_path()).unwrap_or(Path::new(""));
    printable(Path::new(path.file_name().unwrap_or_default()))
}
