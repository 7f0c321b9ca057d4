//! Work that goes on beside a program we are about to become.
//!
//! The worker is forked twice, so that the program does not inherit a child it knows nothing of: the worker belongs to
//! init (or the nearest subreaper) before `exec`. It holds none of our descriptors, or a pipe behind the program would
//! never end, and it has a session of its own, or Ctrl-C meant for the program would hit it. It ends by itself.

use std::io::{self, Write};
use std::os::fd::{FromRawFd, IntoRawFd, OwnedFd, RawFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};

/// The worker's line to the process that started it.
#[derive(Debug)]
pub struct Starter {
    pipe: std::fs::File,
    released: bool,
}

impl Starter {
    /// Lets the starter go on; what follows runs beside it. Further calls do nothing.
    pub fn release(&mut self) {
        if !self.released {
            // If the starter is gone there is nobody to tell.
            let _ = self.pipe.write_all(&[1]);
            self.released = true;
        }
    }

    /// Whether the starter died (Ctrl-C) or gave up while it waited: the work has lost its purpose. False once released.
    pub fn is_gone(&self) -> bool {
        let mut polled = [PollFd::new(&self.pipe, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !self.released && poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0)
    }
}

/// Whether the starter waits for its worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: the worker is told that it was released already.
    No,
    /// Until the worker calls [`Starter::release`], returns, or dies, but no longer than this: a worker stuck in the kernel
    /// (a network disk that is gone) must not hold the starter.
    UntilReleased(Duration),
}

/// Runs `work` in a detached process.
///
/// The worker keeps no descriptor but its line to us; its working directory is `/`, its standard streams `/dev/null`.
/// The caller must have no other thread: after `fork` only the calling thread exists, and a lock that another one held
/// would stay locked.
///
/// # Errors
/// Fails when no pipe or process can be made. The work's own failure is its own affair.
pub fn run_detached(wait: Wait, work: impl FnOnce(&mut Starter)) -> io::Result<()> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: the caller has a single thread, so the child may do what its parent could.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            drop(ours);
            // SAFETY: as above; this process has a single thread too.
            let worker = unsafe { libc::fork() };
            if worker == 0 {
                // A panic must not unwind into the starter's code, which this process must never run.
                let _ = catch_unwind(AssertUnwindSafe(|| become_worker(theirs, wait, work)));
            }
            // SAFETY: `_exit` ends the process without running the starter's exit handlers; the starter runs them.
            unsafe { libc::_exit(0) }
        }
        intermediate => {
            drop(theirs);
            reap(intermediate);
            if let Wait::UntilReleased(limit) = wait {
                wait_for_answer(&ours, limit);
            }
            Ok(())
        }
    }
}

/// Any answer releases us: a byte, or the end of the pipe when the worker is gone.
fn wait_for_answer(pipe: &OwnedFd, limit: Duration) {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(pipe, PollFlags::IN)], Some(&timeout)) {
            Err(rustix::io::Errno::INTR) => {}
            _ => return,
        }
    }
}

fn reap(process: libc::pid_t) {
    // SAFETY: a null status pointer is allowed.
    while unsafe { libc::waitpid(process, std::ptr::null_mut(), 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

fn become_worker(pipe: OwnedFd, wait: Wait, work: impl FnOnce(&mut Starter)) {
    let _ = rustix::process::setsid();
    let _ = rustix::process::chdir("/");
    let Ok(pipe) = keep_only(pipe) else { return };
    let mut starter = Starter { pipe: pipe.into(), released: wait == Wait::No };
    work(&mut starter);
}

/// Moves the pipe to descriptor 3, `/dev/null` to 0 to 2, and closes the rest.
fn keep_only(pipe: OwnedFd) -> io::Result<OwnedFd> {
    const PIPE: RawFd = 3;
    let null = rustix::fs::open("/dev/null", rustix::fs::OFlags::RDWR, rustix::fs::Mode::empty())?;
    // Duplicates above the numbers that are about to be overwritten. From here on they are plain numbers: everything
    // is closed at once below, and an owner that closed its number later would close what stands there by then.
    let high_pipe = rustix::io::fcntl_dupfd_cloexec(&pipe, PIPE + 1)?.into_raw_fd();
    let high_null = rustix::io::fcntl_dupfd_cloexec(&null, PIPE + 1)?.into_raw_fd();
    drop((pipe, null));
    // SAFETY: this process runs nothing else that could own the descriptors overwritten and closed here: it never
    // returns into the code of the process it was forked from.
    unsafe {
        for standard in 0..PIPE {
            libc::dup2(high_null, standard);
        }
        if libc::dup2(high_pipe, PIPE) < 0 {
            return Err(io::Error::last_os_error());
        }
        libc::syscall(libc::SYS_close_range, PIPE + 1, u32::MAX, 0);
        Ok(OwnedFd::from_raw_fd(PIPE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Forking is only sound from a single thread, which a test harness does not give: the command line's tests
    // run the real launcher.
    #[test]
    fn a_starter_that_never_waits_is_not_gone_after_release() {
        let (ours, theirs) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        let mut starter = Starter { pipe: theirs.into(), released: false };
        assert!(!starter.is_gone());
        starter.release();
        drop(ours);
        assert!(!starter.is_gone());
    }
}
