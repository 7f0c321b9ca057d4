//! The dlopen notes of objects: which libraries they may open later, and whether the loader would find them.
//!
//! `dlopen` searches as the loader does for the needed libraries of the calling object. So the names in the notes are added as
//! needed libraries, and the rules are followed again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use coldstart_loader::dlopen_notes::{DlopenEntry, read_dlopen_text};
use coldstart_loader::{Closure, FileSystem, FoundBy, Identity, Probe, resolve};
use coldstart_startup::{Files, SimulatedStart};

use super::rules::kind;
use crate::text::harmless;

/// The dlopen notes of a closure.
#[derive(Debug, Default)]
pub struct DlopenNotes {
    /// In load order.
    pub hints: Vec<DlopenHint>,
    /// Objects with an unreadable note, and the reason.
    pub unreadable: Vec<(usize, String)>,
}

/// One entry of an object's dlopen note.
#[derive(Debug)]
pub struct DlopenHint {
    /// The object.
    pub object: usize,
    /// The entry.
    pub entry: DlopenEntry,
    /// The search result of each of its names, in order.
    pub alternatives: Vec<Alternative>,
}

/// One name of an entry with its search result.
#[derive(Debug)]
pub struct Alternative {
    /// The name.
    pub soname: String,
    /// The found file, if any.
    pub found: Option<Found>,
}

/// A found file.
#[derive(Debug)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// The rule as text.
    pub rule: String,
    /// Whether the start loads it anyway.
    pub is_loaded: bool,
}

/// Reads the notes of a closure's objects and searches for their names.
pub(super) fn gather(start: &SimulatedStart, closure: &Closure) -> DlopenNotes {
    let mut gathered = DlopenNotes::default();
    let mut wanted: HashMap<Identity, Vec<Vec<u8>>> = HashMap::new();
    for (index, object) in closure.objects.iter().enumerate() {
        for text in start.files.dlopen_texts(object.identity) {
            match read_dlopen_text(&text) {
                Err(problem) => gathered.unreadable.push((index, problem.to_string())),
                Ok(entries) => {
                    let names = entries.iter().flat_map(|entry| &entry.sonames);
                    let names = names.map(|name| name.clone().into_bytes());
                    wanted.entry(object.identity).or_default().extend(names);
                    let hint = |entry| DlopenHint { object: index, entry, alternatives: Vec::new() };
                    gathered.hints.extend(entries.into_iter().map(hint));
                }
            }
        }
    }
    if gathered.hints.is_empty() || start.loads_nothing() {
        return gathered;
    }
    let wider = resolve(&start.program, &Wanting { files: &start.files, wanted }, &start.surroundings.environment);
    let Ok(wider) = wider else { return gathered };
    for hint in &mut gathered.hints {
        let identity = closure.objects.get(hint.object).map(|object| object.identity);
        let sonames = hint.entry.sonames.iter();
        hint.alternatives = sonames.map(|soname| search(soname, identity, closure, &wider)).collect();
    }
    gathered
}

fn search(soname: &str, identity: Option<Identity>, closure: &Closure, wider: &Closure) -> Alternative {
    let asks = |requester: usize| wider.objects.get(requester).map(|object| object.identity) == identity;
    let mut requests = wider.requests.iter();
    let request = requests.find(|request| request.needed == soname.as_bytes() && asks(request.requester));
    let object = request.and_then(|request| wider.objects.get(request.object?));
    let found = object.map(|object| Found {
        path: object.path.clone(),
        rule: match object.found_by {
            FoundBy::Rpath { of } | FoundBy::Runpath { of } => {
                let name = wider.objects.get(of).and_then(|of| of.path.file_name()).unwrap_or_default();
                format!("{} of {}", kind(object.found_by), harmless(name.as_encoded_bytes()))
            }
            rule => kind(rule).to_owned(),
        },
        is_loaded: closure.objects.iter().any(|loaded| loaded.identity == object.identity),
    });
    Alternative { soname: soname.to_owned(), found }
}

/// Files with the names of dlopen notes added as needed libraries.
struct Wanting<'a> {
    files: &'a Files,
    wanted: HashMap<Identity, Vec<Vec<u8>>>,
}

impl FileSystem for Wanting<'_> {
    fn object(&self, path: &Path) -> Probe {
        let mut probe = self.files.object(path);
        if let Probe::Object { identity, facts } = &mut probe
            && let Some(wanted) = self.wanted.get(identity)
        {
            facts.needed.extend(wanted.iter().cloned());
        }
        probe
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.files.is_directory(path)
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.files.canonical(path)
    }
}
