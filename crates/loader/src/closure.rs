//! A program and everything it loads.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::{FoundBy, Identity, ObjectFacts};

/// A program and all objects it loads at its start, and how each was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Closure {
    /// The program first, then what it loads in the order in which symbols are looked up: preloaded objects, then
    /// breadth-first over `DT_NEEDED`. The interpreter stands where the first object asks for it; when none does, last.
    /// The vdso is not a file and not here.
    pub objects: Vec<LoadedObject>,
    /// Every name that was asked for, in order.
    pub requests: Vec<Request>,
    /// Files that were tried in vain, in order.
    pub failed_probes: Vec<FailedProbe>,
    /// Directories that were looked at because a probe in them failed, in order.
    pub directory_probes: Vec<DirectoryProbe>,
    /// Names that were not found. A real start ends at the first one that is needed; here the rest is still resolved,
    /// as the loader's own trace does.
    pub missing: Vec<Missing>,
    /// A file that ends the start, and with it this answer: what would come after it is not resolved.
    pub stopped: Option<Stopped>,
}

/// One object of a closure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedObject {
    /// The path it was opened by, as the loader writes it: symbolic links stay, relative paths stay relative.
    pub path: PathBuf,
    /// The name that was asked for, after expansion of `$ORIGIN` and the like.
    pub name_asked: Vec<u8>,
    /// By which rule it was found.
    pub found_by: FoundBy,
    /// Index of the object that asked first; the program for preloaded objects and the interpreter, none for the program.
    pub requester: Option<usize>,
    /// `LD_PRELOAD` or /etc/ld.so.preload brought it in.
    pub preloaded: bool,
    /// Symbols are looked up in it. Only an interpreter that nobody needs is not in scope.
    pub in_scope: bool,
    /// Which file it is.
    pub identity: Identity,
    /// What it says of itself.
    pub facts: ObjectFacts,
}

/// A name that was asked for, and the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Index of the object that asked.
    pub requester: usize,
    /// The name as it stands in `DT_NEEDED` or `LD_PRELOAD`.
    pub needed: Vec<u8>,
    /// The name after expansion of `$ORIGIN` and the like.
    pub name_asked: Vec<u8>,
    /// Index of the object that answers, none when it is missing.
    pub object: Option<usize>,
    /// By which rule; none when it is missing.
    pub found_by: Option<FoundBy>,
    /// It was preloaded, so that a failure is only warned about.
    pub preload: bool,
    /// The file that was opened and did, also when it turned out to be loaded already; none when nothing was opened.
    pub opened: Option<PathBuf>,
    /// How many of [`Closure::failed_probes`] had failed when the answer was there.
    pub failed_before: usize,
}

/// A file that was tried in vain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedProbe {
    /// Index of the object for which it was tried.
    pub requester: usize,
    /// The name that was asked for.
    pub needed: Vec<u8>,
    /// The file.
    pub path: PathBuf,
    /// Because of which rule it was tried.
    pub rule: FoundBy,
    /// Why it did not do.
    pub failure: ProbeFailure,
}

/// A directory that was looked at (`stat`) because a probe in it failed for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryProbe {
    /// The directory, subdirectory included.
    pub path: PathBuf,
    /// Whether it is there; an absent one is not tried again.
    pub exists: bool,
    /// How many of [`Closure::failed_probes`] had failed when it was looked at; the last of them is the reason.
    pub failed_before: usize,
}

/// A name that no rule could find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Index of the object that asked.
    pub requester: usize,
    /// The name as it stands in `DT_NEEDED` or `LD_PRELOAD`.
    pub needed: Vec<u8>,
    /// The name after expansion of `$ORIGIN` and the like.
    pub name_asked: Vec<u8>,
    /// It was preloaded: the loader warns and goes on.
    pub preload: bool,
}

/// What ends a start while libraries are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Index of the object that asked.
    pub requester: usize,
    /// The name that was asked for.
    pub needed: Vec<u8>,
    /// The file that ended it; empty when the name itself is refused.
    pub path: PathBuf,
    /// Why.
    pub reason: ProbeFailure,
}

/// Why a file did not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeFailure {
    /// It cannot be opened.
    Absent(io::ErrorKind),
    /// It is for addresses of another width.
    OtherClass,
    /// It is for another machine.
    OtherMachine,
    /// It is for the other byte order; glibc ends the start at it.
    OtherByteOrder,
    /// It is preloaded into a secure program and has no set-user-ID bit.
    NotSetUserId,
    /// It is nothing the loader takes.
    NotAnObject(String),
    /// A name with `$ORIGIN` or the like in `DT_NEEDED` of a secure program.
    TokenInSecureProgram,
}

impl fmt::Display for ProbeFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent(kind) => write!(formatter, "{kind}"),
            Self::OtherClass => formatter.write_str("it is for addresses of another width"),
            Self::OtherMachine => formatter.write_str("it is for another machine"),
            Self::OtherByteOrder => formatter.write_str("it is for the other byte order"),
            Self::NotSetUserId => formatter.write_str("the program is secure and the file has no set-user-ID bit"),
            Self::NotAnObject(reason) => formatter.write_str(reason),
            Self::TokenInSecureProgram => formatter.write_str("a secure program may not need names with `$`"),
        }
    }
}

impl Closure {
    /// Objects that are different files with the same `DT_SONAME`, each group in the order of loading. The first of a
    /// group is the one that answers to the name from then on.
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

    /// How an object was found, in words; empty for an index that is none.
    pub fn explain(&self, object: usize) -> String {
        let Some(loaded) = self.objects.get(object) else { return String::new() };
        let by = loaded.requester.map(|by| self.shown(by)).unwrap_or_default();
        let name = String::from_utf8_lossy(&loaded.name_asked);
        let place = loaded.path.parent().map(|parent| parent.display().to_string()).unwrap_or_default();
        let asked = if loaded.preloaded { "preloaded".to_owned() } else { format!("needed by {by}") };
        match loaded.found_by {
            FoundBy::Program => "the program itself".to_owned(),
            FoundBy::Interpreter => format!("the interpreter that {by} names; the kernel maps it first"),
            FoundBy::Path => format!("{asked} as `{name}`, which is a path, so nothing was searched"),
            FoundBy::Rpath { of } => format!("{asked}, in {place} from the RPATH of {}", self.shown(of)),
            FoundBy::Runpath { of } => format!("{asked}, in {place} from the RUNPATH of {}", self.shown(of)),
            FoundBy::LdLibraryPath => format!("{asked}, in {place} from LD_LIBRARY_PATH"),
            FoundBy::LdSoCache => format!("{asked}, the loader's cache names {}", loaded.path.display()),
            FoundBy::DefaultDirectory => format!("{asked}, in the loader's default directory {place}"),
            FoundBy::AlreadyLoaded(_) => format!("{asked}, {}", loaded.found_by),
        }
    }

    fn shown(&self, object: usize) -> String {
        self.objects.get(object).map(|object| format!("`{}`", object.path.display())).unwrap_or_default()
    }
}
