//! New threads and processes: whose they are, and what they share.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use coldstart_analyse::NoteKind;
use coldstart_sys::tracing::{Event, Stop, share_memory};

use super::space::Space;
use super::status::Status;
use super::{Expected, Follower, Thread};

/// New threads of which only one side has been seen.
#[derive(Default)]
pub(super) struct Births {
    /// The maker has told.
    told: HashMap<u32, Birth>,
    /// The new one stands still, and its maker has not told.
    waiting: HashMap<u32, Stop>,
    /// The new one was killed before its maker told.
    stillborn: HashSet<u32>,
}

/// By whom, kept as it was told: the maker may be gone, or run another program, when the new one is first seen.
struct Birth {
    process: u32,
    space: Rc<RefCell<Space>>,
    event: Event,
}

impl Births {
    /// A thread has ended, that nobody knew if it was not entered. Its number may be used again.
    pub(super) fn ended(&mut self, thread: u32, was_entered: bool) {
        self.waiting.remove(&thread);
        if self.told.remove(&thread).is_none() && !was_entered {
            self.stillborn.insert(thread);
        }
    }

    /// Those that wait and whose parent is nobody of these processes: nobody will tell. With the stops they stand at.
    pub(super) fn orphans(&mut self, is_followed: impl Fn(u32) -> bool) -> Vec<(u32, Stop)> {
        let is_orphan = |thread: u32| !Status::of(thread).number("PPid").is_some_and(&is_followed);
        self.waiting.extract_if(|&thread, _| is_orphan(thread)).collect()
    }
}

impl Follower<'_> {
    /// A thread made another one.
    pub(super) fn made(&mut self, maker: u32, event: Event, at: u64) -> std::io::Result<()> {
        let Some(new) = self.tracer.event_message(maker)? else { return Ok(()) };
        // The number may have been used again since somebody died with it.
        let is_gone = self.births.stillborn.remove(&new) && !Path::new(&format!("/proc/{new}")).exists();
        if is_gone || self.threads.contains_key(&new) {
            return Ok(());
        }
        let Some(state) = self.threads.get(&maker) else { return Ok(()) };
        let birth = Birth { process: state.process, space: Rc::clone(&state.space), event };
        if let Some(stop) = self.births.waiting.remove(&new) {
            self.enter(new, birth, at)?;
            return self.step(new, stop, at);
        }
        self.births.told.insert(new, birth);
        Ok(())
    }

    /// The first stop of a thread; says whether it may go on.
    pub(super) fn newcomer(&mut self, thread: u32, stop: Stop, at: u64) -> std::io::Result<bool> {
        match self.births.told.remove(&thread) {
            Some(birth) => {
                self.enter(thread, birth, at)?;
                Ok(true)
            }
            None => {
                self.births.waiting.insert(thread, stop);
                Ok(false)
            }
        }
    }

    fn enter(&mut self, new: u32, birth: Birth, at: u64) -> std::io::Result<()> {
        let Birth { process, space, event } = birth;
        let is_thread = event == Event::Clone && Path::new(&format!("/proc/{process}/task/{new}")).exists();
        if is_thread {
            let brk = space.borrow().loader.map(|loader| loader.brk);
            self.threads.insert(new, Thread { process, space, expected: Expected::Nothing });
            // Without it, what this thread loads later is not seen as a phase.
            let _ = self.tracer.set_breakpoints(new, brk, None);
            return Ok(());
        }
        // `vfork` with another name may copy, and a plain `clone` may share.
        let shares_memory = share_memory(process, new).unwrap_or(event == Event::Vfork);
        let own = if shares_memory { space } else { Rc::new(RefCell::new(space.borrow().forked(new))) };
        self.threads.insert(new, Thread { process: new, space: own, expected: Expected::Nothing });
        self.note(new, at, NoteKind::Forked { parent: process, shares_memory });
        self.begin_forked(new, shares_memory, at)
    }

    /// Whose maker was killed before it could tell. `heritage` is the memory of who was killed, of which this one has a copy.
    pub(super) fn enter_orphan(
        &mut self,
        new: u32,
        heritage: Option<&Rc<RefCell<Space>>>,
        at: u64,
    ) -> std::io::Result<()> {
        let process = Status::of(new).number("Tgid").unwrap_or(new);
        let relative = self.threads.values().find(|thread| thread.process == process);
        let space = match (relative, heritage) {
            (Some(relative), _) => Rc::clone(&relative.space),
            (None, Some(heritage)) => Rc::new(RefCell::new(heritage.borrow().forked(process))),
            (None, None) => Rc::new(RefCell::new(Space::new(process))),
        };
        self.threads.insert(new, Thread { process, space, expected: Expected::Nothing });
        if process == new {
            self.note(new, at, NoteKind::Forked { parent: 0, shares_memory: false });
            return self.begin_forked(new, false, at);
        }
        Ok(())
    }

    fn begin_forked(&mut self, new: u32, shares_memory: bool, at: u64) -> std::io::Result<()> {
        let Some(space) = self.space(new) else { return Ok(()) };
        let brk = space.borrow().loader.map(|loader| loader.brk);
        let _ = self.tracer.set_breakpoints(new, brk, None);
        if self.options.each_page && !shares_memory {
            self.see_each_page(new, &space, None, at)?;
        }
        Ok(())
    }

    /// A process begins another program: its other threads are gone, and the one that called has the process's number now.
    pub(super) fn exec_begun(&mut self, thread: u32) -> std::io::Result<()> {
        let former = self.tracer.event_message(thread)?.filter(|&former| former != thread);
        if let Some(former) = former {
            self.threads.remove(&former);
        }
        let space = Rc::new(RefCell::new(Space::new(thread)));
        self.threads.insert(thread, Thread { process: thread, space, expected: Expected::ExecReturns });
        Ok(())
    }
}
