//! The loader's phases: its list of objects, the program's entry, `main`.
//!
//! The loader calls an empty function at each change of its list (`_dl_debug_state`), for debuggers. Debian's has neither probes nor
//! symbols, but that one is exported. `struct r_debug` and `struct link_map`: `link.h`.

use std::collections::HashSet;
use std::path::Path;

use coldstart_analyse::{Image, LinkedObject, LoaderState, NoteKind};
use coldstart_host::process::Mapping;
use coldstart_sys::tracing::read_name;

use super::facts::FileFacts;
use super::image::maps;
use super::memory::Memory;
use super::standing::Standing;

/// More objects than any program loads: a list that runs in a circle must end.
const MOST_OBJECTS: usize = 65_536;

/// Where the loader says that its list changes.
#[derive(Clone, Copy, Debug)]
struct LoaderSign {
    /// `_dl_debug_state`: called at each change.
    brk: u64,
    /// `_r_debug`; 0 if only the program's own pointer to it is known.
    debug: u64,
}

/// What the second breakpoint stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    ProgramEntry,
    LibcStart,
    Main,
}

/// What a breakpoint of the debug registers says where it was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// The loader's list changes.
    ListChange,
    Stage(Stage),
}

/// Of one memory: where it is to stop, and what is known of the loader's list.
#[derive(Debug, Default)]
pub(super) struct StagePoints {
    loader: Option<LoaderSign>,
    second: Option<(u64, Stage)>,
    /// Its program's `main`, as far as its entry code says.
    main: Option<u64>,
    /// The last of the loader's list that is known.
    last_linked: Option<u64>,
    /// Bias and dynamic table of the objects that are known.
    linked: HashSet<(u64, u64)>,
}

impl StagePoints {
    /// The copy that a fork has: its program is past its beginning, and may load more.
    pub(super) fn forked(&self) -> Self {
        Self { loader: self.loader, last_linked: self.last_linked, ..Self::default() }
    }

    pub(super) fn has_loader_sign(&self) -> bool {
        self.loader.is_some()
    }

    /// Whether its stages are met by breakpoints.
    pub(super) fn is_watched(&self) -> bool {
        self.loader.is_some() || self.second.is_some()
    }

    /// Sets no more breakpoints.
    pub(super) fn forget(&mut self) {
        (self.loader, self.second) = (None, None);
    }

    /// What a breakpoint at this address stands for.
    pub(super) fn reached(&self, address: u64) -> Option<Reached> {
        if self.loader.is_some_and(|loader| loader.brk == address) {
            return Some(Reached::ListChange);
        }
        self.second.filter(|&(second, _)| second == address).map(|(_, stage)| Reached::Stage(stage))
    }

    /// Has a thread stop where its program's stages are.
    pub(super) fn set_breakpoints(&self, standing: &Standing<'_>) -> std::io::Result<()> {
        standing.set_breakpoints(self.loader.map(|loader| loader.brk), self.second.map(|(address, _)| address))
    }

    /// As [`set_breakpoints`](Self::set_breakpoints), for one that is new beside or behind another. Without it, what it loads later is not
    /// seen as a phase.
    pub(super) fn set_loader_breakpoint(&self, standing: &Standing<'_>) {
        let _ = standing.set_breakpoints(self.loader.map(|loader| loader.brk), None);
    }
}

/// A change of the loader's list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ListChange {
    pub(super) state: LoaderState,
    /// What was not in it before.
    pub(super) new: Vec<LinkedObject>,
    /// Bias and dynamic table of all that are in it, if it was read from its beginning.
    pub(super) all: Option<HashSet<(u64, u64)>>,
}

/// Meets the stages of programs.
pub(super) struct Stages {
    facts: FileFacts,
}

impl Stages {
    pub(super) fn new(facts: FileFacts) -> Self {
        Self { facts }
    }

    /// Where a program that has just begun is to stop.
    pub(super) fn learn(&mut self, thread: u32, points: &mut StagePoints, image: &Image, lines: &[Mapping]) {
        let facts = self.facts.seen_by(thread, Path::new(&image.program));
        let bias = if facts.is_relocated { image.entry.wrapping_sub(facts.entry) } else { 0 };
        points.main = facts.main.map(|main| main.wrapping_add(bias));
        points.loader =
            lines.iter().find(|line| image.loader_base != 0 && line.start == image.loader_base).and_then(|line| {
                let facts = self.facts.seen_by(thread, &line.path);
                Some(LoaderSign {
                    brk: image.loader_base.wrapping_add(facts.brk?),
                    debug: facts.debug.map_or(0, |debug| image.loader_base.wrapping_add(debug)),
                })
            });
        points.second = (image.entry != 0).then_some((image.entry, Stage::ProgramEntry));
    }

    /// The thread stands at the program's entry, or further on its way to `main`: the next breakpoint is where it comes to next.
    pub(super) fn reached(
        &mut self,
        standing: &Standing<'_>,
        memory: &Memory,
        points: &mut StagePoints,
        stage: Stage,
    ) -> std::io::Result<()> {
        let (what, next) = match stage {
            Stage::ProgramEntry => (NoteKind::ProgramEntry, self.after_entry(memory, points)),
            Stage::LibcStart => {
                let registers = standing.tracer().registers(standing.thread)?;
                let main = registers.and_then(|registers| registers.first_argument());
                (NoteKind::LibcStart, main.map(|main| (main, Stage::Main)))
            }
            Stage::Main => (NoteKind::Main, None),
        };
        standing.note(what);
        points.second = next;
        points.set_breakpoints(standing)
    }

    /// Where `main` is, or who is told.
    fn after_entry(&mut self, memory: &Memory, points: &StagePoints) -> Option<(u64, Stage)> {
        if let Some(main) = points.main {
            return Some((main, Stage::Main));
        }
        // The C library is loaded, and its symbol was just looked up: nothing new is read.
        let library = maps(memory.process).into_iter().find(|line| {
            let name = line.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            line.offset == 0 && (name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl"))
        })?;
        let start = self.facts.seen_by(memory.process, &library.path).libc_start?;
        Some((library.start.wrapping_add(start), Stage::LibcStart))
    }
}

/// The loader's state, and what is new in its list.
pub(super) fn read_list(memory: &Memory, points: &mut StagePoints) -> Option<ListChange> {
    let word = memory.word_size();
    let debug = points.loader?.debug;
    // r_version (padded), r_map, r_brk, r_state.
    let first = memory.word(debug.checked_add(word)?)?;
    let state = match memory.word(debug.checked_add(word.checked_mul(3)?)?)? & 0xffff_ffff {
        0 => LoaderState::Consistent,
        1 => LoaderState::Adding,
        _ => LoaderState::Deleting,
    };
    if state != LoaderState::Consistent {
        if state == LoaderState::Deleting {
            // The last one may go.
            points.last_linked = None;
        }
        return Some(ListChange { state, new: Vec::new(), all: None });
    }
    let from_the_first = points.last_linked.is_none();
    let mut left = HashSet::new();
    // l_addr, l_name, l_ld, l_next.
    let mut at = match points.last_linked {
        Some(last) => memory.word(last.checked_add(word.checked_mul(3)?)?)?,
        None => first,
    };
    let mut objects = Vec::new();
    for _ in 0..MOST_OBJECTS {
        if at == 0 {
            break;
        }
        let (bias, name) = (memory.word(at)?, memory.word(at.checked_add(word)?)?);
        let dynamic = memory.word(at.checked_add(word.checked_mul(2)?)?)?;
        points.last_linked = Some(at);
        left.insert((bias, dynamic));
        if !points.linked.contains(&(bias, dynamic)) {
            // The program's own name is an empty string in the loader's constants, a page that nobody else may have touched.
            let name = if at == first { None } else { read_name(memory.process, name).ok() };
            objects.push(LinkedObject { bias, name: name.unwrap_or_default(), dynamic });
        }
        at = memory.word(at.checked_add(word.checked_mul(3)?)?)?;
    }
    if from_the_first {
        // Some were unmapped, and these are left. Others may come to stand where they were.
        points.linked.retain(|object| left.contains(object));
    }
    points.linked.extend(objects.iter().map(|object| (object.bias, object.dynamic)));
    Some(ListChange { state, new: objects, all: from_the_first.then_some(left) })
}
