//! The requesters of libraries, and the directories that each of them searches: the input for an auditing library's
//! table.

use std::path::Path;

use coldstart_loader::{Closure, Environment, Machine, ObjectFacts, expand_tokens};
use serde::Serialize;

use crate::audit::{self, Search};
use crate::hoist::lossy;
use crate::origin::{PROGRAM, bytes, directory_of, path};

/// An object that requests libraries, at start-up or later, with its searched directories in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Requester {
    /// The path by which it was opened; for the program, the one without symbolic links.
    pub path: String,
    /// It is the program itself.
    pub is_program: bool,
    /// Its `DT_SONAME`.
    pub soname: Option<String>,
    /// Directories of RPATHs, searched before `LD_LIBRARY_PATH`, then the others. The cache is searched before the
    /// first [`SearchedDirectory::Default`].
    pub directories: Vec<SearchedDirectory>,
}

impl Requester {
    /// Whether [`Self::search`] has all directories before the cache, so that names missing in them come from the
    /// cache.
    pub(crate) fn ends_at_cache(&self) -> bool {
        let relative = |directory: &SearchedDirectory| match directory {
            SearchedDirectory::Rpath(text) | SearchedDirectory::Runpath(text) => !text.starts_with('/'),
            SearchedDirectory::Default(_) => false,
        };
        let has_default = self.directories.iter().any(|directory| matches!(directory, SearchedDirectory::Default(_)));
        has_default && !self.directories.iter().any(relative)
    }

    /// The search for the auditing library's table. The loader's cache comes before its default directories, so these
    /// are left out; so is everything after a directory that depends on the current directory.
    pub fn search(&self) -> Search {
        let requester = match self.is_program {
            true => audit::Requester::Program,
            false => audit::Requester::Library(audit::Place::Absolute(self.path.clone().into_bytes())),
        };
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for directory in &self.directories {
            let (list, text) = match directory {
                SearchedDirectory::Rpath(text) => (&mut before, text),
                SearchedDirectory::Runpath(text) => (&mut after, text),
                SearchedDirectory::Default(_) => break,
            };
            if !text.starts_with('/') {
                break;
            }
            list.push(text.clone().into_bytes());
        }
        Search { requester, before_library_path: before, after_library_path: after }
    }
}

/// A searched directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", content = "directory", rename_all = "kebab-case")]
pub enum SearchedDirectory {
    /// `DT_RPATH` of the requester, or of one of its requesters.
    Rpath(String),
    /// `DT_RUNPATH` of the requester; searched after `LD_LIBRARY_PATH`.
    Runpath(String),
    /// The loader's default; searched after `LD_LIBRARY_PATH` and the cache.
    Default(String),
}

/// The values of tokens other than `$ORIGIN`.
pub(crate) struct Tokens {
    lib: Option<Vec<u8>>,
    platform: Option<Vec<u8>>,
}

impl Tokens {
    /// The values for objects that a program with these facts loads.
    pub(crate) fn of(program: Option<&ObjectFacts>, environment: &Environment) -> Self {
        let machine = program.and_then(Machine::of);
        let lib = environment.lib.clone().or_else(|| Some(machine?.lib()));
        Self { lib, platform: environment.platform.clone() }
    }

    /// The directories of a list, for an object opened by this path.
    fn expand(&self, opened: &[u8], text: &[u8]) -> Vec<String> {
        let expanded = |element: &[u8]| match element {
            // The current directory.
            b"" => Some(b".".to_vec()),
            element => {
                expand_tokens(element, Some(directory_of(opened)), self.lib.as_deref(), self.platform.as_deref())
            }
        };
        let elements = text.split(|byte| *byte == b':').filter(|_| !text.is_empty());
        elements.filter_map(expanded).map(|element| lossy(&element)).collect()
    }
}

/// An object that is opened later, by this path. It has its own directories only, because its requester is unknown.
/// Those of a `DT_RPATH` come first in any case; with a `DT_RUNPATH` there are no others.
pub(crate) fn opened_later(path: &Path, facts: &ObjectFacts, tokens: &Tokens) -> Requester {
    let list = |text: Option<&[u8]>| tokens.expand(bytes(path), text.unwrap_or_default());
    let mut directories: Vec<SearchedDirectory> =
        list(facts.effective_rpath()).into_iter().map(SearchedDirectory::Rpath).collect();
    directories.extend(list(facts.runpath.as_deref()).into_iter().map(SearchedDirectory::Runpath));
    // Without a RUNPATH, the directories in between are unknown.
    if facts.runpath.is_some() && !facts.no_default_libraries {
        directories.push(SearchedDirectory::Default(String::new()));
    }
    let path = path.display().to_string();
    Requester { path, is_program: false, soname: facts.soname.as_deref().map(lossy), directories }
}

/// The objects of a closure with their directories, in load order, by glibc's rules (elf/dl-load.c,
/// `_dl_map_object`).
pub(crate) fn requesters(closure: &Closure, program: &Path, environment: &Environment) -> Vec<Requester> {
    let program_facts = closure.objects.first().map(|program| &program.facts);
    let tokens = Tokens::of(program_facts, environment);
    let defaults = environment.system_directories.clone();
    let defaults = defaults.or_else(|| Some(Machine::of(program_facts?)?.multiarch_directories())).unwrap_or_default();
    let opened = |index: usize| match index {
        PROGRAM => bytes(program),
        _ => closure.objects.get(index).map(|object| bytes(&object.path)).unwrap_or_default(),
    };
    let expand = |of: usize, text: &[u8]| tokens.expand(opened(of), text);
    let requester = |(index, object): (usize, &coldstart_loader::LoadedObject)| {
        let mut directories = Vec::new();
        if object.facts.runpath.is_none() {
            let mut next = Some(index);
            while let Some((of, facts)) = next.and_then(|of| Some((of, closure.objects.get(of)?))) {
                let list = facts.facts.effective_rpath().unwrap_or_default();
                directories.extend(expand(of, list).into_iter().map(SearchedDirectory::Rpath));
                next = facts.requester;
            }
        }
        let list = object.facts.runpath.as_deref().unwrap_or_default();
        directories.extend(expand(index, list).into_iter().map(SearchedDirectory::Runpath));
        if !object.facts.no_default_libraries {
            directories.extend(defaults.iter().map(|directory| SearchedDirectory::Default(lossy(directory))));
        }
        let path = path(opened(index)).display().to_string();
        Requester { path, is_program: index == PROGRAM, soname: object.facts.soname.as_deref().map(lossy), directories }
    };
    closure.objects.iter().enumerate().map(requester).collect()
}
