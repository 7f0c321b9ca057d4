//! A worker process beside this one, and its result.
//!
//! A ptrace tracer must not be in the process that waits for the program as its parent: the two would take
//! each other's stops (`wait_consider_task` in `kernel/exit.c`). The worker ends when the thread that started it does.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

/// A worker that has been started.
#[derive(Debug)]
pub struct Worker {
    process: libc::pid_t,
    result: File,
    line: OwnedFd,
}

/// Whether the worker was nudged and has not answered.
static NUDGED: AtomicBool = AtomicBool::new(false);
/// Descriptor limit: more than a worker needs.
const MANY_DESCRIPTORS: u64 = 65_536;
/// A nudge right before a wait is lost, so nudges are repeated.
const NUDGE_INTERVAL: Duration = Duration::from_millis(5);

/// The worker's connection to the process that started it.
#[derive(Debug)]
pub struct Line {
    socket: OwnedFd,
}

impl Line {
    /// Whether a reply to [`Worker::nudge`] is due. A nudge interrupts blocking system calls (`EINTR`).
    pub fn is_nudged(&self) -> bool {
        NUDGED.load(Ordering::Relaxed)
    }

    /// Replies to a nudge.
    pub fn answer(&self) {
        NUDGED.store(false, Ordering::Relaxed);
        // If the other end is closed, there is no reader.
        let _ = rustix::io::write(&self.socket, &[1]);
    }
}

extern "C" fn note_nudge(_signal: libc::c_int) {
    NUDGED.store(true, Ordering::Relaxed);
}

/// Runs `work` in a forked process and returns its bytes as the result. The worker keeps only standard error and the descriptors in
/// `keep` (which the work owns), and only SIGKILL ends it before its work is done.
///
/// Other threads of this process do not exist in the worker, and their locks stay locked for ever: the work may allocate (the C library
/// allows that) but must not print or use anything that other threads use. It must not start threads by `std::thread`, whose lock may
/// be held: `plain_thread` says why and starts some without it.
///
/// # Errors
/// When the process or the memory file cannot be created.
pub fn start_worker(keep: &[RawFd], work: impl FnOnce(&Line) -> Vec<u8>) -> io::Result<Worker> {
    let result = rustix::fs::memfd_create("coldstart", rustix::fs::MemfdFlags::CLOEXEC)?;
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let mut kept = keep.to_vec();
    kept.extend([result.as_raw_fd(), theirs.as_raw_fd(), 2]);
    kept.sort_unstable();
    // SAFETY: getpid has no arguments and cannot fail.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the child runs only `work`, for which the caller is responsible, and ends by `_exit`.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // A panic must not unwind into the caller's code, which this process must never run.
            let done =
                catch_unwind(AssertUnwindSafe(|| become_worker(parent, &kept, result, &Line { socket: theirs }, work)));
            // SAFETY: `_exit` ends the process without running the parent's exit handlers; the parent runs them.
            unsafe { libc::_exit(i32::from(!matches!(done, Ok(Ok(()))))) }
        }
        process => Ok(Worker { process, result: File::from(result), line: ours }),
    }
}

fn become_worker(
    parent: libc::pid_t,
    keep: &[RawFd],
    result: OwnedFd,
    line: &Line,
    work: impl FnOnce(&Line) -> Vec<u8>,
) -> io::Result<()> {
    // SAFETY: prctl and getppid with integer arguments touch no memory. The parent may have ended before the signal is requested.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0);
        if libc::getppid() != parent {
            return Ok(());
        }
    }
    // SAFETY: all-zero signal sets and actions are valid, and are filled before they are used; the handler stores to an atomic.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigdelset(&raw mut all, libc::SIGUSR1);
        let mut action: libc::sigaction = std::mem::zeroed();
        // Without SA_RESTART: waits must be interrupted.
        action.sa_sigaction = note_nudge as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, std::ptr::null_mut());
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
    allow_descriptors();
    let mut next = 0u32;
    for &descriptor in keep {
        let Ok(descriptor) = u32::try_from(descriptor) else { continue };
        if descriptor > next {
            close_range(next, descriptor - 1);
        }
        next = descriptor.saturating_add(1);
    }
    close_range(next, u32::MAX);
    let bytes = work(line);
    File::from(result).write_all(&bytes)
}

/// The worker holds a descriptor for every process it watches, so the program's limit must not apply to it.
fn allow_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let now = getrlimit(Resource::Nofile);
    let most = now.maximum.map(|maximum| maximum.max(MANY_DESCRIPTORS));
    // Only root may exceed the hard limit.
    if setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now });
    }
}

fn close_range(first: u32, last: u32) {
    // SAFETY: the descriptors belong to what the parent owns; this process uses none of them, and its copies of their owners are never dropped.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
}

impl Worker {
    /// Interrupts the worker's wait, and waits for its reply, up to `limit`. Returns whether it replied.
    pub fn nudge(&self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            // SAFETY: no memory is passed; the process is our child and has not been waited for.
            unsafe { libc::kill(self.process, libc::SIGUSR1) };
            let mut polled = [PollFd::new(&self.line, PollFlags::IN)];
            let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(NUDGE_INTERVAL.subsec_nanos()) };
            if poll(&mut polled, Some(&pause)).is_ok_and(|count| count > 0) {
                return rustix::io::read(&self.line, &mut [0u8; 64]).is_ok_and(|length| length > 0);
            }
        }
        false
    }

    /// Waits for the result.
    ///
    /// # Errors
    /// When the worker died.
    pub fn result(mut self) -> io::Result<Vec<u8>> {
        let mut status = 0;
        loop {
            // SAFETY: the status pointer is to a live local, and the process is a child that nobody else waits for.
            if unsafe { libc::waitpid(self.process, &raw mut status, 0) } >= 0 {
                break;
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        if status != 0 {
            return Err(io::Error::other(format!("it ended with {}", ExitStatus::from_raw(status))));
        }
        let mut bytes = Vec::new();
        self.result.seek(SeekFrom::Start(0))?;
        self.result.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}
