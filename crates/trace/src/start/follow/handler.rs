//! The handler of the event loop (`coldstart_follow`): actions at each stop of a start.
//!
//! It dispatches to parts with their own state: [`Stages`], [`Initialisers`], [`Functions`], and the pages
//! ([`SeenPages`](super::pages::SeenPages)). An error at one stop is noted, and the program continues.

use std::cell::RefCell;
use std::collections::HashMap;
use std::convert::Infallible;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::rc::Rc;

use coldstart_analyse::{Note, NoteKind};
use coldstart_follow::{Birth, Following, Handler, Next, Stops};
use coldstart_sys::beside::Line;
use coldstart_sys::stop_filter::FilteredCall;
use coldstart_sys::time_stamp::TimeStamp;

use super::FollowOptions;
use super::functions::{Functions, is_code};
use super::initialisers::Initialisers;
use super::space::Space;
use super::stages::{Stage, Stages, read_list};
use super::standing::{Notes, Standing};

const PAGE: u64 = 4096;

/// What a thread's next stop at a system call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Nothing,
    ExecReturns,
    MapReturns,
}

/// A followed thread.
pub(super) struct Thread {
    pub(super) space: Rc<RefCell<Space>>,
    expected: Expected,
}

impl Thread {
    pub(super) fn new(space: Rc<RefCell<Space>>) -> Self {
        Self { space, expected: Expected::Nothing }
    }
}

/// How a thread goes on; following ends when everybody is gone.
pub(super) type GoesOn = std::io::Result<Next<Infallible>>;

pub(super) struct StartHandler<'l> {
    line: &'l Line,
    pub(super) threads: HashMap<u32, Thread>,
    pub(super) stages: Stages,
    pub(super) initialisers: Initialisers,
    pub(super) functions: Functions,
    /// Whether fault-around is switched off.
    pub(super) sees_each_page: bool,
    /// Whether names are told to us, which they can be to one listener only.
    tells_names: bool,
    own_filters: u32,
    notes: Notes,
}

impl<'l> StartHandler<'l> {
    pub(super) fn new(options: FollowOptions, line: &'l Line) -> Self {
        Self {
            line,
            threads: HashMap::new(),
            stages: Stages::new(options.facts),
            initialisers: Initialisers::new(options.initialisers),
            functions: Functions::new(options.functions),
            sees_each_page: options.each_page,
            tells_names: options.names,
            own_filters: options.own_filters,
            notes: Notes::default(),
        }
    }

    /// What was noted, in order of time. The two moments say how the processor's counter runs.
    pub(super) fn into_notes(self, began: TimeStamp, ended: TimeStamp) -> Vec<Note> {
        let mut notes = self.notes.take();
        notes.extend(self.initialisers.notes(began, ended));
        notes.sort_by_key(|note| note.at);
        notes
    }

    pub(super) fn standing<'f>(&self, following: &'f mut Following, thread: u32) -> Standing<'f> {
        Standing::new(following, thread, &self.notes, self.own_filters)
    }

    fn note(&self, following: &Following, thread: u32, what: NoteKind) {
        let process = following.process_of(thread).unwrap_or(thread);
        self.notes.add(Note { at: following.at(), process, thread, what });
    }

    pub(super) fn space(&self, thread: u32) -> Option<Rc<RefCell<Space>>> {
        self.threads.get(&thread).map(|state| Rc::clone(&state.space))
    }

    pub(super) fn expect(&mut self, thread: u32, expected: Expected) {
        if let Some(state) = self.threads.get_mut(&thread) {
            state.expected = expected;
        }
    }

    /// Takes the initialisers' times that have been written down so far in a thread's memory.
    pub(super) fn collect(&mut self, thread: u32) {
        if let Some(state) = self.threads.get(&thread) {
            let space = &mut *state.space.borrow_mut();
            self.initialisers.collect(&space.memory, &mut space.slots);
        }
    }

    /// Of all processes; they may be running.
    fn collect_all(&mut self, following: &Following) {
        for (_, leader) in self.threads.iter().filter(|&(&number, _)| following.process_of(number) == Some(number)) {
            let space = &mut *leader.space.borrow_mut();
            self.initialisers.collect(&space.memory, &mut space.slots);
        }
    }

    /// The loader says that its list is about to change, or has changed.
    pub(super) fn loader_changes(&mut self, standing: &mut Standing<'_>, space: &mut Space) -> std::io::Result<()> {
        let Some(change) = read_list(&space.memory, &mut space.stages) else { return Ok(()) };
        if let Some(all) = &change.all {
            space.slots.forget_objects_except(all);
        }
        if !change.new.is_empty() {
            self.initialisers.time(standing, &space.memory, &mut space.slots, &change.new)?;
            standing.note(NoteKind::Linked(change.new));
        }
        standing.note(NoteKind::Loader(change.state));
        self.initialisers.collect(&space.memory, &mut space.slots);
        Ok(())
    }

    /// The thread stands at the program's entry, or further on its way to `main`.
    pub(super) fn at_stage(&mut self, standing: &Standing<'_>, space: &mut Space, stage: Stage) -> std::io::Result<()> {
        self.stages.reached(standing, &space.memory, &mut space.stages, stage)?;
        self.initialisers.collect(&space.memory, &mut space.slots);
        Ok(())
    }

    /// The loader makes an object's relocated memory read-only.
    fn protects(&self, standing: &Standing<'_>) -> std::io::Result<()> {
        let Some(registers) = standing.tracer().registers(standing.thread)? else { return Ok(()) };
        let [address, length, _] = registers.call_arguments();
        if let Some(space) = self.space(standing.thread) {
            let space = &mut *space.borrow_mut();
            space.slots.time_waiting(&space.memory, address, length);
        }
        standing.note(NoteKind::Protected { address, length });
        Ok(())
    }

    /// A file has been mapped.
    fn map_returns(&self, standing: &Standing<'_>) -> std::io::Result<()> {
        let thread = standing.thread;
        let Some(registers) = standing.tracer().registers(thread)? else { return Ok(()) };
        let Some(space) = self.space(thread) else { return Ok(()) };
        let result = registers.call_result();
        if (-4095..0).contains(&result) {
            return Ok(());
        }
        let address = if registers.is_32_bit() { result.cast_unsigned() & 0xffff_ffff } else { result.cast_unsigned() };
        let [_, length, protection] = registers.call_arguments();
        let length = length.checked_next_multiple_of(PAGE).unwrap_or(0);
        let space = &mut *space.borrow_mut();
        space.pages.mapped(standing, address, length);
        if is_code(protection)
            && self.functions.are_wanted()
            && !registers.is_32_bit()
            && let Some((file, offset)) = space.memory.mapped_at(thread, address)
        {
            self.functions.arm(&space.memory, &mut space.breakpoints, file, (address, length, offset));
        }
        Ok(())
    }
}

impl Handler for StartHandler<'_> {
    type Heritage = Option<Rc<RefCell<Space>>>;
    type End = Infallible;
    type Error = std::io::Error;

    const STOPS: Stops = Stops::Few;

    fn between_stops(&mut self, following: &Following) -> std::io::Result<Option<Infallible>> {
        if self.line.is_nudged() {
            self.collect_all(following);
            self.line.answer();
        }
        Ok(None)
    }

    fn heritage(&self, thread: u32) -> Self::Heritage {
        self.space(thread)
    }

    fn born(&mut self, following: &mut Following, birth: Birth<Self::Heritage>) -> std::io::Result<()> {
        self.enter(following, birth)
    }

    fn executes(&mut self, _following: &mut Following, thread: u32, former: Option<u32>) -> GoesOn {
        if let Some(former) = former {
            self.threads.remove(&former);
        }
        let space = Rc::new(RefCell::new(Space::new(thread)));
        self.threads.insert(thread, Thread { space, expected: Expected::ExecReturns });
        Ok(Next::ToCall)
    }

    fn at_call(&mut self, following: &mut Following, thread: u32) -> GoesOn {
        let expected = self.threads.get(&thread).map_or(Expected::Nothing, |state| state.expected);
        self.expect(thread, Expected::Nothing);
        let mut standing = self.standing(following, thread);
        match expected {
            Expected::ExecReturns => self.executed(&mut standing)?,
            Expected::MapReturns => self.map_returns(&standing)?,
            Expected::Nothing => {}
        }
        Ok(Next::GoOn)
    }

    fn signalled(&mut self, following: &mut Following, thread: u32, signal: i32) -> GoesOn {
        self.signal(following, thread, signal)
    }

    fn filtered(&mut self, following: &mut Following, thread: u32) -> GoesOn {
        let number = following.tracer().event_message(thread)?.and_then(FilteredCall::from_number);
        let standing = self.standing(following, thread);
        match number {
            Some(FilteredCall::MapFile) if self.sees_each_page || self.functions.are_wanted() => {
                self.expect(thread, Expected::MapReturns);
                return Ok(Next::ToCall);
            }
            Some(FilteredCall::Execute) => {
                self.collect(thread);
                standing.note(NoteKind::ExecCalled);
            }
            Some(FilteredCall::Protect) => self.protects(&standing)?,
            Some(FilteredCall::HandleTrap) => self.handles_trap(&standing)?,
            Some(FilteredCall::Listen) if self.tells_names => {
                let what = "it installs a seccomp listener (`SECCOMP_FILTER_FLAG_NEW_LISTENER`), which fails while names are recorded: \
                            leave `files` out of the layers";
                standing.note(NoteKind::Obstacle(what.to_owned()));
            }
            Some(FilteredCall::Trace) => {
                let what = "it traces programs, which fails while they are traced by us".to_owned();
                standing.note(NoteKind::Obstacle(what));
            }
            _ => {}
        }
        Ok(Next::GoOn)
    }

    fn exits(&mut self, _following: &mut Following, thread: u32) {
        self.collect(thread);
    }

    /// Registers can be set of threads that stand still: see `forget_stages`.
    fn paused(&mut self, following: &mut Following, thread: u32) {
        if self.space(thread).is_some_and(|space| !space.borrow().stages.is_watched()) {
            let _ = following.tracer().set_breakpoints(thread, None, None);
        }
    }

    fn ended(&mut self, following: &Following, thread: u32, status: ExitStatus) -> Option<Infallible> {
        if following.process_of(thread) == Some(thread) {
            self.note(following, thread, NoteKind::Ends { status: status.into_raw() });
        }
        self.threads.remove(&thread);
        None
    }

    fn failed(&mut self, following: &Following, thread: u32, error: std::io::Error) -> std::io::Result<()> {
        self.note(following, thread, NoteKind::Obstacle(format!("part of it could not be inspected: {error}")));
        Ok(())
    }
}
