//! The search for a name without slash: rules, their order, and glibc's memory of directories.

use std::rc::Rc;

use super::{Glibc, Tried};
use crate::draft::{Asked, PROGRAM, goes_on_after, misfit_in_search};
use crate::search_path::{Directory, Status};
use crate::{DirectoryProbe, FileSystem, FoundBy, Probe, ProbeFailure, names};

impl<System: FileSystem> Glibc<'_, System> {
    /// Searches a name without slash, by all rules in order.
    pub(super) fn search(&mut self, asked: Asked<'_>, name: &[u8]) -> (Tried, FoundBy) {
        for rule in self.rules_for(asked) {
            let tried = match rule {
                FoundBy::LdSoCache => self.search_cache(asked, name),
                _ => {
                    let list = self.directories_of(rule);
                    let tried = self.search_directories(asked, name, &list, rule);
                    self.drop_absent(rule, &list);
                    tried
                }
            };
            if !matches!(tried, Tried::Failed) {
                return (tried, rule);
            }
        }
        (Tried::Failed, FoundBy::DefaultDirectory)
    }

    /// The rules that apply to an object's requests.
    fn rules_for(&self, asked: Asked<'_>) -> Vec<FoundBy> {
        let facts = self.object(asked.requester).map(|object| &object.facts);
        let has_runpath = facts.is_some_and(|facts| facts.runpath.is_some());
        let mut rules = Vec::new();
        if !has_runpath {
            let mut next = self.rpath_owners.get(asked.requester).copied().flatten();
            while let Some(of) = next {
                rules.push(FoundBy::Rpath { of });
                next = self.rpath_owner_above(of);
            }
        }
        rules.push(FoundBy::LdLibraryPath);
        if has_runpath {
            rules.push(FoundBy::Runpath { of: asked.requester });
        }
        // In secure mode a preloaded object must have its set-user-ID bit, and the cache does not store that.
        if !(self.environment.secure && asked.preload) {
            rules.push(FoundBy::LdSoCache);
        }
        if !facts.is_some_and(|facts| facts.no_default_libraries) {
            rules.push(FoundBy::DefaultDirectory);
        }
        rules
    }

    /// The directories of a rule. An empty RPATH has none, although an empty element of one is the current directory.
    fn directories_of(&mut self, rule: FoundBy) -> Rc<[usize]> {
        let (of, text) = match rule {
            FoundBy::LdLibraryPath => return self.library_path.clone(),
            FoundBy::DefaultDirectory => return self.default_path.clone(),
            FoundBy::Rpath { of } => (of, self.object(of).and_then(|object| object.facts.effective_rpath())),
            FoundBy::Runpath { of } => (of, self.object(of).and_then(|object| object.facts.runpath.as_deref())),
            _ => return Rc::default(),
        };
        let Some(text) = text.filter(|text| !text.is_empty()) else { return Rc::default() };
        if let Some(list) = self.search_lists.get(&rule) {
            return list.clone();
        }
        let text = text.to_vec();
        let list: Rc<[usize]> =
            if self.is_inhibited(of) { Rc::default() } else { self.expand_list(of, &text, b":").into() };
        self.search_lists.insert(rule, list.clone());
        list
    }

    /// Whether `--inhibit-rpath` lists an object (`decompose_rpath`; its comparison continues where the last one
    /// ended).
    fn is_inhibited(&self, of: usize) -> bool {
        let Some(list) = self.environment.inhibit_rpath.as_deref().filter(|_| !self.environment.secure) else {
            return false;
        };
        // The program has no name.
        let path =
            self.object(of).filter(|_| of != PROGRAM).map(|object| names::bytes(&object.path)).unwrap_or_default();
        list.split(|&byte| byte == b':').enumerate().any(|(number, item)| {
            // An empty item at the end is ignored, except when the whole list is empty.
            item == path && !(item.is_empty() && number > 0 && list.ends_with(b":"))
        })
    }

    /// Removes absent directories from a list. The loader keeps and skips them each time; with thousands of them that
    /// takes most of the time.
    fn drop_absent(&mut self, rule: FoundBy, list: &[usize]) {
        let is_here = |directory: &usize| self.directories.get(*directory).is_some_and(Directory::may_exist);
        let here: Rc<[usize]> = list.iter().copied().filter(is_here).collect();
        if here.len() == list.len() {
            return;
        }
        match rule {
            FoundBy::LdLibraryPath => self.library_path = here,
            FoundBy::DefaultDirectory => self.default_path = here,
            rule => {
                self.search_lists.insert(rule, here);
            }
        }
    }

    /// Tries a name in each subdirectory of each directory (`open_path`).
    fn search_directories(&mut self, asked: Asked<'_>, name: &[u8], list: &[usize], rule: FoundBy) -> Tried {
        for &directory in list {
            let mut gives_up = false;
            let mut any_here = false;
            for number in 0..self.subdirectories.len() {
                let Some((status, subdirectory)) = self.subdirectory(directory, number) else { continue };
                let path = [subdirectory.as_slice(), name].concat();
                let before = self.draft.closure.failed_probes.len();
                let tried = self.probe(asked, path, rule);
                let fits = matches!(tried, Tried::Fits(..));
                // An error that ends the search leaves the state unchanged; that matters for preloaded objects.
                if matches!(tried, Tried::Stop) {
                    return tried;
                }
                let mut exists = true;
                if status == Status::Unknown {
                    exists = fits || self.look_at(&subdirectory);
                    self.remember(directory, number, exists);
                }
                any_here |= exists;
                if !matches!(tried, Tried::Failed) {
                    return tried;
                }
                // The last failure of the directory counts. A failed directory check sets ENOENT.
                let failure = self.draft.closure.failed_probes.get(before).map(|probe| &probe.failure);
                gives_up = exists && matches!(failure, Some(ProbeFailure::Absent(kind)) if !goes_on_after(*kind));
            }
            if any_here && gives_up {
                break;
            }
        }
        Tried::Failed
    }

    /// The state of a subdirectory, and its name with a trailing slash (empty for the current directory); none if it
    /// is known to be absent.
    fn subdirectory(&self, directory: usize, number: usize) -> Option<(Status, Vec<u8>)> {
        let subdirectory = self.subdirectories.get(number)?;
        let directory = self.directories.get(directory)?;
        let status = directory.status.get(number).copied().filter(|&status| status != Status::Absent)?;
        Some((status, [directory.name.as_slice(), subdirectory].concat()))
    }

    fn remember(&mut self, directory: usize, number: usize, exists: bool) {
        let status = self.directories.get_mut(directory).and_then(|directory| directory.status.get_mut(number));
        if let Some(status) = status {
            *status = if exists { Status::Exists } else { Status::Absent };
        }
    }

    /// Checks whether a directory exists, and records the check.
    ///
    /// The loader cuts the path at its last slash. For the root directory nothing remains: it checks "", which never
    /// exists, and does not try the root again.
    fn look_at(&mut self, directory: &[u8]) -> bool {
        let directory = directory.strip_suffix(b"/").unwrap_or(directory);
        let exists = !directory.is_empty() && self.system.is_directory(names::path(directory));
        self.draft.closure.directory_probes.push(DirectoryProbe {
            path: names::path(directory).to_owned(),
            exists,
            failed_before: self.draft.closure.failed_probes.len(),
        });
        exists
    }

    /// Tries the path of a name in the cache.
    fn search_cache(&mut self, asked: Asked<'_>, name: &[u8]) -> Tried {
        let Some(cache) = &self.environment.cache else { return Tried::Failed };
        let (levels, processor) = (&self.environment.hwcaps.levels, self.environment.processor_levels());
        let Some(entry) = cache.lookup_masked(name, self.cache_flags, levels, processor) else {
            return Tried::Failed;
        };
        let own_only = self.object(asked.requester).is_some_and(|object| object.facts.no_default_libraries);
        if own_only && self.values.trusted.iter().any(|directory| entry.path.starts_with(directory)) {
            return Tried::Failed;
        }
        self.probe(asked, entry.path.to_vec(), FoundBy::LdSoCache)
    }

    /// Opens a file and checks it against the program (`open_verify`).
    pub(super) fn probe(&mut self, asked: Asked<'_>, path: Vec<u8>, rule: FoundBy) -> Tried {
        let failure = match self.system.object(names::path(&path)) {
            Probe::Object { identity, facts } => {
                let program = self.object(PROGRAM).map(|program| &program.facts);
                match program.and_then(|program| misfit_in_search(program, &facts, self.environment)) {
                    None => {
                        let searched = rule != FoundBy::Path;
                        if self.environment.secure && asked.preload && searched && !facts.set_user_id {
                            ProbeFailure::NotSetUserId
                        } else {
                            return Tried::Fits(path, identity, facts);
                        }
                    }
                    Some(failure) => failure,
                }
            }
            Probe::Absent(kind) => ProbeFailure::Absent(kind),
            Probe::NotAnObject(reason) => ProbeFailure::NotAnObject(reason),
        };
        if matches!(failure, ProbeFailure::NotAnObject(_) | ProbeFailure::OtherByteOrder) {
            self.draft.stop(asked, &path, failure);
            return Tried::Stop;
        }
        self.draft.fail(asked, &path, rule, failure);
        Tried::Failed
    }
}
