//! glibc's rules (elf/dl-load.c, elf/dl-deps.c, elf/rtld.c of 2.33 and later).
//!
//! A name is first held against what is loaded, then searched: RPATH of the requester and of those that brought it in,
//! LD_LIBRARY_PATH, RUNPATH of the requester alone, the cache, the default directories.

mod search;

use std::collections::HashMap;
use std::path::Path;

use crate::draft::{Asked, Draft, PROGRAM};
use crate::search_path::{Directories, with_one_slash};
use crate::tokens::{Secure, Tokens, has_token};
use crate::{
    Closure, Environment, Error, FileSystem, FoundBy, Identity, Known, LoadedObject, Machine, ObjectFacts,
    ProbeFailure, names,
};

/// A program's start so far.
pub(crate) struct Glibc<'a, System> {
    system: &'a System,
    environment: &'a Environment,
    draft: Draft,
    /// Objects in the order symbols are looked up.
    order: Vec<usize>,
    interpreter: Option<usize>,
    /// Names that each object answers to, besides its path and soname.
    aliases: Vec<Vec<Vec<u8>>>,
    values: TokenValues<'a>,
    /// Directories of RPATH and RUNPATH, from the first time they were searched.
    search_lists: HashMap<FoundBy, Vec<usize>>,
    directories: Directories,
    subfolders: Vec<Vec<u8>>,
    library_path: Vec<usize>,
    default_path: Vec<usize>,
    cache_flags: &'static [u32],
}

/// What tokens stand for.
struct TokenValues<'a> {
    environment: &'a Environment,
    /// The directory of each object.
    origins: Vec<Option<Vec<u8>>>,
    lib: Option<Vec<u8>>,
    /// The default directories, each with a slash at its end.
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

/// What became of a file that was tried.
enum Tried {
    /// It does; where it lies and what it is.
    Fits(Vec<u8>, Identity, ObjectFacts),
    /// It does not, and the search goes on.
    Failed,
    /// The start is over.
    Stop,
}

impl<'a, System: FileSystem> Glibc<'a, System> {
    /// Takes in the program and its interpreter.
    pub(crate) fn begin(program: &Path, system: &'a System, environment: &'a Environment) -> Result<Self, Error> {
        let mut draft = Draft::begin(program, system, environment)?;
        let interpreter = draft.add_interpreter(system, environment)?;
        let machine = draft.closure.objects.first().and_then(|program| Machine::of(&program.facts));
        let system_directories = environment.system_directories.clone();
        let system_directories =
            system_directories.or_else(|| Some(machine?.multiarch_directories())).unwrap_or_default();
        let subfolders = environment.hwcaps.subfolders();
        let mut directories = Directories::new(subfolders.len());
        let trusted: Vec<Vec<u8>> = system_directories.into_iter().map(with_one_slash).collect();
        let default_path = trusted.iter().map(|directory| directories.enter(directory.clone())).collect();
        let lib = environment.lib.clone().or_else(|| Some(machine?.lib()));
        let mut glibc = Self {
            system,
            environment,
            draft,
            order: vec![PROGRAM],
            interpreter,
            aliases: Vec::new(),
            values: TokenValues { environment, origins: Vec::new(), lib, trusted },
            search_lists: HashMap::new(),
            directories,
            subfolders,
            library_path: Vec::new(),
            default_path,
            cache_flags: machine.map(|machine| machine.cache_flags).unwrap_or_default(),
        };
        let real = system.canonical(&environment.on_disk(names::bytes(program)));
        let real = real.map(|real| glibc.as_seen_inside(&real)).unwrap_or_else(|| names::bytes(program).to_vec());
        glibc.enter_names(Vec::new(), &real);
        if let Some(interpreter) = interpreter {
            let name = glibc.object(interpreter).map(|object| object.name_asked.clone()).unwrap_or_default();
            glibc.enter_names(name.clone(), &name);
        }
        if let Some(text) = environment.library_path().filter(|text| !text.is_empty()) {
            glibc.library_path = glibc.expand_list(PROGRAM, text, b":;");
        }
        Ok(glibc)
    }

    /// Loads what is preloaded and needed.
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

    /// Names to preload: `LD_PRELOAD`, split at spaces and colons, then the file's, where `#` begins a comment
    /// (`handle_preload_list`, `do_preload` in elf/rtld.c).
    fn preloads(&self) -> Vec<Vec<u8>> {
        let variable = self.environment.ld_preload.as_deref().unwrap_or_default();
        // A secure program takes plain names only: its directories are the system's.
        let variable = variable.split(|&byte| byte == b' ' || byte == b':');
        let variable = variable.filter(|name| !self.environment.secure || !name.contains(&b'/'));
        let file = self.environment.preload_file.as_deref().unwrap_or_default();
        let lines = file.split(|&byte| byte == b'\n');
        let lines = lines.map(|line| line.split(|&byte| byte == b'#').next().unwrap_or_default());
        let file = lines.flat_map(|line| line.split(|byte| b" \t:".contains(byte)));
        variable.chain(file).filter(|name| !name.is_empty()).map(<[u8]>::to_vec).collect()
    }

    /// Answers one name and notes the answer.
    fn ask(&mut self, asked: Asked<'_>) {
        let mut name = asked.needed.to_vec();
        if has_token(&name) && !asked.preload {
            if self.environment.secure {
                return self.draft.stop(asked, b"", ProbeFailure::TokenInSecureProgram);
            }
            // A name whose token has no value is passed over without a word (`expand_dst` in elf/dl-deps.c).
            let Some(expanded) = self.values.of(asked.requester).expand(&name).filter(|name| !name.is_empty()) else {
                return;
            };
            name = expanded;
        }
        if let Some((object, known)) = self.loaded(&name) {
            self.put_in_scope(object);
            return self.draft.answer(asked, object, FoundBy::AlreadyLoaded(known));
        }
        let (tried, rule) = if name.contains(&b'/') {
            let path = if asked.preload { self.values.of(asked.requester).expand(&name) } else { Some(name.clone()) };
            let tried = path.map_or(Tried::Failed, |path| self.probe(asked, path, FoundBy::Path));
            (tried, FoundBy::Path)
        } else {
            self.search(asked, &name)
        };
        match tried {
            Tried::Fits(path, identity, facts) => {
                if let Some(object) = self.same_file(identity) {
                    if let Some(aliases) = self.aliases.get_mut(object) {
                        aliases.push(name);
                    }
                    self.put_in_scope(object);
                    return self.draft.answer(asked, object, FoundBy::AlreadyLoaded(Known::SameFile));
                }
                let object = self.draft.closure.objects.len();
                self.enter_names(name.clone(), &path);
                self.draft.closure.objects.push(LoadedObject {
                    path: names::path(&path).to_owned(),
                    name_asked: name,
                    found_by: rule,
                    requester: Some(asked.requester),
                    preloaded: asked.preload,
                    in_scope: true,
                    identity,
                    facts,
                });
                self.order.push(object);
                self.draft.answer(asked, object, rule);
            }
            Tried::Failed => self.draft.miss(asked, &name),
            // What cannot be preloaded is warned about and left out, whatever is wrong with it.
            Tried::Stop if asked.preload => {
                if let Some(stopped) = self.draft.closure.stopped.take() {
                    self.draft.fail(asked, names::bytes(&stopped.path), rule, stopped.reason);
                }
                self.draft.miss(asked, &name);
            }
            Tried::Stop => {}
        }
    }

    /// The object that answers to a name already, in the order they were mapped (`_dl_map_object`).
    fn loaded(&self, name: &[u8]) -> Option<(usize, Known)> {
        // The name the loader gives the program that the kernel mapped is empty.
        if name.is_empty() {
            return Some((PROGRAM, Known::Name));
        }
        self.draft.closure.objects.iter().enumerate().find_map(|(index, object)| {
            // The program's own path is no name of it: the kernel mapped it.
            if index != PROGRAM && names::bytes(&object.path) == name && object.name_asked != name {
                return Some((index, Known::Path));
            }
            if self.aliases.get(index).is_some_and(|aliases| aliases.iter().any(|alias| alias == name)) {
                return Some((index, Known::Name));
            }
            (object.facts.soname.as_deref() == Some(name)).then_some((index, Known::Soname))
        })
    }

    /// The object that is the same file. Neither the program nor the interpreter counts: the kernel mapped them, and the
    /// loader never learned which files they are.
    fn same_file(&self, identity: Identity) -> Option<usize> {
        let objects = self.draft.closure.objects.iter().enumerate();
        let mut mapped = objects.filter(|&(index, _)| index != PROGRAM && Some(index) != self.interpreter);
        mapped.find(|(_, object)| object.identity == identity).map(|(index, _)| index)
    }

    /// The interpreter enters the order of symbol lookup where somebody first needs it.
    fn put_in_scope(&mut self, object: usize) {
        if !self.order.contains(&object) {
            self.order.push(object);
            if let Some(object) = self.draft.closure.objects.get_mut(object) {
                object.in_scope = true;
            }
        }
    }

    fn expand_list(&mut self, object: usize, text: &[u8], separators: &[u8]) -> Vec<usize> {
        let tokens = self.values.of(object);
        self.directories.list(text, separators, |element| tokens.expand(element))
    }

    /// Enters the name and the origin of the next object.
    fn enter_names(&mut self, name: Vec<u8>, path: &[u8]) {
        self.aliases.push(if name.is_empty() { Vec::new() } else { vec![name] });
        self.values.origins.push(names::folder(path, &self.environment.current_directory));
    }

    /// A path on disk as it is seen from inside the sysroot.
    fn as_seen_inside(&self, path: &Path) -> Vec<u8> {
        let sysroot =
            self.environment.sysroot.as_ref().map(|root| root.canonicalize().unwrap_or_else(|_| root.clone()));
        match sysroot.and_then(|sysroot| path.strip_prefix(sysroot).ok()) {
            Some(inside) => [b"/", names::bytes(inside)].concat(),
            None => names::bytes(path).to_vec(),
        }
    }

    fn object(&self, object: usize) -> Option<&LoadedObject> {
        self.draft.closure.objects.get(object)
    }
}
