//! From arguments to inspections.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use coldstart_elf::FileKind;
use coldstart_inspect::{Figures, FindingKind, Inspection};
use coldstart_loader::Closure;
use coldstart_pagecache::{Walk, WalkOptions};
use coldstart_profile::printable;
use rayon::prelude::*;

use super::Options;
use super::closure::{self, LoadsOf};
use super::read::{ReadError, inspect_file, kind_of};
use super::survey::{Inspected, Loaded, PassedOver, ProgramClosure, Survey};
use super::targets::{Target, target};
use crate::observer::Observer;

/// Inspects everything that was given.
pub(super) fn survey(named: &[PathBuf], options: &Options<'_>, observer: &dyn Observer) -> Survey {
    let mut files = Vec::new();
    let mut directories = Vec::new();
    for named in named {
        match target(named) {
            Ok(Target::File(path)) => files.push(path),
            Ok(Target::Directory(path)) if options.closure.is_some() => {
                let error = anyhow::anyhow!("`{}` is a directory; --closure takes programs", printable(&path));
                observer.error(error.into());
            }
            Ok(Target::Directory(path)) => directories.push(path),
            Err(error) => observer.error(error),
        }
    }
    match options.closure {
        Some(loads_of) => survey_closures(&files, loads_of, observer),
        None => survey_files(files, directories, options, observer),
    }
}

/// Given files, and files below directories. Only the latter are skipped silently.
fn survey_files(
    named: Vec<PathBuf>,
    directories: Vec<PathBuf>,
    options: &Options<'_>,
    observer: &dyn Observer,
) -> Survey {
    observer.begin(None);
    let other_files = Mutex::new(BTreeMap::new());
    let walk = Walk::new(directories, WalkOptions { one_file_system: options.one_file_system });
    let below = walk.map(|found| found.map(|found| (found.path, false)));
    let all = named.into_iter().map(|path| Ok((path, true))).chain(below);
    // The walk continues during inspections; numbers preserve the order.
    let outcomes = all.enumerate().par_bridge().filter_map(|(number, found)| {
        observer.step();
        let (path, is_named) = match found {
            Ok(found) => found,
            Err(error) => return Some((number, PathBuf::new(), Outcome::Unwalked(error))),
        };
        let mut outcome = look_at(&path, is_named);
        match &mut outcome {
            // There may be hundreds of thousands, so they are only counted.
            Outcome::NoElf(kind) => {
                if let Ok(mut other_files) = other_files.lock() {
                    *other_files.entry(kind.to_string()).or_default() += 1;
                }
                return None;
            }
            Outcome::Inspected(inspection) if !is_named && !options.keep_lists => inspection.forget_lists(),
            _ => {}
        }
        Some((number, path, outcome))
    });
    let mut outcomes: Vec<(usize, PathBuf, Outcome)> = outcomes.collect();
    observer.end();
    outcomes.sort_by_key(|(number, _, _)| *number);
    let mut survey = Survey { other_files: other_files.into_inner().unwrap_or_default(), ..Survey::default() };
    for (_, path, outcome) in outcomes {
        match outcome {
            Outcome::Inspected(inspection) => survey.objects.push(Inspected { path, inspection: *inspection }),
            Outcome::PassedOver(reason) => survey.passed_over.push(PassedOver { path, reason }),
            Outcome::NoElf(_) | Outcome::Gone => {}
            Outcome::Failed(error) => {
                survey.errors += 1;
                observer.error(error.into());
            }
            Outcome::Unwalked(error) => {
                survey.errors += 1;
                observer.error(error.into());
            }
        }
    }
    survey.add_up();
    survey
}

/// The result for one file.
enum Outcome {
    Inspected(Box<Inspection>),
    /// A non-loadable ELF file in a directory.
    PassedOver(String),
    /// A non-ELF file in a directory.
    NoElf(FileKind),
    /// Removed since the directory was read.
    Gone,
    Failed(ReadError),
    /// An unreadable file in a directory.
    Unwalked(coldstart_pagecache::Error),
}

fn look_at(path: &Path, is_named: bool) -> Outcome {
    let inspected = if is_named {
        inspect_file(path)
    } else {
        match kind_of(path) {
            Ok(FileKind::Elf) => inspect_file(path),
            Ok(kind) => return Outcome::NoElf(kind),
            Err(error) => Err(error),
        }
    };
    match inspected {
        Ok(inspection) => Outcome::Inspected(Box::new(inspection)),
        Err(error) if !is_named && error.is_ordinary() => Outcome::PassedOver(error.reason()),
        // It was removed after the walk.
        Err(error) if !is_named && error.is_gone() => Outcome::Gone,
        Err(error) => Outcome::Failed(error),
    }
}

/// Programs with all they load. A library that several programs load is inspected once.
fn survey_closures(programs: &[PathBuf], loads_of: LoadsOf<'_>, observer: &dyn Observer) -> Survey {
    let mut survey = Survey::default();
    let mut known: HashMap<PathBuf, Inspection> = HashMap::new();
    observer.begin(None);
    for program in programs {
        let loads = closure::follow(program, loads_of, |path| {
            let inspection = match known.get(path) {
                Some(inspection) => Ok(inspection.clone()),
                None => inspect_file(path),
            };
            observer.step();
            inspection
        });
        let loads = match loads {
            Ok(loads) => loads,
            Err(error) => {
                survey.errors += 1;
                observer.error(error);
                continue;
            }
        };
        let mut totals = Figures::default();
        let mut objects = Vec::new();
        for (index, (path, inspection)) in loads.objects.into_iter().enumerate() {
            objects.push(loaded(&loads.closure, index, &path));
            match inspection {
                Ok(mut inspection) => {
                    // The whole closure shows the actual failed probes.
                    inspection.findings.retain(|finding| finding.kind != FindingKind::LongSearchPath);
                    totals = totals.plus(&Figures::of(&inspection));
                    known.insert(path, inspection);
                }
                Err(error) => {
                    survey.errors += 1;
                    observer.error(error.into());
                }
            }
        }
        survey.closures.push(ProgramClosure {
            path: program.clone(),
            objects,
            failed_probes: loads.cost.failed_probes,
            failed_probes_by_rule: loads.cost.failed_probes_by_rule.clone(),
            totals,
            findings: loads.cost.findings(),
        });
    }
    observer.end();
    // In load order, each once.
    let mut listed = BTreeSet::new();
    for path in survey.closures.iter().flat_map(|closure| &closure.objects).map(|object| &object.path) {
        if listed.insert(path.clone())
            && let Some(inspection) = known.remove(path)
        {
            survey.objects.push(Inspected { path: path.clone(), inspection });
        }
    }
    survey.add_up();
    survey
}

fn loaded(closure: &Closure, index: usize, path: &Path) -> Loaded {
    let object = closure.objects.get(index);
    let requester = object.and_then(|object| closure.objects.get(object.requester?));
    Loaded {
        path: path.to_owned(),
        found_by: object.map(|object| object.found_by.to_string()).unwrap_or_default(),
        needed_by: requester.map(|requester| printable(&requester.path)),
        explanation: closure.explain(index),
    }
}

impl Survey {
    fn add_up(&mut self) {
        self.totals = self.objects.iter().map(|object| Figures::of(&object.inspection)).sum();
    }
}
