//! A worker process that goes on beside the program we are about to execute.
//!
//! The worker is forked twice, so that the program does not inherit an unknown child: the worker is reparented to
//! init (or the nearest subreaper) before `exec`. It keeps none of our descriptors, or a pipe after the program would
//! never end, and it has its own session, or Ctrl-C for the program would hit it. It ends when the program does.
//!
//! If orphans are reparented to us, because we are the first process of a PID namespace or a child subreaper (which
//! `execve` preserves), a second fork does not help. Then the worker ends before the program starts.

use std::io::{self, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use coldstart_host::process::ProcessFiles;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, child_subreaper, getpid, pidfd_open};

use crate::kept_descriptors::{FIRST_KEPT, keep_only};

/// The worker's descriptors: its end of the pipe, then the program's descriptor, then the file that it keeps.
const PIPE: RawFd = FIRST_KEPT;
const PROGRAM: RawFd = FIRST_KEPT + 1;
const KEPT: RawFd = FIRST_KEPT + 2;
/// What the worker writes: it goes on; the starter may.
const GOES_ON: u8 = 0;
const RELEASED: u8 = 1;
/// A worker that does not tell for so long that it goes on is not waited for.
const SILENCE_LIMIT: Duration = Duration::from_secs(2);
/// How long a killed worker may take to end: more than the kernel needs unless it is stuck.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The worker's connection to the process that started it.
#[derive(Debug)]
pub struct Starter {
    pipe: std::fs::File,
    released: bool,
    outlives_start: bool,
    ends_with_program: bool,
    program: u32,
    kept: Option<std::fs::File>,
}

impl Starter {
    /// Tells a starter that waits that the work goes on: it waits for two seconds after the last time.
    pub fn go_on(&self) {
        if self.outlives_start && !self.released {
            let _ = (&self.pipe).write_all(&[GOES_ON]);
        }
    }

    /// The program's process.
    pub fn program(&self) -> u32 {
        self.program
    }

    /// The file that was handed to the worker, if it could be kept.
    pub fn kept(&self) -> Option<&std::fs::File> {
        self.kept.as_ref()
    }

    /// Closes that file.
    pub fn drop_kept(&mut self) {
        self.kept = None;
    }

    /// Lets the starter continue; the worker then runs beside it. Further calls do nothing. If this worker cannot
    /// outlive the start, the starter continues when the worker ends.
    pub fn release(&mut self) {
        if self.outlives_start && !self.released {
            // If the starter has ended, there is no reader.
            let _ = self.pipe.write_all(&[RELEASED]);
            self.released = true;
        }
    }

    /// Whether the starter died (Ctrl-C) or gave up while it waited, so that the work is useless. False once released.
    pub fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&self.pipe, PollFlags::empty())];
        !self.released && poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
    }

    /// Whether the worker may continue beside the program. If not, the program starts when the worker ends.
    pub fn outlives_start(&self) -> bool {
        self.outlives_start
    }

    /// Whether the end of the program ends this process too. Not before Linux 5.3.
    pub fn ends_with_program(&self) -> bool {
        self.ends_with_program
    }
}

/// Whether the starter waits for its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No: the worker counts as released from the start.
    No,
    /// Until the worker calls [`Starter::release`], returns, or dies.
    UntilReleased,
}

/// Runs `work` in a detached process.
///
/// The worker keeps no descriptor but its connection to us and `kept`; its working directory is `/`, its standard streams `/dev/null`. It
/// ends at once when this process does, also after this process has executed another program.
/// The starter waits for at most `limit`: a worker stuck in the kernel (an unreachable network disk) must not block it.
/// The caller must have no other thread: after `fork` only the calling thread exists, and locks of others
/// would stay locked.
///
/// # Errors
/// When no pipe or process can be created, or when the first child would become the init process of a PID
/// namespace: its end would end the namespace. Failures of the work itself are not reported.
pub fn run_detached(
    wait: Wait,
    limit: Duration,
    kept: Option<std::fs::File>,
    work: impl FnOnce(&mut Starter),
) -> io::Result<()> {
    let kept = kept.map(OwnedFd::from);
    let number = getpid().as_raw_nonzero().get().unsigned_abs();
    if next_process_is_init() {
        return Err(io::Error::other("the next process that is started here becomes init of a new PID namespace"));
    }
    let outlives_start = !orphans_come_to_us();
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    let program = pidfd_open(getpid(), PidfdFlags::empty()).ok();
    let signal = ChildSignal::note();
    // SAFETY: the caller has a single thread, so the child may do what its parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(ours);
            // A panic must not unwind into the starter's code, which this process must never run.
            let _ = catch_unwind(AssertUnwindSafe(|| {
                let Ok(mut starter) = leave_starter(theirs, program, kept) else { return };
                starter.program = number;
                starter.outlives_start = outlives_start;
                starter.released = outlives_start && wait == Wait::No;
                // SAFETY: as above; this process has a single thread too.
                if !outlives_start || unsafe { libc::fork() } == 0 {
                    starter.ends_with_program = end_with_program();
                    work(&mut starter);
                }
            }));
            // SAFETY: `_exit` ends the process without running the starter's exit handlers; the starter runs them.
            unsafe { libc::_exit(0) }
        }
        child => {
            drop((theirs, program, kept));
            if outlives_start {
                // It has none of our descriptors when it forks the worker, and neither has the worker.
                reap(child);
                if wait == Wait::UntilReleased {
                    wait_for_release(&ours, limit);
                }
            } else {
                wait_for_end(child, &ours, limit);
            }
            signal.take_back();
            Ok(())
        }
    }
}

/// Whether this process is the reaper of orphans (`find_new_reaper` in `kernel/exit.c`).
fn orphans_come_to_us() -> bool {
    getpid().is_init() || child_subreaper().is_ok_and(|subreaper| subreaper.is_some())
}

/// Whether our next child is the first process of a PID namespace, as after `unshare(CLONE_NEWPID)`. The link to the
/// namespace of our children (Linux 4.12) then exists but cannot be read (`pidns_for_children_get` in `kernel/pid_namespace.c`).
fn next_process_is_init() -> bool {
    let children = ProcessFiles::own().at("ns/pid_for_children");
    children.symlink_metadata().is_ok()
        && children.read_link().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Waits for `events` on the pipe, a byte or its end, for at most `limit`. Returns whether they occurred.
fn wait_for(pipe: &OwnedFd, events: PollFlags, limit: Duration) -> bool {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(pipe, events)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            answer => return answer.is_ok_and(|count| count > 0),
        }
    }
}

/// Waits until the worker releases us, ends, or does not tell any more that it goes on; at most `limit`.
fn wait_for_release(pipe: &OwnedFd, limit: Duration) {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut told = [GOES_ON; 64];
        if left.is_zero() || !wait_for(pipe, PollFlags::IN, left.min(SILENCE_LIMIT)) {
            return;
        }
        match rustix::io::read(pipe, &mut told) {
            Ok(count) if count > 0 && told.iter().take(count).all(|&byte| byte == GOES_ON) => {}
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}

/// Waits for a worker that may not outlive the start; kills it after `limit`. One that is stuck in the
/// kernel and cannot be killed is left behind.
fn wait_for_end(worker: libc::pid_t, pipe: &OwnedFd, limit: Duration) {
    // POLLHUP, which is always reported, arrives when the worker ends.
    if !wait_for(pipe, PollFlags::empty(), limit) {
        // SAFETY: no memory is passed; its pipe is open, so the process is the worker.
        unsafe { libc::kill(worker, libc::SIGKILL) };
        if !wait_for(pipe, PollFlags::empty(), END_LIMIT) {
            return;
        }
    }
    reap(worker);
}

fn reap(process: libc::pid_t) {
    // SAFETY: a null status pointer is allowed.
    while unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// The SIGCHLD of our child. Where SIGCHLD is blocked it stays pending across `execve`, and the program would see
/// a child that it never had.
struct ChildSignal {
    set: libc::sigset_t,
    stays_pending: bool,
}

impl ChildSignal {
    fn note() -> Self {
        // SAFETY: zeroed sets are valid values to be filled, and live as long as the calls.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            let mut blocked: libc::sigset_t = std::mem::zeroed();
            let mut pending: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGCHLD);
            libc::sigprocmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut blocked);
            libc::sigpending(&raw mut pending);
            let stays_pending = libc::sigismember(&raw const blocked, libc::SIGCHLD) == 1
                && libc::sigismember(&raw const pending, libc::SIGCHLD) == 0;
            Self { set, stays_pending }
        }
    }

    /// Consumes the signal, unless another child, which the program may know, has ended as well: two pending SIGCHLDs merge into one.
    fn take_back(self) {
        if !self.stays_pending {
            return;
        }
        // SAFETY: the set is filled; a null pointer for what is told of the signal is allowed; zeroed bytes are a valid
        // `siginfo_t` to be filled, whose number of a process stays 0 where no child has ended.
        unsafe {
            libc::sigtimedwait(&raw const self.set, std::ptr::null_mut(), &libc::timespec { tv_sec: 0, tv_nsec: 0 });
            let mut ended: libc::siginfo_t = std::mem::zeroed();
            let look = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
            if libc::waitid(libc::P_ALL, 0, &raw mut ended, look) == 0 && ended.si_pid() != 0 {
                libc::kill(libc::getpid(), libc::SIGCHLD);
            }
        }
    }
}

/// Releases what a copy of the starter holds: session, working directory, descriptors.
fn leave_starter(pipe: OwnedFd, program: Option<OwnedFd>, kept: Option<OwnedFd>) -> io::Result<Starter> {
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    let (pipe, program) = (std::mem::ManuallyDrop::new(pipe), std::mem::ManuallyDrop::new(program));
    let kept = std::mem::ManuallyDrop::new(kept);
    // SAFETY: this process runs nothing else that owns a descriptor, never returns into the code of the process it was forked
    // from, and does not drop the owners of the old numbers. The pipe's new number belongs to nothing else.
    unsafe {
        let mut file = None;
        match (program.as_ref(), kept.as_ref()) {
            (Some(program), Some(kept)) => {
                keep_only([pipe.as_raw_fd(), program.as_raw_fd(), kept.as_raw_fd()])?;
                file = Some(std::fs::File::from(OwnedFd::from_raw_fd(KEPT)));
            }
            (Some(program), None) => keep_only([pipe.as_raw_fd(), program.as_raw_fd()])?,
            (None, _) => keep_only([pipe.as_raw_fd()])?,
        }
        let pipe = OwnedFd::from_raw_fd(PIPE);
        Ok(Starter {
            pipe: pipe.into(),
            released: false,
            outlives_start: true,
            ends_with_program: false,
            program: 0,
            kept: file,
        })
    }
}

/// Has the kernel kill this process after a time, even if it is stopped or waits for a disk.
pub fn end_after(limit: Duration) {
    // SAFETY: zeroed structures of integers are valid and are filled; they live as long as the calls.
    unsafe {
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = libc::SIGKILL;
        let mut timer: libc::timer_t = std::mem::zeroed();
        if libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) == 0 {
            let mut time: libc::itimerspec = std::mem::zeroed();
            // By way of a type that has one size everywhere: that of the field differs, and its name is deprecated for musl.
            time.it_value.tv_sec = i32::try_from(limit.as_secs()).unwrap_or(i32::MAX).into();
            time.it_value.tv_nsec = 1;
            libc::timer_settime(timer, 0, &raw const time, std::ptr::null_mut());
        }
    }
}

/// Starts a thread that ends this process when the program does, whatever the others wait for. Returns whether that is possible.
fn end_with_program() -> bool {
    // SAFETY: only looks whether the descriptor is there.
    if unsafe { libc::fcntl(PROGRAM, libc::F_GETFD) } < 0 {
        return false;
    }
    // SAFETY: `leave_starter` put the program's descriptor there, and nothing else owns it.
    let program = unsafe { OwnedFd::from_raw_fd(PROGRAM) };
    let watch = move || {
        while poll(&mut [PollFd::new(&program, PollFlags::IN)], None) == Err(rustix::io::Errno::INTR) {}
        // SAFETY: unlocks the kept file, if there is one: a thread that waits for the disk may delay the end of the process, and
        // the next start must not take its work for still under way. Then ends the process at once, without exit handlers.
        unsafe {
            libc::flock(KEPT, libc::LOCK_UN);
            libc::_exit(0)
        }
    };
    std::thread::Builder::new().spawn(watch).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Forking is only sound from a single thread, which a test harness does not give: the command line's tests
    // run the real launcher.
    #[test]
    fn a_starter_that_never_waits_is_not_gone_after_release() {
        let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let mut starter = Starter {
            pipe: theirs.into(),
            released: false,
            outlives_start: true,
            ends_with_program: false,
            program: 0,
            kept: None,
        };
        assert!(!starter.is_gone());
        starter.release();
        drop(ours);
        assert!(!starter.is_gone());
    }
}
