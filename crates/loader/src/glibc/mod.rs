//! glibc's rules (elf/dl-load.c, elf/dl-deps.c, elf/rtld.c of 2.33 and later).
//!
//! A name is first compared with the loaded objects, then searched: RPATH of the requester and of its requesters,
//! LD_LIBRARY_PATH, RUNPATH of the requester only, the cache, the default directories.

mod search;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::rc::Rc;

use crate::draft::{Answer, Asked, Draft, PROGRAM};
use crate::search_path::{Directories, with_one_slash};
use crate::tokens::{Secure, Tokens, has_token};
use crate::{
    Closure, Environment, Error, Fault, FileSystem, FoundBy, Identity, Known, LoadedObject, Machine, ObjectFacts,
    ProbeFailure, Start, names,
};

/// Names in `LD_PRELOAD` from this length on are skipped (`SECURE_PATH_LIMIT` in elf/rtld.c).
const LONGEST_PATH: usize = 4096;
/// The same in secure mode (`SECURE_NAME_LIMIT`).
const LONGEST_SECURE_NAME: usize = 255;

/// A program's start so far.
pub(crate) struct Glibc<'a, System> {
    system: &'a System,
    environment: &'a Environment,
    draft: Draft,
    /// Objects in symbol lookup order.
    order: Vec<usize>,
    /// The object for each name: the first one mapped that matches it.
    known_names: HashMap<Vec<u8>, (usize, Known)>,
    /// The object for each file.
    known_files: HashMap<Identity, usize>,
    /// For each object, the nearest object with an RPATH among itself and its requesters.
    rpath_owners: Vec<Option<usize>>,
    values: TokenValues<'a>,
    /// Directories of RPATH and RUNPATH, from the first search in them.
    search_lists: HashMap<FoundBy, Rc<[usize]>>,
    directories: Directories,
    subdirectories: Vec<Vec<u8>>,
    library_path: Rc<[usize]>,
    default_path: Rc<[usize]>,
    cache_flags: &'static [u32],
}

/// The values of tokens.
struct TokenValues<'a> {
    environment: &'a Environment,
    /// The directory of each object.
    origins: Vec<Option<Vec<u8>>>,
    lib: Option<Vec<u8>>,
    /// The default directories, each with a trailing slash.
    trusted: Vec<Vec<u8>>,
}

impl TokenValues<'_> {
    fn of(&self, object: usize) -> Tokens<'_> {
        let secure = Secure { is_program: object == PROGRAM, trusted: &self.trusted };
        Tokens {
            origin: self.origins.get(object).and_then(|origin| origin.as_deref()),
            lib: self.lib.as_deref(),
            platform: self.environment.platform.as_deref(),
            secure: self.environment.secure.then_some(secure),
        }
    }
}

/// The result of a probe.
enum Tried {
    /// Accepted; its path and contents.
    Fits(Vec<u8>, Identity, ObjectFacts),
    /// Rejected; the search continues.
    Failed,
    /// The start ends.
    Stop,
}

impl<'a, System: FileSystem> Glibc<'a, System> {
    /// Enters the program and its interpreter.
    pub(crate) fn begin(program: &Path, system: &'a System, environment: &'a Environment) -> Result<Self, Error> {
        let mut draft = Draft::begin(program, system)?;
        let interpreter = draft.add_interpreter(system, environment)?;
        let mut glibc = Self::around(draft, system, environment);
        glibc.enter_program(names::bytes(program));
        if let Some(interpreter) = interpreter {
            glibc.enter(interpreter);
        }
        glibc.enter_library_path();
        Ok(glibc)
    }

    /// Enters the objects of a finished closure, to simulate further searches.
    pub(crate) fn again(closure: &Closure, system: &'a System, environment: &'a Environment) -> Self {
        let mut glibc = Self::around(Draft::again(closure), system, environment);
        if let Some(program) = closure.objects.first() {
            glibc.enter_program(names::bytes(&program.path));
        }
        (1..closure.objects.len()).for_each(|object| glibc.enter(object));
        glibc.enter_library_path();
        glibc
    }

    /// The file that a search from an object finds, ignoring the loaded objects; none if it finds none.
    pub(crate) fn would_find(&mut self, requester: usize, name: &[u8]) -> Option<(Vec<u8>, FoundBy, Identity)> {
        let found = self.search(Asked { requester, needed: name, preload: false }, name);
        self.draft.forget_search();
        match found {
            (Tried::Fits(path, identity, _), rule) => Some((path, rule, identity)),
            _ => None,
        }
    }

    /// The tables of a start, still empty.
    fn around(draft: Draft, system: &'a System, environment: &'a Environment) -> Self {
        let machine = draft.closure.objects.first().and_then(|program| Machine::of(&program.facts));
        let system_directories = environment.system_directories.clone();
        let system_directories =
            system_directories.or_else(|| Some(machine?.multiarch_directories())).unwrap_or_default();
        let subdirectories = environment.hwcaps.subdirectories();
        let mut directories = Directories::new(subdirectories.len());
        let trusted: Vec<Vec<u8>> = system_directories.into_iter().map(with_one_slash).collect();
        let default_path = trusted.iter().map(|directory| directories.enter(directory.clone())).collect();
        let lib = environment.lib.clone().or_else(|| Some(machine?.lib()));
        Self {
            system,
            environment,
            draft,
            order: vec![PROGRAM],
            known_names: HashMap::new(),
            known_files: HashMap::new(),
            rpath_owners: Vec::new(),
            values: TokenValues { environment, origins: Vec::new(), lib, trusted },
            search_lists: HashMap::new(),
            directories,
            subdirectories,
            library_path: Rc::default(),
            default_path,
            cache_flags: machine.map(|machine| machine.cache_flags).unwrap_or_default(),
        }
    }

    fn enter_library_path(&mut self) {
        if let Some(text) = self.environment.library_path().filter(|text| !text.is_empty()) {
            self.library_path = self.expand_list(PROGRAM, text, b":;").into();
        }
    }

    /// Loads the preloaded and the needed objects.
    pub(crate) fn run(mut self) -> Closure {
        for name in self.preloads() {
            self.ask(Asked { requester: PROGRAM, needed: &name, preload: true });
        }
        let mut next = 0;
        while let Some(&requester) = self.order.get(next) {
            next += 1;
            let needed = self.object(requester).map(|object| object.facts.needed.clone()).unwrap_or_default();
            for name in &needed {
                if self.draft.closure.stopped.is_some() {
                    return self.draft.finish(self.order);
                }
                self.ask(Asked { requester, needed: name, preload: false });
            }
        }
        self.draft.finish(self.order)
    }

    /// Names to preload: `LD_PRELOAD` and then `--preload`, split at spaces and colons, then the file's, where `#`
    /// begins a comment (`handle_preload_list`, `do_preload` in elf/rtld.c).
    fn preloads(&self) -> Vec<Vec<u8>> {
        let variable = self.environment.ld_preload.as_deref().unwrap_or_default();
        // In secure mode, only plain names: they are searched in the system's directories.
        let argument = self.environment.preload_argument.as_deref().unwrap_or_default();
        let both = [variable, argument].into_iter();
        let both = both.flat_map(|list| list.split(|&byte| byte == b' ' || byte == b':'));
        let is_plain = |name: &&[u8]| name.len() < LONGEST_SECURE_NAME && !name.contains(&b'/');
        let both = both.filter(|name| name.len() < LONGEST_PATH && (!self.environment.secure || is_plain(name)));
        let file = self.environment.preload_file.as_deref().unwrap_or_default();
        let lines = file.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.split(|&byte| byte == b'#').next().unwrap_or_default());
        let file = lines.flat_map(|line| line.split(|byte| b" \t:".contains(byte)));
        both.chain(file).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Resolves one name and records the result.
    fn ask(&mut self, asked: Asked<'_>) {
        let mut name = asked.needed.to_vec();
        if has_token(&name) && !asked.preload {
            if self.environment.secure {
                return self.draft.stop(asked, b"", ProbeFailure::TokenInSecureProgram);
            }
            // A name with a token that has no value is silently skipped (`expand_dst` in elf/dl-deps.c).
            let Some(expanded) = self.values.of(asked.requester).expand(&name).filter(|name| !name.is_empty()) else {
                return;
            };
            name = expanded;
        }
        if let Some((object, known)) = self.loaded(&name) {
            self.put_in_scope(asked, object);
            let found_by = FoundBy::AlreadyLoaded(known);
            return self.draft.answer(asked, Answer { name_asked: &name, object, found_by, opened: None });
        }
        let (tried, rule) = if name.contains(&b'/') {
            // A path is expanded here and not before, that of `DT_NEEDED` for the second time (`_dl_map_object`).
            // Without a value it becomes empty and is opened as such.
            let path = self.values.of(asked.requester).expand(&name).unwrap_or_default();
            let tried = self.probe(asked, path, FoundBy::Path);
            (tried, FoundBy::Path)
        } else {
            self.search(asked, &name)
        };
        match tried {
            Tried::Fits(path, identity, facts) => {
                if let Some(&object) = self.known_files.get(&identity) {
                    self.know(&name, object, Known::Name);
                    self.put_in_scope(asked, object);
                    let found_by = FoundBy::AlreadyLoaded(Known::SameFile);
                    let answer = Answer { name_asked: &name, object, found_by, opened: Some(&path) };
                    return self.draft.answer(asked, answer);
                }
                if let Some(Fault::Mapping(reason)) = facts.fault {
                    let reason = ProbeFailure::NotAnObject(reason.to_owned());
                    return if asked.preload {
                        self.draft.fail(asked, &path, rule, reason);
                        self.draft.miss(asked, &name);
                    } else {
                        self.draft.stop(asked, &path, reason);
                    };
                }
                let object = self.draft.closure.objects.len();
                self.draft.closure.objects.push(LoadedObject {
                    path: names::path(&path).to_owned(),
                    name_asked: name.clone(),
                    found_by: rule,
                    requester: Some(asked.requester),
                    preloaded: asked.preload,
                    in_scope: true,
                    identity,
                    facts,
                });
                self.enter(object);
                self.known_files.insert(identity, object);
                self.order.push(object);
                let answer = Answer { name_asked: &name, object, found_by: rule, opened: Some(&path) };
                self.draft.answer(asked, answer);
            }
            Tried::Failed => self.draft.miss(asked, &name),
            // A preload failure of any kind is a warning, and the object is skipped.
            Tried::Stop if asked.preload => {
                if let Some(stopped) = self.draft.closure.stopped.take() {
                    self.draft.fail(asked, names::bytes(&stopped.path), rule, stopped.reason);
                }
                self.draft.miss(asked, &name);
            }
            Tried::Stop => {}
        }
    }

    /// The loaded object that matches the name (`_dl_map_object`).
    fn loaded(&self, name: &[u8]) -> Option<(usize, Known)> {
        self.known_names.get(name).copied()
    }

    /// Records a name of an object, unless an object mapped earlier has it.
    fn know(&mut self, name: &[u8], object: usize, known: Known) {
        match self.known_names.entry(name.to_vec()) {
            Entry::Occupied(mut other) if other.get().0 > object => {
                other.insert((object, known));
            }
            Entry::Occupied(_) => {}
            Entry::Vacant(place) => {
                place.insert((object, known));
            }
        }
    }

    /// The interpreter enters symbol lookup order where an object first needs it. Preloading it does not count:
    /// `do_preload` (elf/rtld.c) adds only newly mapped objects.
    fn put_in_scope(&mut self, asked: Asked<'_>, object: usize) {
        if let Some(loaded) = self.draft.closure.objects.get_mut(object)
            && !loaded.in_scope
            && !asked.preload
        {
            loaded.in_scope = true;
            self.order.push(object);
        }
    }

    fn expand_list(&mut self, object: usize, text: &[u8], separators: &[u8]) -> Vec<usize> {
        let tokens = self.values.of(object);
        self.directories.list(text, separators, |element| tokens.expand(element))
    }

    /// Enters the names and the origin of the program. The loader calls it "" however it was mapped, and never knows
    /// its file identity.
    fn enter_program(&mut self, given: &[u8]) {
        let real = match self.environment.start {
            Start::Kernel => self.system.canonical(names::path(given)),
            Start::Loader => None,
        };
        let path = real.map_or_else(|| given.to_vec(), |real| names::bytes(&real).to_vec());
        self.values.origins.push(names::directory_of(&path, &self.environment.current_directory));
        self.know(b"", PROGRAM, Known::Name);
        self.enter_soname(PROGRAM);
        self.enter_rpath(PROGRAM);
    }

    /// Enters the names and the origin of another object; its file identity is entered only if the loader opened it
    /// itself.
    fn enter(&mut self, object: usize) {
        let Some(loaded) = self.object(object) else { return };
        let (name, path) = (loaded.name_asked.clone(), names::bytes(&loaded.path).to_vec());
        self.values.origins.push(names::directory_of(&path, &self.environment.current_directory));
        self.know(&name, object, Known::Name);
        self.know(&path, object, Known::Path);
        self.enter_soname(object);
        self.enter_rpath(object);
    }

    fn enter_soname(&mut self, object: usize) {
        if let Some(soname) = self.object(object).and_then(|object| object.facts.soname.clone()) {
            self.know(&soname, object, Known::Soname);
        }
    }

    fn enter_rpath(&mut self, object: usize) {
        let own = self.object(object).and_then(|object| object.facts.effective_rpath());
        let owner = match own.filter(|rpath| !rpath.is_empty()) {
            Some(_) => Some(object),
            None => self.rpath_owner_above(object),
        };
        self.rpath_owners.push(owner);
    }

    /// The nearest object with an RPATH among the requesters of an object.
    fn rpath_owner_above(&self, object: usize) -> Option<usize> {
        let requester = self.object(object)?.requester.filter(|&requester| requester != object)?;
        self.rpath_owners.get(requester).copied().flatten()
    }

    fn object(&self, object: usize) -> Option<&LoadedObject> {
        self.draft.closure.objects.get(object)
    }
}
