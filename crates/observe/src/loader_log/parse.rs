//! Parsing the loader's log.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::lines::Line;
use super::{FailedProbe, Initialiser, LoaderLog, MappedObject, Missing, Statistics};

/// Parses the log of one process, by its PID, which begins each of its lines; forked processes write to the same file.
///
/// `is_object` returns whether the program could load a file; called only for the last file of a search after
/// which nothing was mapped. Any bytes are accepted: unknown lines are skipped.
pub fn parse(log: &[u8], process: u32, is_object: &dyn Fn(&Path) -> bool) -> LoaderLog {
    let lines: Vec<Line<'_>> = log.split(|&byte| byte == b'\n').filter_map(|line| Line::read(line, process)).collect();
    let first_program = first_program(&lines);
    let mut reader = Reader { log: LoaderLog::default(), request: None, later: false, is_object };
    reader.log.became_another_program = first_program < lines.len();
    for line in lines.iter().take(first_program) {
        reader.read(line);
    }
    reader.finish()
}

/// How many lines belong to the process's first program.
///
/// A later one begins with its needed libraries. If it is the same program, that is enough, since a running program needs none
/// any more. Another program is recognised by its needed libraries, too, before its start is logged: its path then differs from that of
/// every object of the first one.
fn first_program(lines: &[Line<'_>]) -> usize {
    let all = lines.len();
    let Some(control) = lines.iter().position(|line| matches!(line, Line::Control(_))) else { return all };
    let Some(Line::Control(program)) = lines.get(control) else { return all };
    let begins_again =
        |line: &Line<'_>| matches!(line, Line::Control(_) | Line::Figure(b"total startup time in dynamic loader", _));
    let after = control.saturating_add(1);
    let again = lines.iter().skip(after).position(begins_again).map(|place| place.saturating_add(after));
    let mut objects: HashSet<&Path> = HashSet::new();
    for (place, line) in lines.iter().enumerate() {
        match line {
            Line::Try(path) => _ = objects.insert(path),
            Line::Asked { name, requester, by_dlopen, .. } => {
                let is_strange = again.is_some_and(|again| place < again) && !objects.contains(requester);
                if place > control && !by_dlopen && (requester == program || is_strange) {
                    return place;
                }
                objects.insert(Path::new(name));
            }
            _ => {}
        }
    }
    // It needs none: its first line is the heading of its statistics.
    again.map_or(all, |again| {
        let is_heading = again.checked_sub(1).and_then(|before| lines.get(before)) == Some(&Line::Statistics);
        again.saturating_sub(usize::from(is_heading))
    })
}

/// A library that was requested and not mapped yet.
struct Request {
    name: OsString,
    requester: Option<PathBuf>,
    /// The name had to be searched.
    searched: bool,
    tried: Vec<PathBuf>,
}

struct Reader<'o> {
    log: LoaderLog,
    request: Option<Request>,
    /// The first initialiser has begun.
    later: bool,
    is_object: &'o dyn Fn(&Path) -> bool,
}

impl Reader<'_> {
    fn read(&mut self, line: &Line<'_>) {
        match *line {
            Line::Asked { name, requester, .. } => {
                self.give_up();
                let (name, requester) = (name.to_owned(), Some(requester.to_owned()));
                self.request = Some(Request { name, requester, searched: false, tried: Vec::new() });
            }
            Line::Search { name } => match &mut self.request {
                Some(request) if request.name == name => request.searched = true,
                // A library that is preloaded, or requested where `LD_DEBUG` has no `files`.
                _ => {
                    self.give_up();
                    let name = name.to_owned();
                    self.request = Some(Request { name, requester: None, searched: true, tried: Vec::new() });
                }
            },
            Line::Try(path) => {
                if let Some(request) = &mut self.request {
                    request.tried.push(path.to_owned());
                }
            }
            Line::Mapped { name, namespace } => {
                let request = self.request.take().filter(|request| request.name == name);
                let (requester, tried) = request.map(|request| (request.requester, request.tried)).unwrap_or_default();
                let path = self.failed_but_last(name.to_owned(), tried).unwrap_or_else(|| name.into());
                let object = MappedObject { name: name.to_owned(), path, requester, namespace };
                if self.later { &mut self.log.opened_later } else { &mut self.log.objects }.push(object);
            }
            Line::EarlyInitialiser(path) => self.initialised(Initialiser::Early(path.to_owned())),
            // An auditing library is loaded and initialised before the program's own are mapped.
            Line::Initialiser(path) if self.is_elsewhere(path) => self.give_up(),
            Line::Initialiser(path) => self.initialised(Initialiser::Library(path.to_owned())),
            Line::ProgramInitialiser(path) => self.initialised(Initialiser::Program(path.to_owned())),
            Line::Control(path) => {
                self.give_up();
                self.later = true;
                self.log.program.get_or_insert_with(|| path.to_owned());
            }
            Line::Statistics => {
                self.give_up();
                self.log.statistics.get_or_insert_default();
            }
            Line::Figure(label, number) => self.figure(label, number),
        }
    }

    /// Whether an object was mapped at the start, and into another namespace only.
    fn is_elsewhere(&self, path: &Path) -> bool {
        let mut namespaces = self.log.objects.iter().filter(|object| object.path == path);
        !self.later && namespaces.clone().next().is_some() && namespaces.all(|object| object.namespace != 0)
    }

    fn initialised(&mut self, initialiser: Initialiser) {
        self.give_up();
        self.later = true;
        let has_control = self.log.program.is_some();
        if has_control { &mut self.log.initialisers_later } else { &mut self.log.initialisers }.push(initialiser);
    }

    fn figure(&mut self, label: &[u8], number: u64) {
        // Those at the end have other labels.
        let Some(statistics) = &mut self.log.statistics else { return };
        let figure = match label {
            b"total startup time in dynamic loader" => &mut statistics.total_cycles,
            b"time needed for relocation" => &mut statistics.relocation_cycles,
            b"time needed to load objects" => &mut statistics.load_cycles,
            b"number of relocations" => &mut statistics.relocations,
            b"number of relocations from cache" => &mut statistics.relocations_from_cache,
            b"number of relative relocations" => &mut statistics.relative_relocations,
            _ => return,
        };
        figure.get_or_insert(number);
    }

    /// All but the last file are failed probes; returns the last one.
    fn failed_but_last(&mut self, name: OsString, mut tried: Vec<PathBuf>) -> Option<PathBuf> {
        let last = tried.pop();
        self.failed(&name, tried);
        last
    }

    fn failed(&mut self, name: &OsString, tried: Vec<PathBuf>) {
        let later = self.later;
        self.log.failed_probes.extend(tried.into_iter().map(|path| FailedProbe { name: name.clone(), path, later }));
    }

    /// The current request ends without a new object: a loaded file was found, or nothing.
    fn give_up(&mut self) {
        let Some(Request { name, requester, searched, mut tried }) = self.request.take() else { return };
        if !searched {
            if !name.as_bytes().contains(&b'/') {
                return;
            }
            tried = vec![name.clone().into()];
        }
        if tried.last().is_some_and(|last| (self.is_object)(last)) {
            self.failed_but_last(name, tried);
        } else {
            self.failed(&name, tried);
            self.log.missing.push(Missing { name, requester, later: self.later });
        }
    }

    fn finish(mut self) -> LoaderLog {
        self.give_up();
        if self.log.statistics == Some(Statistics::default()) {
            self.log.statistics = None;
        }
        self.log
    }
}
