//! What a program loads, and the search for it.

use std::path::Path;

use coldstart_loader::{Closure, FailedProbe, LoadedObject, Missing};

use crate::column::row;

row! {
    /// One object that a program loads.
    LoadedRow in "loaded" {
        /// Its place in the order of symbol lookup, from 0: the program itself.
        position: u64,
        /// The file, as the loader opens it.
        path: String,
        /// The name that was asked for.
        name: String,
        /// The rule by which it was found, as `coldstart resolve --json` names it.
        rule: &'static str,
        /// The position of the first object that asked for it; absent for the program.
        needed_by: Option<u64>,
        /// Whether it was preloaded.
        is_preloaded: bool,
    }
}

row! {
    /// One failed probe: a file that the loader looks for and does not find.
    FailedProbeRow in "failed_probes" {
        /// Its place in the order of the search, from 0.
        position: u64,
        /// The file that is not there.
        path: String,
        /// The library that was searched for.
        library: String,
        /// The position of the object that asked for it.
        needed_by: u64,
        /// The rule that led there.
        rule: &'static str,
    }
}

row! {
    /// One library that the loader does not find.
    MissingRow in "missing" {
        /// The library.
        library: String,
        /// The position of the object that asked for it.
        needed_by: u64,
        /// Whether it is preloaded: the program then starts without it.
        is_preloaded: bool,
    }
}

impl LoadedRow {
    /// The objects of a closure.
    pub fn of(closure: &Closure) -> Vec<Self> {
        let row = |(position, object): (u64, &LoadedObject)| Self {
            position,
            path: shown(&object.path),
            name: text(&object.name_asked),
            rule: object.found_by.name(),
            needed_by: object.requester.map(|requester| requester as u64),
            is_preloaded: object.preloaded,
        };
        (0..).zip(&closure.objects).map(row).collect()
    }
}

impl FailedProbeRow {
    /// The failed probes of a closure.
    pub fn of(closure: &Closure) -> Vec<Self> {
        let row = |(position, probe): (u64, &FailedProbe)| Self {
            position,
            path: shown(&probe.path),
            library: text(&probe.needed),
            needed_by: probe.requester as u64,
            rule: probe.rule.name(),
        };
        (0..).zip(&closure.failed_probes).map(row).collect()
    }
}

impl MissingRow {
    /// The missing libraries of a closure.
    pub fn of(closure: &Closure) -> Vec<Self> {
        let row = |missing: &Missing| Self {
            library: text(&missing.needed),
            needed_by: missing.requester as u64,
            is_preloaded: missing.preload,
        };
        closure.missing.iter().map(row).collect()
    }
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
