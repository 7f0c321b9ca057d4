//! The loader's stages: its list of objects, the program's entry, `main`.
//!
//! The loader calls an empty function at each change of its list (`_dl_debug_state`), for debuggers. Debian's has neither probes nor
//! symbols, but that one is exported. `struct r_debug` and `struct link_map`: `link.h`.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use coldstart_analyse::{LinkedObject, LoaderState, NoteKind};
use coldstart_sys::tracing::read_name;

use super::Follower;
use super::space::{Space, Stage};

/// More objects than any program loads: a list that runs in a circle must end.
const MOST_OBJECTS: usize = 65_536;

impl Follower<'_> {
    pub(super) fn set_breakpoints(&self, thread: u32, space: &Rc<RefCell<Space>>) -> std::io::Result<()> {
        let space = space.borrow();
        let first = space.loader.map(|loader| loader.brk);
        self.tracer.set_breakpoints(thread, first, space.second.map(|(address, _)| address))
    }

    /// The loader says that its list is about to change, or has changed.
    pub(super) fn loader_changes(&mut self, thread: u32, space: &Rc<RefCell<Space>>, at: u64) -> std::io::Result<()> {
        let Some((state, objects)) = read_list(&mut space.borrow_mut()) else { return Ok(()) };
        if !objects.is_empty() {
            if self.options.initialisers {
                self.time_initialisers(thread, space, &objects)?;
            }
            self.note(thread, at, NoteKind::Linked(objects));
        }
        self.note(thread, at, NoteKind::Loader(state));
        self.collect(thread);
        Ok(())
    }

    /// The loader makes an object's relocated memory read-only.
    pub(super) fn protects(&mut self, thread: u32, at: u64) -> std::io::Result<()> {
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(()) };
        let [address, length, _] = registers.call_arguments();
        if let Some(space) = self.space(thread) {
            space.borrow_mut().time_waiting(address, length);
        }
        self.note(thread, at, NoteKind::Protected { address, length });
        Ok(())
    }

    /// The thread stands at the program's entry, or further on its way to `main`.
    pub(super) fn at_stage(
        &mut self,
        thread: u32,
        space: &Rc<RefCell<Space>>,
        stage: Stage,
        at: u64,
    ) -> std::io::Result<()> {
        let (what, next) = match stage {
            Stage::ProgramEntry => (NoteKind::ProgramEntry, self.after_entry(&space.borrow())),
            Stage::LibcStart => {
                let main = self.tracer.registers(thread)?.and_then(|registers| registers.first_argument());
                (NoteKind::LibcStart, main.map(|main| (main, Stage::Main)))
            }
            Stage::Main => (NoteKind::Main, None),
        };
        self.note(thread, at, what);
        self.collect(thread);
        space.borrow_mut().second = next;
        self.set_breakpoints(thread, space)
    }

    /// Where `main` is, or who is told.
    fn after_entry(&mut self, space: &Space) -> Option<(u64, Stage)> {
        if let Some(main) = space.main {
            return Some((main, Stage::Main));
        }
        // The C library is loaded, and its symbol was just looked up: nothing new is read.
        let library = super::image::maps(space.process).into_iter().find(|line| {
            let name = line.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            line.offset == 0 && (name.starts_with("libc.") || name.starts_with("libc-") || name.starts_with("ld-musl"))
        })?;
        let start = self.options.facts.seen_by(space.process, &library.path).libc_start?;
        Some((library.start.wrapping_add(start), Stage::LibcStart))
    }
}

/// The loader's state, and what is new in its list.
fn read_list(space: &mut Space) -> Option<(LoaderState, Vec<LinkedObject>)> {
    let word = space.word_size();
    let debug = space.loader?.debug;
    // r_version (padded), r_map, r_brk, r_state.
    let first = space.word(debug.checked_add(word)?)?;
    let state = match space.word(debug.checked_add(word.checked_mul(3)?)?)? & 0xffff_ffff {
        0 => LoaderState::Consistent,
        1 => LoaderState::Adding,
        _ => LoaderState::Deleting,
    };
    if state != LoaderState::Consistent {
        if state == LoaderState::Deleting {
            // The last one may go.
            space.last_linked = None;
        }
        return Some((state, Vec::new()));
    }
    let from_the_first = space.last_linked.is_none();
    let mut left = HashSet::new();
    // l_addr, l_name, l_ld, l_next.
    let mut at = match space.last_linked {
        Some(last) => space.word(last.checked_add(word.checked_mul(3)?)?)?,
        None => first,
    };
    let mut objects = Vec::new();
    for _ in 0..MOST_OBJECTS {
        if at == 0 {
            break;
        }
        let (bias, name) = (space.word(at)?, space.word(at.checked_add(word)?)?);
        let dynamic = space.word(at.checked_add(word.checked_mul(2)?)?)?;
        space.last_linked = Some(at);
        left.insert((bias, dynamic));
        if !space.knows_object(bias, dynamic) {
            // The program's own name is an empty string in the loader's constants, a page that nobody else may have touched.
            let name = if at == first { None } else { read_name(space.process, name) };
            objects.push(LinkedObject { bias, name: name.unwrap_or_default(), dynamic });
        }
        at = space.word(at.checked_add(word.checked_mul(3)?)?)?;
    }
    if from_the_first {
        space.forget_objects_except(&left);
    }
    space.remember_objects(&objects);
    Some((state, objects))
}
