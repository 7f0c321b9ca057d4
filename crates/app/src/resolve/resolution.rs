//! The resolution of one program, with indexes for lookups.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::{Closure, FailedProbe, FoundBy, LoadedObject, Missing, Request, Stopped};
use coldstart_profile::printable;
use coldstart_startup::{SimulatedStart, StartOptions};

use super::dlopen_notes::{self, DlopenHint, DlopenNotes};
use super::known_later::{self, Opened};
use crate::error::AppError;
use crate::observer::Observer;
use crate::starting;

/// A program, everything it loads, and what it may open later.
#[derive(Debug)]
pub struct Resolution {
    /// The simulated start.
    pub start: SimulatedStart,
    /// What it loads.
    pub closure: Closure,
    /// The dlopen notes of its objects.
    pub notes: DlopenNotes,
    /// Shared objects in a plan or process but not in the closure; `None` if not requested.
    pub opened: Option<Vec<Opened>>,
    /// The processor's subdirectories tried in each directory, with a slash; without the empty one.
    subdirectories: Vec<Vec<u8>>,
    /// By object, the request that loaded it.
    brought_by: Vec<Option<usize>>,
    /// By requester and name, the indices of failed probes.
    failed: HashMap<(usize, Vec<u8>), Vec<usize>>,
}

impl Resolution {
    /// Finds the program, follows the loader's rules, and reads the dlopen notes of the loaded objects.
    pub(super) fn find(
        program: &Path,
        options: &StartOptions,
        known_later: Option<&[PathBuf]>,
        observer: &dyn Observer,
    ) -> Result<Self, AppError> {
        let start = starting::start(program, options, observer)?;
        let closure = starting::closure(&start)?;
        let notes = dlopen_notes::gather(&start, &closure);
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
        let mut subdirectories = start.surroundings.environment.hwcaps.subdirectories();
        subdirectories.retain(|subdirectory| !subdirectory.is_empty());
        Ok(Self { start, closure, notes, opened, subdirectories, brought_by, failed })
    }

    /// Whether a start would succeed. Preloaded objects may be missing.
    pub fn is_complete(&self) -> bool {
        self.closure.stopped.is_none() && self.closure.missing.iter().all(|missing| missing.preload)
    }

    /// All objects except the program and its loader.
    pub fn libraries(&self) -> impl Iterator<Item = &LoadedObject> {
        let objects = self.closure.objects.iter().skip(1);
        objects.filter(|object| object.in_scope && object.found_by != FoundBy::Interpreter)
    }

    /// Number of libraries.
    pub fn library_count(&self) -> usize {
        self.libraries().count()
    }

    /// The path of an object, as the loader knows it.
    pub fn path(&self, object: usize) -> &Path {
        self.closure.objects.get(object).map(|object| object.path.as_path()).unwrap_or(Path::new(""))
    }

    /// The file name of an object, escaped.
    pub fn file_name(&self, object: usize) -> String {
        let path = self.path(object);
        printable(path.file_name().map_or(path, Path::new))
    }

    /// The request that loaded an object; `None` for the program and a loader that no object needs.
    pub fn brought_by(&self, object: usize) -> Option<&Request> {
        self.closure.requests.get(self.brought_by.get(object).copied().flatten()?)
    }

    /// Whether this request loaded its object, rather than an earlier one.
    pub fn brings_in(&self, request: usize) -> bool {
        let object = self.closure.requests.get(request).and_then(|request| request.object);
        object.is_some_and(|object| self.brought_by.get(object).copied().flatten() == Some(request))
    }

    /// Failed probes for a name, in order.
    pub fn failed_for(&self, requester: usize, needed: &[u8]) -> impl Iterator<Item = &FailedProbe> {
        let places = self.failed.get(&(requester, needed.to_vec()));
        places.into_iter().flatten().filter_map(|place| self.closure.failed_probes.get(*place))
    }

    /// Number of failed probes before an object was found.
    pub fn failed_before(&self, object: usize) -> usize {
        self.brought_by(object).map_or(0, |request| self.failed_for(request.requester, &request.needed).count())
    }
    /// The directory on the search list for a file: its parent without the processor's subdirectory.
    pub fn listed_directory(&self, path: &Path) -> PathBuf {
        let parent = path.parent().unwrap_or(path);
        let bytes = [parent.as_os_str().as_bytes(), b"/"].concat();
        let endings = self.subdirectories.iter().filter_map(|ending| bytes.strip_suffix(ending.as_slice()));
        let stripped = endings.map(<[u8]>::len).min();
        let directory = bytes.get(..stripped.unwrap_or(bytes.len())).unwrap_or_default();
        match directory.iter().rposition(|&byte| byte != b'/') {
            Some(last) => PathBuf::from(OsStr::from_bytes(directory.get(..=last).unwrap_or_default())),
            None if directory.is_empty() => PathBuf::from("."),
            None => PathBuf::from("/"),
        }
    }

    /// Requests for an object after it was loaded.
    pub fn later_requests(&self, object: usize) -> impl Iterator<Item = &Request> {
        let requests = self.closure.requests.iter().filter(move |request| request.object == Some(object));
        requests.filter(|request| matches!(request.found_by, Some(FoundBy::AlreadyLoaded(_))))
    }

    /// The chain of requesters from the program to an object.
    pub fn chain(&self, object: usize) -> Vec<usize> {
        let mut chain = vec![object];
        while let Some(next) = chain.last().and_then(|last| self.closure.objects.get(*last)?.requester) {
            if chain.contains(&next) {
                break;
            }
            chain.push(next);
        }
        chain.reverse();
        chain
    }

    /// All occurrences of a library in the start, by name, soname or path.
    pub fn mentions(&self, library: &OsStr) -> Mentions<'_> {
        let wanted = library.as_bytes();
        let is_it = |index: usize, object: &LoadedObject| {
            let mut requests = self.closure.requests.iter();
            requests.any(|request| request.object == Some(index) && request.needed == wanted)
                || object.facts.soname.as_deref() == Some(wanted)
                || object.path.as_os_str() == library
                || object.path.file_name() == Some(library)
        };
        let objects = self.closure.objects.iter().enumerate();
        let missing = self.closure.missing.iter();
        let hints = self.notes.hints.iter();
        Mentions {
            objects: objects.filter(|(index, object)| is_it(*index, object)).map(|(index, _)| index).collect(),
            missing: missing.filter(|missing| missing.needed == wanted || missing.name_asked == wanted).collect(),
            stopped: self.closure.stopped.as_ref().filter(|stopped| stopped.needed == wanted),
            hints: hints.filter(|hint| hint.entry.sonames.iter().any(|name| name.as_bytes() == wanted)).collect(),
        }
    }
}

/// The occurrences of a library in a start.
#[derive(Debug)]
pub struct Mentions<'a> {
    /// The loaded objects.
    pub objects: Vec<usize>,
    /// Requests that found nothing.
    pub missing: Vec<&'a Missing>,
    /// The request for which the start fails.
    pub stopped: Option<&'a Stopped>,
    /// dlopen notes that name it.
    pub hints: Vec<&'a DlopenHint>,
}
