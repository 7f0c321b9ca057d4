//! Comparison of what a bound program and its original load, by the loader's rules.

use std::path::{Path, PathBuf};

use coldstart_bind::{Binding, Change, MachineFiles, Misled, Mode, Searches, audit_library_change};
use coldstart_loader::Closure;
use serde::Serialize;

use crate::error::AppError;

/// Both searches.
#[derive(Debug, Serialize)]
pub struct Search {
    /// The mode of the binding.
    pub mode: Mode,
    /// Files that the bound program loads, without itself.
    pub libraries: usize,
    /// The first difference in the load order.
    pub parting: Option<FirstDifference>,
    /// Names that the bound program does not find.
    pub missing: Vec<String>,
    /// Failed probes of the original.
    pub failed_probes_before: usize,
    /// Failed probes of the bound program; `None` in mode `audit`, where the rules do not apply.
    pub failed_probes_after: Option<usize>,
    /// Those for variants of a library below the link directory.
    pub variant_probes_after: usize,
    /// The first few of the others, in order.
    pub stray_probes: Vec<PathBuf>,
    /// Mode `audit`: how the audit library has changed.
    pub audit_library: Option<Change>,
    /// Mode `audit`: answers of the audit library that load a different file.
    pub misled: Vec<Misled>,
}

/// The first difference of two load orders.
#[derive(Debug, Serialize)]
pub struct FirstDifference {
    /// Counted from 0.
    pub place: usize,
    /// The file of the original; `None` at its end.
    pub before: Option<PathBuf>,
    /// The file of the bound program; `None` at its end.
    pub after: Option<PathBuf>,
}

/// Probes that are listed.
const LISTED: usize = 20;

impl Search {
    /// Whether the same files are loaded in the same way, without unexpected failed probes.
    pub fn holds(&self) -> bool {
        self.parting.is_none()
            && self.missing.is_empty()
            && (self.stray_probes.is_empty() || self.mode != Mode::Soname)
            && self.audit_library.is_none()
            && self.misled.is_empty()
    }
}

/// Follows both searches.
pub(super) fn compare(program: &Path, binding: &Binding) -> Result<Search, AppError> {
    let files = MachineFiles::default();
    let real = program.canonicalize()?;
    let environment = coldstart_bind::machine_environment(&real, &files, false);
    let Searches { before, after, misled } = coldstart_bind::searches(binding, &real, &files, &environment)?;
    let is_variant = |path: &Path| binding.farm.as_ref().is_some_and(|farm| farm.is_variant(&real, path));
    let failed = || after.failed_probes.iter().map(|probe| probe.path.as_path());
    let rules_tell = binding.mode != Mode::Audit;
    Ok(Search {
        mode: binding.mode,
        libraries: after.objects.len().saturating_sub(1),
        parting: parting(&before, &after),
        missing: after.missing.iter().map(|missing| String::from_utf8_lossy(&missing.needed).into_owned()).collect(),
        failed_probes_before: before.failed_probes.len(),
        failed_probes_after: rules_tell.then_some(after.failed_probes.len()),
        variant_probes_after: failed().filter(|path| is_variant(path)).count(),
        stray_probes: match rules_tell {
            true => failed().filter(|path| !binding.foresees(&real, path)).take(LISTED).map(Path::to_owned).collect(),
            false => Vec::new(),
        },
        audit_library: audit_library_change(binding, &real),
        misled,
    })
}

/// The first difference of two closures: a different file, or the same file in or not in the symbol lookup scope.
fn parting(before: &Closure, after: &Closure) -> Option<FirstDifference> {
    let (before, after) = (&before.objects, &after.objects);
    let place = before
        .iter()
        .zip(after)
        .position(|(one, other)| one.identity != other.identity || one.in_scope != other.in_scope);
    let place = place.or_else(|| (before.len() != after.len()).then(|| before.len().min(after.len())))?;
    let path = |objects: &[coldstart_loader::LoadedObject]| objects.get(place).map(|object| object.path.clone());
    Some(FirstDifference { place, before: path(before), after: path(after) })
}
