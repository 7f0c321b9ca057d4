//! musl's rules (ldso/dynlink.c of 1.2).
//!
//! Simpler than glibc's, and surprisingly different: LD_LIBRARY_PATH comes first, RPATH and RUNPATH are the same and
//! are inherited, sonames are ignored, and `libc.so` in any of its old names is the loader itself.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use crate::draft::{Answer, Asked, Draft, PROGRAM};
use crate::tokens::Tokens;
use crate::{
    Closure, Environment, Error, Fault, FileSystem, FoundBy, Identity, Known, LoadedObject, ObjectFacts, Probe,
    ProbeFailure, names,
};

/// Libraries that musl combines in one file; a request for any of them means the loader itself.
const OWN_NAMES: [&str; 7] = ["c", "pthread", "rt", "m", "dl", "util", "xnet"];

/// A program's start so far.
pub(crate) struct Musl<'a, System> {
    system: &'a System,
    environment: &'a Environment,
    draft: Draft,
    /// Objects in symbol lookup order.
    order: Vec<usize>,
    interpreter: Option<usize>,
    /// The last component of an object's path, if it was found by a search: the only name it is known by.
    short_names: Vec<Option<Vec<u8>>>,
    /// The object for each name: the first one mapped that matches it.
    known_names: HashMap<Vec<u8>, usize>,
    /// The object for each file.
    known_files: HashMap<Identity, usize>,
    program_origin: Option<Vec<u8>>,
}

enum Tried {
    Fits(Vec<u8>, FoundBy, Identity, Box<ObjectFacts>),
    Failed,
    /// An error that ends the search for this name.
    GivesUp,
}

impl<'a, System: FileSystem> Musl<'a, System> {
    /// Enters the program and its interpreter.
    pub(crate) fn begin(program: &Path, system: &'a System, environment: &'a Environment) -> Result<Self, Error> {
        let mut draft = Draft::begin(program, system)?;
        let interpreter = draft.add_interpreter(system, environment)?;
        Ok(Self::around(draft, program, interpreter, system, environment))
    }

    fn around(
        draft: Draft,
        program: &Path,
        interpreter: Option<usize>,
        system: &'a System,
        environment: &'a Environment,
    ) -> Self {
        let short_names = vec![None; draft.closure.objects.len()];
        let real = system.canonical(program);
        let program_origin = real.and_then(|real| real.parent().map(|parent| names::bytes(parent).to_vec()));
        Self {
            system,
            environment,
            draft,
            order: vec![PROGRAM],
            interpreter,
            short_names,
            known_names: HashMap::new(),
            known_files: HashMap::new(),
            program_origin,
        }
    }

    /// Enters the objects of a finished closure, to simulate further searches.
    pub(crate) fn again(closure: &Closure, system: &'a System, environment: &'a Environment) -> Self {
        let program = closure.objects.first().map(|program| names::bytes(&program.path)).unwrap_or_default();
        let draft = Draft::again(closure);
        Self::around(draft, names::path(program), None, system, environment)
    }

    /// The file that a search from an object finds, ignoring the loaded objects; none if it finds none.
    pub(crate) fn would_find(&mut self, requester: usize, name: &[u8]) -> Option<(Vec<u8>, FoundBy, Identity)> {
        let found = self.search(Asked { requester, needed: name, preload: false });
        self.draft.forget_search();
        match found {
            Tried::Fits(path, rule, identity, _) => Some((path, rule, identity)),
            _ => None,
        }
    }

    /// Loads the preloaded and the needed objects.
    pub(crate) fn run(mut self) -> Closure {
        let preload = self.environment.ld_preload.as_deref().filter(|_| !self.environment.secure).unwrap_or_default();
        for name in preload.split(|byte| b": \t\n\r\x0b\x0c".contains(byte)).filter(|name| !name.is_empty()) {
            self.ask(Asked { requester: PROGRAM, needed: name, preload: true });
        }
        let mut next = 0;
        while let Some(&requester) = self.order.get(next) {
            next += 1;
            // The loader needs nothing.
            if Some(requester) == self.interpreter {
                continue;
            }
            let needed = self.object(requester).map(|object| object.facts.needed.clone()).unwrap_or_default();
            for name in &needed {
                self.ask(Asked { requester, needed: name, preload: false });
            }
        }
        self.draft.finish(self.order)
    }

    fn ask(&mut self, asked: Asked<'_>) {
        let name = asked.needed;
        if let Some(interpreter) = self.interpreter.filter(|_| self.is_own(name)) {
            if let Some(object) = self.draft.closure.objects.get_mut(interpreter)
                && !object.in_scope
            {
                object.in_scope = true;
                self.order.push(interpreter);
            }
            let (object, found_by) = (interpreter, FoundBy::Interpreter);
            return self.draft.answer(asked, Answer { name_asked: name, object, found_by, opened: None });
        }
        let tried = if name.contains(&b'/') {
            self.probe(asked, name.to_vec(), FoundBy::Path)
        } else {
            if let Some(&object) = self.known_names.get(name) {
                let found_by = FoundBy::AlreadyLoaded(Known::Name);
                return self.draft.answer(asked, Answer { name_asked: name, object, found_by, opened: None });
            }
            self.search(asked)
        };
        let Tried::Fits(path, rule, identity, facts) = tried else { return self.draft.miss(asked, name) };
        let short_name = path.rsplit(|&byte| byte == b'/').next().map(<[u8]>::to_vec);
        let short_name = short_name.filter(|_| rule != FoundBy::Path);
        if let Some(&object) = self.known_files.get(&identity) {
            if let Some(None) = self.short_names.get(object) {
                // The last component of its own path, which may differ from the requested name.
                let own = self.draft.closure.objects.get(object).map(|object| names::bytes(&object.path));
                let last = own.and_then(|path| path.rsplit(|&byte| byte == b'/').next());
                let last = short_name.and(last).map(<[u8]>::to_vec);
                self.know(object, last);
            }
            let found_by = FoundBy::AlreadyLoaded(Known::SameFile);
            return self.draft.answer(asked, Answer { name_asked: name, object, found_by, opened: Some(&path) });
        }
        let object = self.draft.closure.objects.len();
        self.short_names.push(None);
        self.know(object, short_name);
        self.known_files.insert(identity, object);
        self.draft.closure.objects.push(LoadedObject {
            path: names::path(&path).to_owned(),
            name_asked: name.to_vec(),
            found_by: rule,
            requester: Some(asked.requester),
            preloaded: asked.preload,
            in_scope: true,
            identity,
            facts: *facts,
        });
        self.order.push(object);
        self.draft.answer(asked, Answer { name_asked: name, object, found_by: rule, opened: Some(&path) });
    }

    /// Whether a name means the loader: its own path, or `lib`, one of its names and a dot.
    fn is_own(&self, name: &[u8]) -> bool {
        let own_path = self.interpreter.and_then(|interpreter| self.object(interpreter));
        own_path.is_some_and(|loader| names::bytes(&loader.path) == name)
            || name.strip_prefix(b"lib").is_some_and(|rest| {
                OWN_NAMES.iter().any(|own| rest.strip_prefix(own.as_bytes()).is_some_and(|rest| rest.starts_with(b".")))
            })
    }

    /// Records the name of an object. The first object in load order wins.
    fn know(&mut self, object: usize, name: Option<Vec<u8>>) {
        if let Some(name) = &name {
            let known = self.known_names.entry(name.clone()).or_insert(object);
            *known = object.min(*known);
        }
        if let Some(short_name) = self.short_names.get_mut(object) {
            *short_name = name;
        }
    }

    fn search(&mut self, asked: Asked<'_>) -> Tried {
        if let Some(list) = self.environment.library_path().map(<[u8]>::to_vec) {
            match self.search_list(asked, &list, FoundBy::LdLibraryPath) {
                Tried::Failed => {}
                done => return done,
            }
        }
        // A preloaded object has no requester, so no object's list is searched.
        let mut next = (!asked.preload).then_some(asked.requester);
        while let Some(of) = next {
            if let Some(list) = self.list_of(of) {
                let runpath = self.object(of).is_some_and(|object| object.facts.runpath.is_some());
                let rule = if runpath { FoundBy::Runpath { of } } else { FoundBy::Rpath { of } };
                match self.search_list(asked, &list, rule) {
                    Tried::Failed => {}
                    done => return done,
                }
            }
            let preloaded = self.object(of).is_some_and(|object| object.preloaded);
            next = self.object(of).and_then(|object| object.requester).filter(|_| !preloaded);
        }
        let list = self
            .environment
            .musl_path_file
            .clone()
            .or_else(|| self.environment.system_directories.as_ref().map(|list| list.join(&b':')));
        let list = list.unwrap_or_else(|| b"/lib:/usr/local/lib:/usr/lib".to_vec());
        self.search_list(asked, &list, FoundBy::DefaultDirectory)
    }

    /// RUNPATH, or else RPATH, with `$ORIGIN` replaced; none if it contains another token (`fixup_rpath`).
    fn list_of(&self, of: usize) -> Option<Vec<u8>> {
        let object = self.object(of)?;
        let text = object.facts.runpath.as_ref().or(object.facts.rpath.as_ref())?;
        if !text.contains(&b'$') {
            return Some(text.clone());
        }
        let path = names::bytes(&object.path);
        let origin = if of == PROGRAM {
            self.program_origin.clone().filter(|_| !self.environment.secure)?
        } else {
            let slash = path.iter().rposition(|&byte| byte == b'/');
            slash.map_or(b".".to_vec(), |slash| path.get(..slash).unwrap_or_default().to_vec())
        };
        let tokens = text.split(|&byte| byte == b'$').skip(1);
        let mut only_origin = tokens.map(|token| token.starts_with(b"ORIGIN") || token.starts_with(b"{ORIGIN}"));
        if !only_origin.all(|only| only) || (self.environment.secure && origin.first() != Some(&b'/')) {
            return None;
        }
        // Here `$ORIGINAL` is the origin and "AL", unlike in glibc: braces disambiguate it.
        let braced = text.split(|&byte| byte == b'$').enumerate().flat_map(|(part, rest)| match part {
            0 => rest.to_vec(),
            _ => match rest.strip_prefix(b"ORIGIN") {
                Some(rest) => [b"${ORIGIN}", rest].concat(),
                None => [b"$", rest].concat(),
            },
        });
        Tokens { origin: Some(&origin), lib: None, platform: None, secure: None }.expand(&braced.collect::<Vec<u8>>())
    }

    /// Tries each directory of a list (`path_open`); empty elements are skipped.
    fn search_list(&mut self, asked: Asked<'_>, list: &[u8], rule: FoundBy) -> Tried {
        for directory in list.split(|&byte| byte == b':' || byte == b'\n').filter(|directory| !directory.is_empty()) {
            match self.probe(asked, [directory, b"/", asked.needed].concat(), rule) {
                Tried::Failed => {}
                done => return done,
            }
        }
        Tried::Failed
    }

    /// Opens a file. A file that can be opened and does not fit ends the search: musl does not continue.
    fn probe(&mut self, asked: Asked<'_>, path: Vec<u8>, rule: FoundBy) -> Tried {
        let (failure, goes_on) = match self.system.object(names::path(&path)) {
            Probe::Object { identity, facts } => {
                match self.object(PROGRAM).and_then(|program| misfit(&program.facts, &facts)) {
                    None => return Tried::Fits(path, rule, identity, Box::new(facts)),
                    Some(failure) => (failure, false),
                }
            }
            Probe::NotAnObject(reason) => (ProbeFailure::NotAnObject(reason), false),
            Probe::Absent(kind) => {
                use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
                let goes_on = matches!(kind, NotFound | NotADirectory | PermissionDenied | InvalidFilename);
                (ProbeFailure::Absent(kind), goes_on)
            }
        };
        self.draft.fail(asked, &path, rule, failure);
        if goes_on { Tried::Failed } else { Tried::GivesUp }
    }

    fn object(&self, object: usize) -> Option<&LoadedObject> {
        self.draft.closure.objects.get(object)
    }
}

/// Why an object does not fit. Programs do: musl loads them like libraries.
fn misfit(program: &ObjectFacts, object: &ObjectFacts) -> Option<ProbeFailure> {
    match object.fault {
        Some(Fault::Header(reason)) => Some(ProbeFailure::NotAnObject(reason.to_owned())),
        _ if object.class != program.class => Some(ProbeFailure::OtherClass),
        _ if object.little_endian != program.little_endian => Some(ProbeFailure::OtherByteOrder),
        _ if object.machine != program.machine => Some(ProbeFailure::OtherMachine),
        _ => None,
    }
}
