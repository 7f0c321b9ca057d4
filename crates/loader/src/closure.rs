//! A program and everything it loads.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{FoundBy, Identity, ObjectFacts};

/// A program, all objects it loads at start-up, and how each was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The program first, then the loaded objects in symbol lookup order: preloaded objects, then breadth-first over
    /// `DT_NEEDED`. The interpreter is where the first object needs it, or last if none does. The vdso is not a file
    /// and not included.
    pub objects: Vec<LoadedObject>,
    /// Every requested name, in order.
    pub requests: Vec<Request>,
    /// Failed probes, in order.
    pub failed_probes: Vec<FailedProbe>,
    /// Directories that were checked after a failed probe in them, in order.
    pub directory_probes: Vec<DirectoryProbe>,
    /// Names that were not found. A real start ends at the first needed one; here the rest is still resolved, as in
    /// the loader's own trace.
    pub missing: Vec<Missing>,
    /// The file that ends the start, and with it this closure: nothing after it is resolved.
    pub stopped: Option<Stopped>,
}

/// One object of a closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedObject {
    /// The path it was opened by, in the loader's spelling: symbolic links and relative paths stay.
    pub path: PathBuf,
    /// The requested name, with `$ORIGIN` and the like expanded.
    pub name_asked: Vec<u8>,
    /// The rule by which it was found.
    pub found_by: FoundBy,
    /// Index of the first object that requested it; the program for preloaded objects and the interpreter, none for
    /// the program.
    pub requester: Option<usize>,
    /// Preloaded by `LD_PRELOAD` or /etc/ld.so.preload.
    pub preloaded: bool,
    /// Symbols are looked up in it. Only an interpreter that no object needs is not in scope.
    pub in_scope: bool,
    /// Its file identity.
    pub identity: Identity,
    /// The properties read from its file.
    pub facts: ObjectFacts,
}

/// A requested name, and the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the requesting object.
    pub requester: usize,
    /// The name as it is in `DT_NEEDED` or `LD_PRELOAD`.
    pub needed: Vec<u8>,
    /// The name with `$ORIGIN` and the like expanded.
    pub name_asked: Vec<u8>,
    /// Index of the object found, none if it is missing.
    pub object: Option<usize>,
    /// The rule by which it was found; none if it is missing.
    pub found_by: Option<FoundBy>,
    /// Preloaded: a failure is only a warning.
    pub preload: bool,
    /// The file that was opened, even if it turned out to be loaded already; none if no file was opened.
    pub opened: Option<PathBuf>,
    /// Length of [`Closure::failed_probes`] when the request was resolved.
    pub failed_before: usize,
}

/// A failed probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedProbe {
    /// Index of the requesting object.
    pub requester: usize,
    /// The requested name.
    pub needed: Vec<u8>,
    /// The file.
    pub path: PathBuf,
    /// The rule that led to the probe.
    pub rule: FoundBy,
    /// Why it failed.
    pub failure: ProbeFailure,
}

/// A directory that was checked with `stat` after the first failed probe in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryProbe {
    /// The directory, subdirectory included.
    pub path: PathBuf,
    /// Whether it exists; an absent one is not tried again.
    pub exists: bool,
    /// Length of [`Closure::failed_probes`] when it was checked; the last of them is the reason.
    pub failed_before: usize,
}

/// A name that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Index of the requesting object.
    pub requester: usize,
    /// The name as it is in `DT_NEEDED` or `LD_PRELOAD`.
    pub needed: Vec<u8>,
    /// The name with `$ORIGIN` and the like expanded.
    pub name_asked: Vec<u8>,
    /// Preloaded: the loader warns and continues.
    pub preload: bool,
}

/// What ends a start during the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Index of the requesting object.
    pub requester: usize,
    /// The requested name.
    pub needed: Vec<u8>,
    /// The file that ended it; empty if the name itself is refused.
    pub path: PathBuf,
    /// Why.
    pub reason: ProbeFailure,
}

/// Why a file was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeFailure {
    /// It cannot be opened.
    Absent(io::ErrorKind),
    /// Wrong ELF class.
    OtherClass,
    /// Wrong architecture.
    OtherMachine,
    /// Wrong byte order; glibc ends the start at it.
    OtherByteOrder,
    /// Preloaded into a program in secure mode, without a set-user-ID bit.
    NotSetUserId,
    /// Not a file that the loader accepts.
    NotAnObject(String),
    /// A name with `$ORIGIN` or the like in `DT_NEEDED` of a program in secure mode.
    TokenInSecureProgram,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(kind) => write!(formatter, "{kind}"),
            Self::OtherClass => formatter.write_str("wrong ELF class"),
            Self::OtherMachine => formatter.write_str("wrong architecture"),
            Self::OtherByteOrder => formatter.write_str("wrong byte order"),
            Self::NotSetUserId => {
                formatter.write_str("the program runs in secure mode and the file has no set-user-ID bit")
            }
            Self::NotAnObject(reason) => formatter.write_str(reason),
            Self::TokenInSecureProgram => formatter.write_str("names with `$` are refused in secure mode"),
        }
    }
}

impl Closure {
    /// Different files with the same `DT_SONAME`, each group in load order. Requests for the soname get the first of
    /// a group.
    pub fn same_sonames(&self) -> Vec<Vec<usize>> {
        let mut groups: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (index, object) in self.objects.iter().enumerate() {
            if let Some(soname) = &object.facts.soname {
                groups.entry(soname).or_default().push(index);
            }
        }
        let mut groups: Vec<Vec<usize>> = groups.into_values().filter(|group| group.len() > 1).collect();
        groups.sort();
        groups
    }

    /// How an object was found, as a sentence; empty for an invalid index.
    pub fn explain(&self, object: usize) -> String {
        let Some(loaded) = self.objects.get(object) else { return String::new() };
        let by = loaded.requester.map(|by| self.shown(by)).unwrap_or_default();
        let name = String::from_utf8_lossy(&loaded.name_asked);
        let place = loaded.path.parent().map(|parent| parent.display().to_string()).unwrap_or_default();
        let asked = if loaded.preloaded { "preloaded".to_owned() } else { format!("needed by {by}") };
        match loaded.found_by {
            FoundBy::Program => "the program itself".to_owned(),
            FoundBy::Interpreter => format!("the interpreter of {by}, mapped first by the kernel"),
            FoundBy::Path => format!("{asked} by the path `{name}`, without a search"),
            FoundBy::Rpath { of } => format!("{asked}, in {place} from the RPATH of {}", self.shown(of)),
            FoundBy::Runpath { of } => format!("{asked}, in {place} from the RUNPATH of {}", self.shown(of)),
            FoundBy::LdLibraryPath => format!("{asked}, in {place} from LD_LIBRARY_PATH"),
            FoundBy::LdSoCache => format!("{asked}, as {} from the loader's cache", loaded.path.display()),
            FoundBy::DefaultDirectory => format!("{asked}, in the loader's default directory {place}"),
            FoundBy::AlreadyLoaded(_) => format!("{asked}, {}", loaded.found_by),
        }
    }

    fn shown(&self, object: usize) -> String {
        self.objects.get(object).map(|object| format!("`{}`", object.path.display())).unwrap_or_default()
    }
}
