//! Following a program and all it starts from stop to stop, in a process of our own.
//!
//! There are few stops: mappings of files (a filter sends them), the loader's sign for debuggers and the program's entry (debug
//! registers), and the making, replacing and ending of processes. What a newcomer would not guess: memory of the program
//! that it has not touched itself must not be read either, because the page would be mapped for it, and its own first use of it never be seen.
//! New threads are held until their maker's stop tells whose they are: the two come in any order.

mod birth;
mod facts;
mod functions;
mod image;
mod initialisers;
mod limits;
mod loader;
mod pages;
mod signals;
mod space;
mod status;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::rc::Rc;

use coldstart_analyse::{Note, NoteKind};
use coldstart_sys::beside::Line;
use coldstart_sys::fault_recorder::{FaultRecorder, FaultRecorderOptions, Record};
use coldstart_sys::stop_filter::FilteredCall;
use coldstart_sys::time_stamp::{TimeStamp, monotonic_nanoseconds};
use coldstart_sys::tracing::{Argument, Event, MoreStops, PendingTracee, RemoteCall, Stop, Tracer, Waited};
use coldstart_sys::wake_latency::keep_processors_awake;
use serde::{Deserialize, Serialize};

use birth::Births;
pub(super) use facts::FileFacts;
pub(super) use functions::{ArmedFunctions, FileKey};
use space::{InitialiserCall, Space};

/// What to look at besides the loader's stages.
pub(super) struct FollowOptions {
    /// Record page faults, besides mappings and processes.
    pub(super) faults: bool,
    /// Switch fault-around off.
    pub(super) each_page: bool,
    /// Note when each initialiser is called.
    pub(super) initialisers: bool,
    /// Functions whose first calls are noted.
    pub(super) functions: ArmedFunctions,
    /// What is known of files already, so that they need not be read during the start.
    pub(super) facts: FileFacts,
    /// Whether the program's lookups of names are told to us, which they can be to one listener only.
    pub(super) names: bool,
    /// How many filters of ours the program has; with more, some are its own.
    pub(super) own_filters: u32,
}

/// What was noted and recorded.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Followed {
    /// `CLOCK_MONOTONIC` in nanoseconds when the program's process was let go on to its first `execve`: making ready to record is not
    /// part of the start.
    pub(super) began_at: u64,
    /// Number of the program's first process.
    pub(super) first: u32,
    pub(super) notes: Vec<Note>,
    pub(super) records: Vec<Record>,
    pub(super) lost: u64,
    /// Why there are no records.
    pub(super) no_records: Option<String>,
    /// What the records do not hold, a clause each.
    pub(super) record_limits: Vec<String>,
    pub(super) stops: u64,
    /// Nanoseconds.
    pub(super) stopped: u64,
    /// Why the following began not at all, or ended early.
    pub(super) trouble: Option<String>,
}

/// What a thread's next stop at a system call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Nothing,
    ExecReturns,
    MapReturns,
}

struct Thread {
    process: u32,
    space: Rc<RefCell<Space>>,
    expected: Expected,
}

/// How a stopped thread goes on.
enum Next {
    Run,
    ToCall,
    Deliver(i32),
    LeaveStopped,
    Nothing,
}

pub(super) struct Follower<'o> {
    tracer: Tracer,
    options: &'o mut FollowOptions,
    threads: HashMap<u32, Thread>,
    births: Births,
    /// Functions that were met already, in whatever process.
    met: HashSet<(FileKey, u64)>,
    calls: Vec<InitialiserCall>,
    /// Stops that were met while something else was waited for.
    taken: VecDeque<(u32, Stop)>,
    followed: Followed,
}

/// What a call that failed says by its result.
fn call_error(result: i64) -> std::io::Error {
    std::io::Error::from_raw_os_error(i32::try_from(result.saturating_neg()).unwrap_or(0))
}

/// Follows the program until all of it is gone.
pub(super) fn follow(pending: PendingTracee, options: &mut FollowOptions, line: &Line) -> Followed {
    let began = TimeStamp::now();
    // A container's filter, say, which we have ourselves.
    options.own_filters = options.own_filters.saturating_add(pages::filters(std::process::id()));
    let (tracer, first) = match pending.seize_with(MoreStops::FilterAndExit) {
        Ok(Some(seized)) => seized,
        // The launch has an error of its own to tell.
        Ok(None) => return Followed::default(),
        Err(error) => return Followed { trouble: Some(error.to_string()), ..Followed::default() },
    };
    let mut followed = Followed { first, ..Followed::default() };
    let wanted = FaultRecorderOptions { faults: options.faults, ..FaultRecorderOptions::default() };
    let recorder = FaultRecorder::start(first, &wanted);
    let recorder = recorder.map_err(|error| followed.no_records = Some(error.to_string())).ok();
    // A stop wakes a processor twice. Where it may not be had, stops take longer.
    let _awake = keep_processors_awake();
    followed.began_at = monotonic_nanoseconds();
    let mut follower = Follower {
        tracer,
        options,
        threads: HashMap::new(),
        births: Births::default(),
        met: HashSet::new(),
        calls: Vec::new(),
        taken: VecDeque::new(),
        followed,
    };
    let space = Rc::new(RefCell::new(Space::new(first)));
    follower.threads.insert(first, Thread { process: first, space, expected: Expected::Nothing });
    if let Err(error) = follower.run(line) {
        follower.followed.trouble = Some(error.to_string());
    }
    follower.finish(began, recorder)
}

impl Follower<'_> {
    fn run(&mut self, line: &Line) -> std::io::Result<()> {
        loop {
            if line.is_nudged() {
                self.collect_all();
                line.answer();
            }
            let (thread, stop) = match self.taken.pop_front() {
                Some(taken) => taken,
                None => match self.tracer.wait()? {
                    Waited::Nothing => continue,
                    Waited::AllGone => return Ok(()),
                    Waited::Stopped(thread, stop) => (thread, stop),
                },
            };
            let at = monotonic_nanoseconds();
            self.followed.stops = self.followed.stops.saturating_add(1);
            self.step(thread, stop, at)?;
            self.followed.stopped = self.followed.stopped.saturating_add(monotonic_nanoseconds().saturating_sub(at));
        }
    }

    /// Meets a stop and lets the thread go on. What goes wrong with one stop must not end the program, as the end of the following would.
    fn step(&mut self, thread: u32, stop: Stop, at: u64) -> std::io::Result<()> {
        let next = match self.meet(thread, stop, at) {
            Ok(next) => next,
            Err(error) => {
                self.note(thread, at, NoteKind::Obstacle(format!("something of it could not be looked at: {error}")));
                match stop {
                    Stop::Ended(_) => Next::Nothing,
                    Stop::Signal(signal) => Next::Deliver(signal),
                    Stop::Group => Next::LeaveStopped,
                    Stop::Syscall | Stop::Event(_) | Stop::Pause => Next::Run,
                }
            }
        };
        // It stands at another stop already, which is met next.
        if self.taken.iter().any(|&(taken, _)| taken == thread) {
            return Ok(());
        }
        self.go_on(thread, next)
    }

    fn go_on(&self, thread: u32, next: Next) -> std::io::Result<()> {
        match next {
            Next::Run => self.tracer.run(thread, 0),
            Next::ToCall => self.tracer.resume(thread, 0),
            Next::Deliver(signal) => self.tracer.run(thread, signal),
            Next::LeaveStopped => self.tracer.leave_stopped(thread),
            Next::Nothing => Ok(()),
        }
    }

    fn meet(&mut self, thread: u32, stop: Stop, at: u64) -> std::io::Result<Next> {
        if let Stop::Ended(status) = stop {
            self.ended(thread, status.into_raw(), at)?;
            return Ok(Next::Nothing);
        }
        // The first thread may have ended before another one took its number with `execve`.
        let is_known = self.threads.contains_key(&thread) || stop == Stop::Event(Event::Exec);
        if !is_known && !self.newcomer(thread, stop, at)? {
            return Ok(Next::Nothing);
        }
        Ok(match stop {
            Stop::Event(event @ (Event::Fork | Event::Vfork | Event::Clone)) => {
                self.made(thread, event, at)?;
                Next::Run
            }
            Stop::Event(Event::Exec) => {
                self.exec_begun(thread)?;
                Next::ToCall
            }
            Stop::Event(Event::Filtered) => self.filtered(thread, at)?,
            Stop::Event(Event::Exit) => {
                self.collect(thread);
                Next::Run
            }
            Stop::Syscall => self.call_returns(thread, at)?,
            Stop::Signal(signal) => self.signalled(thread, signal, at)?,
            Stop::Group => Next::LeaveStopped,
            Stop::Pause => {
                self.paused(thread);
                Next::Run
            }
            Stop::Event(Event::Other(_)) | Stop::Ended(_) => Next::Run,
        })
    }

    fn note(&mut self, thread: u32, at: u64, what: NoteKind) {
        let process = self.threads.get(&thread).map_or(thread, |state| state.process);
        self.followed.notes.push(Note { at, process, thread, what });
    }

    fn space(&self, thread: u32) -> Option<Rc<RefCell<Space>>> {
        self.threads.get(&thread).map(|state| Rc::clone(&state.space))
    }

    fn expect(&mut self, thread: u32, expected: Expected) {
        if let Some(state) = self.threads.get_mut(&thread) {
            state.expected = expected;
        }
    }

    fn ended(&mut self, thread: u32, status: i32, at: u64) -> std::io::Result<()> {
        if let Some(state) = self.threads.get(&thread)
            && state.process == thread
        {
            self.note(thread, at, NoteKind::Ends { status });
        }
        let ended = self.threads.remove(&thread);
        self.births.ended(thread, ended.is_some());
        // Whoever waits for a maker that was killed before it could tell would wait for ever.
        let threads = &self.threads;
        let is_followed = |process| threads.values().any(|thread| thread.process == process);
        for (orphan, stop) in self.births.orphans(is_followed) {
            self.enter_orphan(orphan, ended.as_ref().map(|ended| &ended.space), at)?;
            self.step(orphan, stop, at)?;
        }
        Ok(())
    }

    /// Makes a call in a stopped thread's name. `None` if it could not be finished: the thread has ended, say.
    fn call(&mut self, place: RemoteCall, thread: u32, call: &Argument) -> std::io::Result<Option<i64>> {
        let Some(registers) = self.tracer.registers(thread)? else { return Ok(None) };
        Ok(match place.make(&self.tracer, thread, &registers, call)? {
            Ok(result) => Some(result),
            Err(instead) => {
                self.taken.extend(instead.map(|stop| (thread, stop)));
                None
            }
        })
    }

    /// Where a call can be made in a stopped thread's name, or why none may be. A filter of the program's own may answer one that it
    /// does not expect by killing the program.
    fn call_place(&self, thread: u32, space: &Rc<RefCell<Space>>) -> Result<RemoteCall, String> {
        let place = space.borrow().call.ok_or("no place in it where a call can be made")?;
        if pages::filters(thread) > self.options.own_filters {
            return Err("it has a seccomp filter of its own".to_owned());
        }
        Ok(place)
    }

    /// A call that the filter sends to us is about to be made.
    fn filtered(&mut self, thread: u32, at: u64) -> std::io::Result<Next> {
        let number = self.tracer.event_message(thread)?.and_then(FilteredCall::from_number);
        Ok(match number {
            Some(FilteredCall::MapFile) if self.options.each_page || !self.options.functions.is_empty() => {
                self.expect(thread, Expected::MapReturns);
                Next::ToCall
            }
            Some(FilteredCall::Execute) => {
                self.collect(thread);
                self.note(thread, at, NoteKind::ExecCalled);
                Next::Run
            }
            Some(FilteredCall::Protect) => {
                self.protects(thread, at)?;
                Next::Run
            }
            Some(FilteredCall::HandleTrap) => {
                self.handles_trap(thread, at)?;
                Next::Run
            }
            Some(FilteredCall::Listen) if self.options.names => {
                let what = "it wants to be told of system calls (`SECCOMP_FILTER_FLAG_NEW_LISTENER`), which fails while names are recorded: \
                            leave `files` out of the layers";
                self.note(thread, at, NoteKind::Obstacle(what.to_owned()));
                Next::Run
            }
            Some(FilteredCall::Trace) => {
                let what = "it traces programs, which nobody else can do while they are traced by us".to_owned();
                self.note(thread, at, NoteKind::Obstacle(what));
                Next::Run
            }
            _ => Next::Run,
        })
    }

    fn call_returns(&mut self, thread: u32, at: u64) -> std::io::Result<Next> {
        let expected = self.threads.get(&thread).map_or(Expected::Nothing, |state| state.expected);
        self.expect(thread, Expected::Nothing);
        match expected {
            Expected::ExecReturns => self.executed(thread)?,
            Expected::MapReturns => self.map_returns(thread, at)?,
            Expected::Nothing => {}
        }
        Ok(Next::Run)
    }

    fn finish(mut self, began: TimeStamp, recorder: Option<FaultRecorder>) -> Followed {
        let ended = TimeStamp::now();
        self.followed.notes.extend(initialisers::notes(self.calls, began, ended));
        self.followed.notes.sort_by_key(|note| note.at);
        if let Some(recorder) = recorder {
            match recorder.finish() {
                Ok(recorded) => {
                    self.followed.lost = recorded.lost;
                    self.followed.record_limits = limits::limits(&recorded, self.options.each_page);
                    self.followed.records = recorded.records().collect();
                }
                Err(error) => self.followed.no_records = Some(error.to_string()),
            }
        }
        self.followed
    }
}
