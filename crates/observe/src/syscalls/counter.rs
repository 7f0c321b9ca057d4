//! Counting at the stops of a tree: a handler of the event loop (`coldstart_follow`).
//!
//! Threads are counted when they are first seen alive, not when their creator reports them: a thread may have ended by then. The loop
//! polls for stops, so that the time limit and signals are noticed while the program sleeps.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use coldstart_follow::{Birth, EventLoop, FollowError, Following, Handler, Next, Stops, Waiting};
use coldstart_launch::{Interrupt, LaunchError};
use coldstart_sys::tracing::{ARCHITECTURE_IS_64_BIT, SyscallPoint, SyscallStop, Tracer};
use rustix::io::Errno;

use super::counts::{CallTable, Ended, SyscallCounts};
use super::error::SyscallsError;
use super::failed_names::{FailedName, NamingCall, ProbeState};
use super::first_image::{entry_point, file_with_rights, we_take_rights};
use super::numbers::{CallName, Numbers};
use super::options::{CountOptions, Until};

/// Time limit after SIGKILL: a process in uninterruptible sleep dies when its I/O is done.
const KILL_LIMIT: Duration = Duration::from_secs(10);
const SIGTRAP: i32 = 5;

/// The result of tracing.
pub(super) enum Followed {
    Counted(Box<Counted>),
    /// `execve` failed with this error.
    Refused(Errno),
    /// The child ended before its `execve`; see the spawn's error.
    NotStarted,
}

#[derive(Default)]
pub(super) struct Counted {
    tree: CallTable,
    first_process: CallTable,
    failed_names: Vec<FailedName>,
    failed_names_left_out: u64,
    processes: u64,
    threads: u64,
    programs: u64,
    ended: Option<Ended>,
    status: Option<ExitStatus>,
    without_their_rights: Vec<PathBuf>,
}

/// A thread that was seen alive and has not ended.
#[derive(Default)]
struct Thread {
    process: u32,
    /// Its current call.
    call: Option<(CallName, Option<NamingCall>)>,
    probes: ProbeState,
}

struct Counter<'o> {
    options: &'o CountOptions,
    first: u32,
    threads: HashMap<u32, Thread>,
    numbers: Numbers,
    counted: Box<Counted>,
    /// Its first `execve` was begun.
    counting: bool,
    /// The first process's instruction pointer after it hit the breakpoint.
    breakpoint: Option<u64>,
    begin: Instant,
    takes_rights: bool,
}

/// Why counting ended before all processes did.
enum End {
    Reached(Ended),
    Refused(Errno),
}

/// Counts the calls of a seized process and its descendants until the requested point, and kills what is left.
pub(super) fn count(tracer: Tracer, first: u32, options: &CountOptions) -> Result<Followed, SyscallsError> {
    let counter = Counter {
        options,
        first,
        threads: HashMap::new(),
        numbers: Numbers::new(),
        counted: Box::default(),
        counting: false,
        breakpoint: None,
        begin: Instant::now(),
        takes_rights: we_take_rights(),
    };
    let mut events = EventLoop::new(tracer, first, Waiting::Polling, counter);
    let end = events.run();
    let left = events.kill_all(KILL_LIMIT)?;
    if !left.is_empty() {
        return Err(LaunchError::NotEnded { processes: left, seconds: KILL_LIMIT.as_secs() }.into());
    }
    let (Counter { counting, mut counted, .. }, _) = events.into_parts();
    counted.ended = match end? {
        Some(End::Refused(errno)) => return Ok(Followed::Refused(errno)),
        Some(End::Reached(ended)) => Some(ended),
        None => Some(Ended::TreeGone),
    };
    // A limit that expires before its `execve` is not the program's failure: nothing was counted.
    if !counting && counted.ended != Some(Ended::TimedOut) {
        return Ok(Followed::NotStarted);
    }
    Ok(Followed::Counted(counted))
}

impl Handler for Counter<'_> {
    type Heritage = ();
    type End = End;
    type Error = SyscallsError;

    const STOPS: Stops = Stops::EachCall;

    fn between_stops(&mut self, _following: &Following) -> Result<Option<End>, SyscallsError> {
        if let Some(signal) = self.options.interrupt.as_ref().and_then(Interrupt::signal) {
            return Err(LaunchError::Interrupted { signal }.into());
        }
        let is_over = self.options.time_limit.is_some_and(|limit| self.begin.elapsed() >= limit);
        Ok(is_over.then_some(End::Reached(Ended::TimedOut)))
    }

    fn heritage(&self, _thread: u32) {}

    fn born(&mut self, _following: &mut Following, birth: Birth<()>) -> Result<(), SyscallsError> {
        let Birth { thread, process, .. } = birth;
        self.counted.threads = self.counted.threads.saturating_add(1);
        self.counted.processes = self.counted.processes.saturating_add(u64::from(process == thread));
        self.threads.insert(thread, Thread { process, ..Thread::default() });
        Ok(())
    }

    fn executes(
        &mut self,
        following: &mut Following,
        thread: u32,
        former: Option<u32>,
    ) -> Result<Next<End>, SyscallsError> {
        self.counted.programs = self.counted.programs.saturating_add(1);
        if let Some(state) = former.and_then(|former| self.threads.remove(&former)) {
            self.threads.insert(thread, state);
        }
        self.threads.entry(thread).or_insert_with(|| Thread { process: thread, ..Thread::default() });
        if self.takes_rights
            && let Some(program) = file_with_rights(thread)
        {
            self.counted.without_their_rights.push(program);
        }
        let is_first_image = thread == self.first && self.counted.programs == 1;
        if is_first_image
            && self.options.until == Until::AfterLoader
            && let Some(stop) = point(following, thread)?
        {
            let entry = entry_point(thread, stop.architecture & ARCHITECTURE_IS_64_BIT != 0);
            let entry = entry.ok_or_else(|| std::io::Error::other("its auxiliary vector has none"));
            let put = entry.and_then(|entry| following.tracer().put_breakpoint(thread, entry));
            self.breakpoint = Some(put.map_err(|source| SyscallsError::EntryPoint { source })?);
        }
        Ok(Next::GoOn)
    }

    fn at_call(&mut self, following: &mut Following, thread: u32) -> Result<Next<End>, SyscallsError> {
        // Killed meanwhile: its end is reported next.
        let Some(stop) = point(following, thread)? else { return Ok(Next::Nothing) };
        match stop.point {
            SyscallPoint::Entry { number, arguments } => {
                let name = self.numbers.name(stop.architecture, number);
                self.counting = self.counting || name == CallName::Known("execve");
                if self.counting {
                    self.begun(thread, name, &arguments, stop.architecture & ARCHITECTURE_IS_64_BIT != 0);
                }
            }
            SyscallPoint::Exit { value, is_error } => {
                let errno = is_error.then(|| i32::try_from(value.saturating_neg()).unwrap_or(0));
                self.returned(thread, errno);
                if let Some(errno) = errno
                    && self.counting
                    && self.counted.programs == 0
                {
                    return refused(following, thread, Errno::from_raw_os_error(errno));
                }
            }
            SyscallPoint::Elsewhere => {}
        }
        Ok(Next::GoOn)
    }

    fn signalled(&mut self, following: &mut Following, thread: u32, signal: i32) -> Result<Next<End>, SyscallsError> {
        if signal == SIGTRAP && self.is_at_entry_point(following, thread)? {
            return Ok(Next::End(End::Reached(Ended::LoaderDone)));
        }
        Ok(Next::Deliver(signal))
    }

    fn ended(&mut self, _following: &Following, thread: u32, status: ExitStatus) -> Option<End> {
        self.threads.remove(&thread);
        if thread != self.first {
            return None;
        }
        self.counted.status = Some(status);
        let is_enough = self.options.until == Until::FirstProcessExit && self.counting;
        is_enough.then_some(End::Reached(Ended::FirstProcessGone))
    }

    fn failed(&mut self, _following: &Following, _thread: u32, error: SyscallsError) -> Result<(), SyscallsError> {
        Err(error)
    }
}

impl Counter<'_> {
    fn begun(&mut self, thread: u32, name: CallName, arguments: &[u64; 6], is_64_bit: bool) {
        let Some(state) = self.threads.get_mut(&thread) else { return };
        self.counted.tree.begun(name);
        if state.process == self.first {
            self.counted.first_process.begun(name);
        }
        state.call = Some((name, NamingCall::at_entry(thread, name, arguments, is_64_bit)));
    }

    /// A new thread returns from the `clone` of its creator, which is not a call of its own.
    fn returned(&mut self, thread: u32, errno: Option<i32>) {
        let Some(state) = self.threads.get_mut(&thread) else { return };
        let Some((name, naming)) = state.call.take() else { return };
        let in_first = state.process == self.first;
        self.counted.tree.returned(name, errno.is_some());
        if in_first {
            self.counted.first_process.returned(name, errno.is_some());
        }
        let Some(naming) = naming else { return };
        let probe = state.probes.after(&naming, errno.is_some());
        let Some(errno) = errno else { return };
        if self.counted.failed_names.len() >= self.options.most_failed_names {
            self.counted.failed_names_left_out = self.counted.failed_names_left_out.saturating_add(1);
        } else {
            let caller = (state.process, in_first);
            self.counted.failed_names.push(FailedName::new(caller, name, naming, errno, probe));
        }
    }

    fn is_at_entry_point(&self, following: &Following, thread: u32) -> Result<bool, SyscallsError> {
        let Some(breakpoint) = self.breakpoint else { return Ok(false) };
        if self.threads.get(&thread).is_none_or(|state| state.process != self.first) {
            return Ok(false);
        }
        Ok(point(following, thread)?.is_some_and(|stop| stop.instruction_pointer == breakpoint))
    }
}

fn point(following: &Following, thread: u32) -> Result<Option<SyscallStop>, SyscallsError> {
    following.tracer().syscall(thread).map_err(|source| SyscallsError::OldKernel { source })
}

/// The first program could not be executed.
fn refused(following: &mut Following, thread: u32, errno: Errno) -> Result<Next<End>, SyscallsError> {
    if errno != Errno::NOEXEC {
        // It reports to std, which waits for it: from now on its stops must not be ours.
        let released = following.let_go(thread);
        released.map_err(|error| SyscallsError::system("let the program go", error))?;
    }
    // `execvp(3)` would now have a shell read the file, so this one is killed with the rest.
    Ok(Next::End(End::Refused(errno)))
}

impl From<FollowError> for SyscallsError {
    fn from(error: FollowError) -> Self {
        Self::System { what: error.what, source: error.source }
    }
}

impl Counted {
    pub(super) fn into_counts(self, program: PathBuf) -> SyscallCounts {
        SyscallCounts {
            program,
            tree: self.tree,
            first_process: self.first_process,
            failed_names: self.failed_names,
            failed_names_left_out: self.failed_names_left_out,
            processes: self.processes,
            threads: self.threads,
            programs: self.programs,
            ended: self.ended.unwrap_or(Ended::TreeGone),
            status: self.status,
            without_their_rights: self.without_their_rights,
        }
    }
}
