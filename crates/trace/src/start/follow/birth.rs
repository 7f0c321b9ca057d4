//! New threads and processes: whose they are, and what they share.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use coldstart_sys::tracing::{Event, Stop};

use super::super::note::NoteKind;
use super::space::Space;
use super::{Expected, Follower, Next, Thread};
use crate::syscalls::process_of;

/// New threads of which only one side has been seen.
#[derive(Default)]
pub(super) struct Births {
    /// The maker has told.
    told: HashMap<u32, Birth>,
    /// The new one stands still, and its maker has not told.
    waiting: HashSet<u32>,
}

#[derive(Clone, Copy)]
struct Birth {
    maker: u32,
    event: Event,
}

impl Births {
    /// Those that wait; they are taken for found now.
    pub(super) fn orphans(&mut self) -> Vec<u32> {
        let gone = |&thread: &u32| {
            // Its parent is then somebody whom we do not follow.
            let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap_or_default().trim();
            !Path::new(&format!("/proc/{parent}/task")).exists() || parent == "1" || parent.is_empty()
        };
        let orphans: Vec<u32> = self.waiting.iter().copied().filter(gone).collect();
        for orphan in &orphans {
            self.waiting.remove(orphan);
        }
        orphans
    }
}

impl Follower<'_> {
    /// A thread made another one.
    pub(super) fn made(&mut self, maker: u32, stop: Stop, at: u64) -> std::io::Result<()> {
        let Stop::Event(event) = stop else { return Ok(()) };
        let Some(new) = self.tracer.event_message(maker)? else { return Ok(()) };
        let birth = Birth { maker, event };
        if self.births.waiting.remove(&new) {
            self.enter(new, birth, at)?;
            return self.go_on(new, Next::Run);
        }
        self.births.told.insert(new, birth);
        Ok(())
    }

    /// The first stop of a thread; says whether it may go on.
    pub(super) fn newcomer(&mut self, thread: u32, at: u64) -> std::io::Result<bool> {
        match self.births.told.remove(&thread) {
            Some(birth) => {
                self.enter(thread, birth, at)?;
                Ok(true)
            }
            None => {
                self.births.waiting.insert(thread);
                Ok(false)
            }
        }
    }

    fn enter(&mut self, new: u32, birth: Birth, at: u64) -> std::io::Result<()> {
        let Some(maker) = self.threads.get(&birth.maker) else { return self.enter_orphan(new, at) };
        let (process, space) = (maker.process, Rc::clone(&maker.space));
        let is_thread = birth.event == Event::Clone && Path::new(&format!("/proc/{process}/task/{new}")).exists();
        if is_thread {
            let brk = space.borrow().loader.map(|loader| loader.brk);
            self.threads.insert(new, Thread { process, space, expected: Expected::Nothing });
            // Without it, what this thread loads later is not seen as a phase.
            let _ = self.tracer.set_breakpoints(new, brk, None);
            return Ok(());
        }
        let shares_memory = birth.event == Event::Vfork;
        let own = if shares_memory { space } else { Rc::new(RefCell::new(space.borrow().forked(new))) };
        self.threads.insert(new, Thread { process: new, space: own, expected: Expected::Nothing });
        self.note(new, at, NoteKind::Forked { parent: process, shares_memory });
        if !shares_memory {
            self.begin_forked(new, at)?;
        }
        Ok(())
    }

    /// Whose maker was killed before it could tell.
    pub(super) fn enter_orphan(&mut self, new: u32, at: u64) -> std::io::Result<()> {
        let process = process_of(new).unwrap_or(new);
        let space = self.threads.values().find(|thread| thread.process == process);
        let space = space.map_or_else(|| Rc::new(RefCell::new(Space::new(process))), |thread| Rc::clone(&thread.space));
        self.threads.insert(new, Thread { process, space, expected: Expected::Nothing });
        if process == new {
            self.note(new, at, NoteKind::Forked { parent: 0, shares_memory: false });
        }
        Ok(())
    }

    fn begin_forked(&mut self, new: u32, at: u64) -> std::io::Result<()> {
        let Some(space) = self.space(new) else { return Ok(()) };
        let brk = space.borrow().loader.map(|loader| loader.brk);
        let _ = self.tracer.set_breakpoints(new, brk, None);
        if self.options.each_page {
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
