//! What a bound program loads, by the loader's rules, against what its original would load.

use std::path::{Path, PathBuf};

use coldstart_bind::{Binding, MachineFiles, Mode};
use coldstart_loader::{Closure, FileSystem, ObjectFacts, Probe, resolve};
use serde::Serialize;

use crate::error::CliError;

/// Both searches.
#[derive(Debug, Serialize)]
pub(super) struct Search {
    mode: Mode,
    /// Files that the bound program loads, without itself.
    pub(super) libraries: usize,
    /// The first place in the order at which they part.
    pub(super) parting: Option<Parting>,
    /// Names that the bound program does not find.
    pub(super) missing: Vec<String>,
    pub(super) failed_probes_before: usize,
    /// Null in mode `audit`, where the rules do not tell.
    pub(super) failed_probes_after: Option<usize>,
    /// Those of them that only look for variants of a library, below the folder of links.
    pub(super) variant_probes_after: usize,
    /// The others, in order; the first few.
    pub(super) stray_probes: Vec<PathBuf>,
}

/// A place at which two orders part.
#[derive(Debug, Serialize)]
pub(super) struct Parting {
    /// Counted from 0.
    pub(super) place: usize,
    pub(super) before: Option<PathBuf>,
    pub(super) after: Option<PathBuf>,
}

/// Probes that are listed.
const LISTED: usize = 20;

impl Search {
    /// Whether the same is loaded, without probes in vain that were not foreseen.
    pub(super) fn holds(&self) -> bool {
        self.parting.is_none() && self.missing.is_empty() && (self.stray_probes.is_empty() || self.mode != Mode::Soname)
    }
}

/// Follows both searches.
pub(super) fn compare(program: &Path, binding: &Binding) -> Result<Search, CliError> {
    let files = MachineFiles::default();
    let real = program.canonicalize()?;
    let environment = coldstart_bind::machine_environment(&real, &files, false);
    // A program that was bound to another folder searched from where it was.
    let place = binding.original_program.as_ref().map_or_else(|| real.clone(), PathBuf::from);
    let original = Original { files: &files, program: &real, place: &place, binding };
    let before = resolve(&place, &original, &environment)?;
    let after = resolve(&real, &files, &environment)?;
    let farm = binding.farm.as_ref().map(|farm| farm.directory(&real));
    let is_variant = |path: &Path| {
        let below = farm.as_deref().and_then(|farm| path.strip_prefix(farm).ok());
        below.is_some_and(|below| below.components().count() > 1)
    };
    let is_foreseen = |path: &Path| {
        is_variant(path) || path.file_name().and_then(|name| name.to_str()).is_some_and(|name| binding.keeps_path(name))
    };
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
            true => failed().filter(|path| !is_foreseen(path)).take(LISTED).map(Path::to_owned).collect(),
            false => Vec::new(),
        },
    })
}

/// Where two closures part: another file, or the same one with or without its symbols being looked up.
fn parting(before: &Closure, after: &Closure) -> Option<Parting> {
    let (before, after) = (&before.objects, &after.objects);
    let place = before
        .iter()
        .zip(after)
        .position(|(one, other)| one.identity != other.identity || one.in_scope != other.in_scope);
    let place = place.or_else(|| (before.len() != after.len()).then(|| before.len().min(after.len())))?;
    let path = |objects: &[coldstart_loader::LoadedObject]| objects.get(place).map(|object| object.path.clone());
    Some(Parting { place, before: path(before), after: path(after) })
}

/// The files of the machine, with the program as it was before it was bound.
struct Original<'a> {
    files: &'a MachineFiles,
    /// The bound program.
    program: &'a Path,
    /// Where the original stood.
    place: &'a Path,
    binding: &'a Binding,
}

impl FileSystem for Original<'_> {
    fn object(&self, path: &Path) -> Probe {
        let is_original = path == self.place;
        let probe = self.files.object(if is_original { self.program } else { path });
        match probe {
            Probe::Object { identity, facts } if is_original => Probe::Object { identity, facts: self.original(facts) },
            probe => probe,
        }
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.files.is_directory(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.files.canonical(path)
    }
}

impl Original<'_> {
    fn original(&self, mut facts: ObjectFacts) -> ObjectFacts {
        let edit = self.binding.original_edit();
        facts.needed = edit.needed;
        (facts.rpath, facts.runpath) = match edit.path {
            None => (None, None),
            Some(path) if path.kind == coldstart_rewrite::PathKind::Rpath => (Some(path.text), None),
            Some(path) => (None, Some(path.text)),
        };
        facts
    }
}
