//! Following a tree from stop to stop, and counting.
//!
//! New threads are entered at their own first stop, never when their parent tells of them: a thread may be gone by then,
//! and its number somebody else's. The wait is a look now and then, so that the time limit and signals are noticed in a
//! program that sleeps; looks are close together while calls come.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use coldstart_launch::{Interrupt, LaunchError};
use coldstart_sys::tracing::{ARCHITECTURE_IS_64_BIT, Event, Stop, SyscallPoint, SyscallStop, Tracer, Waited};
use rustix::io::Errno;

use super::counts::{CallTable, Ended, SyscallCounts};
use super::error::SyscallsError;
use super::failed_names::{FailedName, NamingCall, ProbeState};
use super::first_image::{entry_point, file_with_rights, process_of, we_take_rights};
use super::numbers::{CallName, Numbers};
use super::options::{CountOptions, Until};

/// So many vain looks come right after one another; then we sleep between them.
const BUSY_LOOKS: u32 = 300;
const SLEEP: Duration = Duration::from_micros(500);
/// How long after SIGKILL a process may stay: one in uninterruptible sleep dies when its I/O is done.
const KILL_LIMIT: Duration = Duration::from_secs(10);
const SIGTRAP: i32 = 5;

/// What came of following.
pub(super) enum Followed {
    Counted(Box<Counted>),
    /// `execve` answered with this error.
    Refused(Errno),
    /// The child ended before its `execve`; the spawn tells why.
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

/// A thread that was seen at a stop and has not ended.
#[derive(Default)]
struct Thread {
    process: u32,
    /// The call that it is in.
    call: Option<(CallName, Option<NamingCall>)>,
    probes: ProbeState,
}

pub(super) struct Follower<'o> {
    tracer: Tracer,
    options: &'o CountOptions,
    first: u32,
    threads: HashMap<u32, Thread>,
    numbers: Numbers,
    counted: Box<Counted>,
    /// Its first `execve` was begun.
    counting: bool,
    /// Where the first process stands after it met the breakpoint.
    breakpoint: Option<u64>,
    begin: Instant,
    takes_rights: bool,
}

/// What to do after a stop.
enum Next {
    Resume,
    Deliver(i32),
    LeaveStopped,
    /// The thread has ended.
    Nothing,
    End(Ended),
    Refused(Errno),
}

impl<'o> Follower<'o> {
    pub(super) fn new(tracer: Tracer, first: u32, options: &'o CountOptions) -> Self {
        Self {
            tracer,
            options,
            first,
            threads: HashMap::new(),
            numbers: Numbers::new(),
            counted: Box::default(),
            counting: false,
            breakpoint: None,
            begin: Instant::now(),
            takes_rights: we_take_rights(),
        }
    }

    pub(super) fn follow(mut self) -> Result<Followed, SyscallsError> {
        let followed = self.run();
        self.kill_all()?;
        followed.map(|refused| match refused {
            Some(errno) => Followed::Refused(errno),
            // A limit that is over before its `execve` is no fault of the program: nothing was counted.
            None if !self.counting && self.counted.ended != Some(Ended::TimedOut) => Followed::NotStarted,
            None => Followed::Counted(self.counted),
        })
    }

    /// To the point asked for; an error number if the program could not be executed.
    fn run(&mut self) -> Result<Option<Errno>, SyscallsError> {
        let mut vain_looks = 0u32;
        loop {
            if let Some(signal) = self.options.interrupt.as_ref().and_then(Interrupt::signal) {
                return Err(LaunchError::Interrupted { signal }.into());
            }
            if self.options.time_limit.is_some_and(|limit| self.begin.elapsed() >= limit) {
                self.counted.ended = Some(Ended::TimedOut);
                return Ok(None);
            }
            let (thread, stop) = match self.look()? {
                Waited::Nothing => {
                    vain_looks = vain_looks.saturating_add(1);
                    pause(vain_looks);
                    continue;
                }
                Waited::AllGone => {
                    self.counted.ended = Some(Ended::TreeGone);
                    return Ok(None);
                }
                Waited::Stopped(thread, stop) => (thread, stop),
            };
            vain_looks = 0;
            let done = match self.meet(thread, stop)? {
                Next::Resume => self.tracer.resume(thread, 0),
                Next::Deliver(signal) => self.tracer.resume(thread, signal),
                Next::LeaveStopped => self.tracer.leave_stopped(thread),
                Next::Nothing => Ok(()),
                Next::End(ended) => {
                    self.counted.ended = Some(ended);
                    return Ok(None);
                }
                Next::Refused(errno) => {
                    if errno != Errno::NOEXEC {
                        // It tells std, which waits for it: from now on no stop of it may be ours.
                        self.threads.remove(&thread);
                        let released = self.tracer.release(thread);
                        released.map_err(|error| SyscallsError::system("let the program go", error))?;
                    }
                    // `execvp(3)` would now have a shell read the file, so this one is killed with the rest.
                    return Ok(Some(errno));
                }
            };
            done.map_err(|error| SyscallsError::system("let a traced thread go on", error))?;
        }
    }

    fn look(&self) -> Result<Waited, SyscallsError> {
        self.tracer.look().map_err(|error| SyscallsError::system("wait for the program", error))
    }

    fn meet(&mut self, thread: u32, stop: Stop) -> Result<Next, SyscallsError> {
        if let Stop::Ended(status) = stop {
            self.threads.remove(&thread);
            if thread != self.first {
                return Ok(Next::Nothing);
            }
            self.counted.status = Some(status);
            let enough = self.options.until == Until::FirstProcessExit && self.counting;
            return Ok(if enough { Next::End(Ended::FirstProcessGone) } else { Next::Nothing });
        }
        self.enter(thread);
        Ok(match stop {
            Stop::Syscall => return self.syscall(thread),
            Stop::Signal(SIGTRAP) if self.is_at_entry_point(thread)? => Next::End(Ended::LoaderDone),
            Stop::Signal(signal) => Next::Deliver(signal),
            Stop::Group => Next::LeaveStopped,
            Stop::Event(Event::Exec) => {
                self.executed(thread)?;
                Next::Resume
            }
            Stop::Event(_) | Stop::Pause | Stop::Ended(_) => Next::Resume,
        })
    }

    fn enter(&mut self, thread: u32) {
        if self.threads.contains_key(&thread) {
            return;
        }
        // A thread of which /proc tells nothing any more was killed, and makes no calls.
        let process = process_of(thread).unwrap_or(thread);
        self.counted.threads = self.counted.threads.saturating_add(1);
        self.counted.processes = self.counted.processes.saturating_add(u64::from(process == thread));
        self.threads.insert(thread, Thread { process, ..Thread::default() });
    }

    fn point(&self, thread: u32) -> Result<Option<SyscallStop>, SyscallsError> {
        self.tracer.syscall(thread).map_err(|source| SyscallsError::OldKernel { source })
    }

    fn syscall(&mut self, thread: u32) -> Result<Next, SyscallsError> {
        // Killed meanwhile: its end is told next.
        let Some(stop) = self.point(thread)? else { return Ok(Next::Nothing) };
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
                    return Ok(Next::Refused(Errno::from_raw_os_error(errno)));
                }
            }
            SyscallPoint::Elsewhere => {}
        }
        Ok(Next::Resume)
    }

    fn begun(&mut self, thread: u32, name: CallName, arguments: &[u64; 6], is_64_bit: bool) {
        let Some(state) = self.threads.get_mut(&thread) else { return };
        self.counted.tree.begun(name);
        if state.process == self.first {
            self.counted.first_process.begun(name);
        }
        state.call = Some((name, NamingCall::at_entry(thread, name, arguments, is_64_bit)));
    }

    /// A new thread returns from the `clone` that its parent made, which is not a call of its own.
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

    /// `thread` now has its process's number; it may have had another one when it called.
    fn executed(&mut self, thread: u32) -> Result<(), SyscallsError> {
        self.counted.programs = self.counted.programs.saturating_add(1);
        let former = self
            .tracer
            .event_message(thread)
            .map_err(|error| SyscallsError::system("learn which thread called execve", error))?;
        if let Some(former) = former.filter(|&former| former != thread)
            && let Some(state) = self.threads.remove(&former)
        {
            self.threads.insert(thread, state);
        }
        if self.takes_rights
            && let Some(program) = file_with_rights(thread)
        {
            self.counted.without_their_rights.push(program);
        }
        let is_first_image = thread == self.first && self.counted.programs == 1;
        if is_first_image
            && self.options.until == Until::AfterLoader
            && let Some(stop) = self.point(thread)?
        {
            let entry = entry_point(thread, stop.architecture & ARCHITECTURE_IS_64_BIT != 0);
            let entry = entry.ok_or_else(|| std::io::Error::other("its auxiliary vector tells none"));
            let put = entry.and_then(|entry| self.tracer.put_breakpoint(thread, entry));
            self.breakpoint = Some(put.map_err(|source| SyscallsError::EntryPoint { source })?);
        }
        Ok(())
    }

    fn is_at_entry_point(&self, thread: u32) -> Result<bool, SyscallsError> {
        let Some(breakpoint) = self.breakpoint else { return Ok(false) };
        if self.threads.get(&thread).is_none_or(|state| state.process != self.first) {
            return Ok(false);
        }
        Ok(self.point(thread)?.is_some_and(|stop| stop.instruction_pointer == breakpoint))
    }

    /// Kills all that is left and waits until it is gone, without counting.
    fn kill_all(&mut self) -> Result<(), SyscallsError> {
        for thread in self.threads.keys() {
            self.tracer.kill(*thread);
        }
        let begin = Instant::now();
        let mut vain_looks = 0u32;
        loop {
            match self.look()? {
                Waited::AllGone => return Ok(()),
                Waited::Stopped(thread, Stop::Ended(_)) => {
                    self.threads.remove(&thread);
                }
                Waited::Stopped(thread, _) => {
                    self.threads.entry(thread).or_default();
                    self.tracer.kill(thread);
                }
                Waited::Nothing if begin.elapsed() >= KILL_LIMIT => {
                    let mut processes: Vec<u32> = self.threads.keys().copied().collect();
                    processes.sort_unstable();
                    return Err(LaunchError::NotEnded { processes, seconds: KILL_LIMIT.as_secs() }.into());
                }
                Waited::Nothing => {
                    vain_looks = vain_looks.saturating_add(1);
                    pause(vain_looks);
                }
            }
        }
    }
}

fn pause(vain_looks: u32) {
    if vain_looks < BUSY_LOOKS {
        std::thread::yield_now();
    } else {
        std::thread::sleep(SLEEP);
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
