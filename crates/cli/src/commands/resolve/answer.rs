//! What was found out about one program, and what one wants to look up in it again and again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, FailedProbe, FoundBy, LoadedObject, Request};
use coldstart_startup::{SimulatedStart, StartOptions};

use super::hints::{self, Hints};
use super::known_later::{self, Opened};
use crate::commands::starting;
use crate::error::CliError;
use crate::output::path::printable;

/// The program, everything it loads, and what it may open later.
pub(super) struct Answer {
    /// The start that was simulated.
    pub(super) start: SimulatedStart,
    /// What it loads.
    pub(super) closure: Closure,
    /// What its objects say of libraries opened later.
    pub(super) hints: Hints,
    /// Shared objects that a plan or a process knows and the closure does not hold; none when nobody asked.
    pub(super) opened: Option<Vec<Opened>>,
    /// The processor's subfolders that are tried in each directory, each with its slash; the empty one is left out.
    pub(super) subfolders: Vec<Vec<u8>>,
    /// By object, the request that brought it in.
    brought_by: Vec<Option<usize>>,
    /// By requester and name, the places in the list of failed probes.
    failed: HashMap<(usize, Vec<u8>), Vec<usize>>,
}

impl Answer {
    /// Finds the program, follows the loader's rules, and reads the notes of what is loaded.
    pub(super) fn find(
        typed: &Path,
        options: &StartOptions,
        known_later: Option<&[PathBuf]>,
    ) -> Result<Self, CliError> {
        let start = starting::start(typed, options)?;
        let closure = starting::closure(&start)?;
        let hints = hints::gather(&start, &closure);
        let opened = known_later.map(|paths| known_later::not_loaded(paths, &start, &closure));
        let mut brought_by = vec![None; closure.objects.len()];
        for (index, request) in closure.requests.iter().enumerate() {
            let is_first = !matches!(request.found_by, Some(FoundBy::AlreadyLoaded(_)));
            if let Some(slot) = request.object.and_then(|object| brought_by.get_mut(object))
                && slot.is_none()
                && is_first
            {
                *slot = Some(index);
            }
        }
        let mut failed: HashMap<(usize, Vec<u8>), Vec<usize>> = HashMap::new();
        for (index, probe) in closure.failed_probes.iter().enumerate() {
            failed.entry((probe.requester, probe.needed.clone())).or_default().push(index);
        }
        let mut subfolders = start.surroundings.environment.hwcaps.subdirectories();
        subfolders.retain(|subfolder| !subfolder.is_empty());
        Ok(Self { start, closure, hints, opened, subfolders, brought_by, failed })
    }

    /// Whether a start would come through: preloaded objects may be missing.
    pub(super) fn is_complete(&self) -> bool {
        self.closure.stopped.is_none() && self.closure.missing.iter().all(|missing| missing.preload)
    }

    /// The libraries that symbols are looked up in: all objects but the program and its loader.
    pub(super) fn libraries(&self) -> impl Iterator<Item = &LoadedObject> {
        let objects = self.closure.objects.iter().skip(1);
        objects.filter(|object| object.in_scope && object.found_by != FoundBy::Interpreter)
    }

    /// Number of libraries.
    pub(super) fn library_count(&self) -> usize {
        self.libraries().count()
    }

    /// The path of an object, as the loader has it.
    pub(super) fn path(&self, object: usize) -> &Path {
        self.closure.objects.get(object).map(|object| object.path.as_path()).unwrap_or(Path::new(""))
    }

    /// The last part of an object's path, harmless.
    pub(super) fn file_name(&self, object: usize) -> String {
        let path = self.path(object);
        printable(path.file_name().map_or(path, Path::new))
    }

    /// The request that brought an object in; none for the program and a loader that nobody needs.
    pub(super) fn brought_by(&self, object: usize) -> Option<&Request> {
        self.closure.requests.get(self.brought_by.get(object).copied().flatten()?)
    }

    /// Whether this request, and no earlier one, brought its object in.
    pub(super) fn brings_in(&self, request: usize) -> bool {
        let object = self.closure.requests.get(request).and_then(|request| request.object);
        object.is_some_and(|object| self.brought_by.get(object).copied().flatten() == Some(request))
    }

    /// What was tried in vain for a name, in order.
    pub(super) fn failed_for(&self, requester: usize, needed: &[u8]) -> impl Iterator<Item = &FailedProbe> {
        let places = self.failed.get(&(requester, needed.to_vec()));
        places.into_iter().flatten().filter_map(|place| self.closure.failed_probes.get(*place))
    }

    /// What was tried in vain on the way to an object.
    pub(super) fn failed_before(&self, object: usize) -> usize {
        self.brought_by(object).map_or(0, |request| self.failed_for(request.requester, &request.needed).count())
    }
}
