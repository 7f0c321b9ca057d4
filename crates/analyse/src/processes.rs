//! From a process id to its program image at a moment.
//!
//! Two observers report the same fork and the same `execve`: the kernel's records immediately, the follower's notes a
//! little later, when its stop is seen. Either may be missing. What a newcomer would not guess: the record of an
//! `execve` comes *before* the records of the new image's mappings (`begin_new_exec` in `fs/exec.c` reports, then
//! `load_elf_binary` maps), so it starts the image.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::rc::Rc;

use coldstart_profile::trace::{Moment, PagesSeen, ProcessId, ThreadId, TracedProcess, TracedThread};

use super::space::Space;
use crate::note::Image;

/// An address space that may be shared (`vfork`) or be a copy that nobody has written to yet.
pub(super) type SharedSpace = Rc<RefCell<Rc<Space>>>;

/// The image that a process number means now.
#[derive(Clone, Debug)]
pub(super) struct Current {
    /// Its place in the list.
    pub(super) id: ProcessId,
    /// Its memory.
    pub(super) space: SharedSpace,
    /// Its threads by number.
    threads: HashMap<u32, ThreadId>,
    /// Threads that the kernel's records know and that are not gone.
    alive: u32,
    /// Whether the kernel's records reported its beginning.
    recorded: bool,
    /// Whether the follower's notes did.
    noted: bool,
    /// Whether it has called `execve` since it began.
    calls_exec: bool,
}

/// All processes.
#[derive(Debug)]
pub(super) struct Processes {
    pub(super) list: Vec<TracedProcess>,
    pub(super) threads: Vec<TracedThread>,
    /// What each image ran as, with the place in the list: for notes that come late.
    history: HashMap<u32, Vec<(Moment, ProcessId)>>,
    current: HashMap<u32, Current>,
    /// The number of the process that is launched, while it is still ours: before its `execve`.
    launching: Option<u32>,
    /// Children that use their parent's memory, and with it what was done so that its touches are seen.
    sharing: HashMap<ProcessId, ProcessId>,
    /// Whether there are records of the kernel at all.
    has_records: bool,
}

impl Processes {
    /// `launching` is the number of the process that is ours until it executes the program; `None` if that will not
    /// be seen.
    pub(super) fn new(launching: Option<u32>, has_records: bool) -> Self {
        Self {
            list: Vec::new(),
            threads: Vec::new(),
            history: HashMap::new(),
            current: HashMap::new(),
            launching,
            sharing: HashMap::new(),
            has_records,
        }
    }

    /// The image of a process, created if it was not reported; `None` while it is still ours.
    pub(super) fn at(&mut self, number: u32, at: Moment) -> Option<&mut Current> {
        if self.launching == Some(number) {
            return None;
        }
        if !self.current.contains_key(&number) {
            self.begin(number, None, at, SharedSpace::default(), false)?;
        }
        self.current.get_mut(&number)
    }

    /// The image that a number meant at an earlier moment.
    pub(super) fn back_at(&self, number: u32, at: Moment) -> Option<ProcessId> {
        let images = self.history.get(&number)?;
        let behind = images.partition_point(|&(began, _)| began <= at);
        images.get(behind.saturating_sub(1)).map(|&(_, id)| id)
    }

    /// A thread of an image, which is made up if it was not known.
    pub(super) fn thread(&mut self, process: u32, number: u32, at: Moment) -> Option<ThreadId> {
        let count = self.threads.len();
        let current = self.at(process, at)?;
        if let Some(&known) = current.threads.get(&number) {
            return Some(known);
        }
        let id = ThreadId(u32::try_from(count).ok()?);
        current.threads.insert(number, id);
        let process = current.id;
        self.threads.push(TracedThread { number, process });
        Some(id)
    }

    fn begin(
        &mut self,
        number: u32,
        parent: Option<ProcessId>,
        at: Moment,
        space: SharedSpace,
        executed: bool,
    ) -> Option<ProcessId> {
        let id = ProcessId(u32::try_from(self.list.len()).ok()?);
        let program = parent.filter(|_| !executed).and_then(|parent| self.known(parent)).map(|it| it.program.clone());
        let program = program.unwrap_or_default();
        self.list.push(TracedProcess { number, parent, program, began: at, executed, ..TracedProcess::default() });
        self.history.entry(number).or_default().push((at, id));
        let (threads, alive) = (HashMap::new(), 1);
        let current = Current { id, space, threads, alive, recorded: false, noted: false, calls_exec: false };
        self.current.insert(number, current);
        Some(id)
    }

    fn known(&self, id: ProcessId) -> Option<&TracedProcess> {
        self.list.get(usize::try_from(id.0).ok()?)
    }

    pub(super) fn traced(&mut self, id: ProcessId) -> Option<&mut TracedProcess> {
        self.list.get_mut(usize::try_from(id.0).ok()?)
    }

    /// A record of a new thread or process.
    pub(super) fn began(&mut self, process: u32, parent: u32, at: Moment, shares_memory: bool) {
        if self.launching == Some(process) {
            return;
        }
        if process == parent {
            if let Some(current) = self.current.get_mut(&process) {
                current.alive = current.alive.saturating_add(1);
            }
            return;
        }
        if let Some(current) = self.current.get_mut(&process)
            && current.noted
            && !current.recorded
            && self.list.get(current.id.0 as usize).is_none_or(|traced| traced.ended.is_none())
        {
            current.recorded = true;
            return;
        }
        self.fork(process, parent, at, shares_memory);
        if let Some(current) = self.current.get_mut(&process) {
            current.recorded = true;
        }
    }

    /// A note of a new process.
    pub(super) fn forked(&mut self, process: u32, parent: u32, at: Moment, shares_memory: bool) {
        if self.launching == Some(process) {
            return;
        }
        if let Some(current) = self.current.get_mut(&process)
            && !current.noted
            && self.list.get(current.id.0 as usize).is_none_or(|traced| traced.ended.is_none())
        {
            current.noted = true;
            return;
        }
        self.fork(process, parent, at, shares_memory);
        if let Some(current) = self.current.get_mut(&process) {
            current.noted = true;
        }
    }

    fn fork(&mut self, process: u32, parent: u32, at: Moment, shares_memory: bool) {
        let parent = self.current.get(&parent).filter(|_| parent != process);
        let space = match parent {
            Some(parent) if shares_memory => Rc::clone(&parent.space),
            Some(parent) => Rc::new(RefCell::new(Rc::clone(&parent.space.borrow()))),
            None => SharedSpace::default(),
        };
        let parent = parent.map(|parent| parent.id);
        // The number is used again, and the end of its former process may be unreported.
        self.gone_by(process, at);
        let child = self.begin(process, parent, at, space, false);
        if let (Some(child), Some(parent), true) = (child, parent, shares_memory) {
            self.sharing.insert(child, parent);
        }
    }

    /// A note that `execve` is called.
    pub(super) fn calls_exec(&mut self, process: u32) {
        if let Some(current) = self.current.get_mut(&process) {
            current.calls_exec = true;
        }
    }

    /// A record of an `execve` that succeeded.
    pub(super) fn executed(&mut self, process: u32, at: Moment) {
        let early = self.current.get_mut(&process).filter(|it| it.noted && !it.recorded && !it.calls_exec);
        if let Some(current) = early
            && self.list.get(current.id.0 as usize).is_some_and(|image| image.executed)
        {
            current.recorded = true;
            return;
        }
        self.execute(process, at);
        if let Some(current) = self.current.get_mut(&process) {
            current.recorded = true;
        }
    }

    /// A note of an `execve` that succeeded.
    pub(super) fn executed_image(&mut self, process: u32, at: Moment, image: &Image) -> Option<ProcessId> {
        let announced = self.current.get(&process).filter(|it| it.recorded && !it.noted).map(|it| it.id);
        let announced = announced.filter(|&id| self.known(id).is_some_and(|image| image.executed));
        if announced.is_none() {
            self.execute(process, at);
        }
        let current = self.current.get_mut(&process)?;
        current.noted = true;
        let id = current.id;
        let traced = self.traced(id)?;
        traced.program = PathBuf::from(&image.program);
        traced.arguments.clone_from(&image.arguments);
        if image.is_32_bit {
            add_note(traced, "a 32-bit program");
        }
        Some(id)
    }

    fn execute(&mut self, process: u32, at: Moment) {
        let before = self.current.get(&process).map(|current| current.id);
        self.gone_by(process, at);
        if self.launching == Some(process) {
            self.launching = None;
        }
        self.begin(process, before, at, SharedSpace::default(), true);
    }

    /// A record that a thread is gone. The process is when its last one is.
    pub(super) fn thread_gone(&mut self, process: u32, at: Moment) {
        let Some(current) = self.current.get_mut(&process) else { return };
        current.alive = current.alive.saturating_sub(1);
        if current.alive == 0 {
            self.gone(process, at);
        }
    }

    /// The end of a process. Later data still counts as its own until its number is used again: the kernel's last
    /// faults on its behalf come after the follower's note.
    pub(super) fn gone(&mut self, process: u32, at: Moment) {
        if let Some(id) = self.current.get(&process).map(|current| current.id)
            && let Some(traced) = self.traced(id)
        {
            traced.ended = Some(at);
        }
    }

    /// The end of a process, or of its image, at the latest.
    fn gone_by(&mut self, process: u32, at: Moment) {
        if let Some(id) = self.current.get(&process).map(|current| current.id)
            && let Some(traced) = self.traced(id)
        {
            traced.ended.get_or_insert(at);
        }
    }

    /// The program's path, if no note reported it.
    pub(super) fn first_mapping(&mut self, process: u32, path: impl FnOnce() -> Option<PathBuf>) {
        let Some(id) = self.current.get(&process).map(|current| current.id) else { return };
        if let Some(traced) = self.traced(id)
            && traced.executed
            && traced.program.as_os_str() == OsStr::new("")
        {
            traced.program = path().unwrap_or_default();
        }
    }

    /// The processes, with what can be said of their page touches where nobody noted it. `noted` has the worst of the
    /// notes.
    pub(super) fn finish(mut self, noted: &HashMap<ProcessId, PagesSeen>) -> (Vec<TracedProcess>, Vec<TracedThread>) {
        // Parents are before their children.
        for place in 0..self.list.len() {
            let Some(id) = u32::try_from(place).ok().map(ProcessId) else { break };
            let shared = self.sharing.get(&id).and_then(|&parent| self.known(parent)).map(|parent| parent.pages);
            let pages = match noted.get(&id).copied().or(shared) {
                _ if !self.has_records => PagesSeen::None,
                Some(pages) => pages,
                // Fault-around is on unless it was switched off.
                None => PagesSeen::FaultAround,
            };
            if let Some(process) = self.list.get_mut(place) {
                process.pages = pages;
            }
        }
        (self.list, self.threads)
    }
}

/// Adds a clause to a process, once.
pub(super) fn add_note(process: &mut TracedProcess, clause: &str) {
    if !process.notes.iter().any(|known| known == clause) {
        process.notes.push(clause.to_owned());
    }
}
