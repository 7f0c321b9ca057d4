//! A process that only records the time of its end, to measure how long we take to notice it.
//!
//! It executes no program. It runs in our own memory (`CLONE_VM`), as the child of `posix_spawn` does until its `exec`,
//! so nothing is copied, loaded or torn down. The clock is that of
//! `std::time::Instant` (`CLOCK_MONOTONIC`).

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::blocked_signals::with_signals_blocked;

/// It needs a few hundred bytes of stack; a build without optimisation some more.
const STACK: usize = 64 << 10;
/// How long it sleeps where we should be asleep when it ends: long enough for us to get there.
const SLEEP_NANOSECONDS: i64 = 1_000_000;

/// The time from the last instruction of a process until we notice its end, while we sleep in `poll` on its pidfd.
///
/// # Errors
/// When no process or pidfd (Linux 5.3) can be created.
pub fn wake_time() -> io::Result<Duration> {
    let mut end = 0;
    let noted = run(|process| {
        let handle = pidfd_open(process, PidfdFlags::empty())?;
        while let Err(error) = poll(&mut [PollFd::from_borrowed_fd(handle.as_fd(), PollFlags::IN)], None) {
            if error != rustix::io::Errno::INTR {
                return Err(error.into());
            }
        }
        end = now();
        Ok(())
    })?;
    Ok(Duration::from_nanos(u64::try_from(end.saturating_sub(noted)).unwrap_or(0)))
}

/// Creates a process, lets `meanwhile` wait for it, and returns the recorded time.
fn run(meanwhile: impl FnOnce(Pid) -> io::Result<()>) -> io::Result<i64> {
    let note = AtomicI64::new(0);
    let mut stack = vec![0u128; STACK / size_of::<u128>()];
    // SAFETY: the stack grows down from one past its last element, which is aligned to 16 bytes; it and the note live until the process
    // was waited for below. The process runs nothing but `note_time`, which touches no memory but these; signals are blocked, so that no
    // handler runs in it and no call of it is interrupted (an error would be written to `errno`, which is ours).
    let process = with_signals_blocked(|| unsafe {
        let top = stack.as_mut_ptr_range().end;
        // No signal at its end, so that a wait for any child does not see it.
        match libc::clone(note_time, top.cast(), libc::CLONE_VM, (&raw const note).cast_mut().cast()) {
            -1 => Err(io::Error::last_os_error()),
            process => Ok(process),
        }
    })?;
    let result = Pid::from_raw(process).map_or_else(|| Err(io::ErrorKind::InvalidInput.into()), meanwhile);
    // SAFETY: a null status pointer is allowed. Nobody else waits for it.
    while unsafe { libc::waitpid(process, std::ptr::null_mut(), libc::__WALL) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
    drop(stack);
    result?;
    Ok(note.load(Ordering::Acquire))
}

extern "C" fn note_time(note: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the argument is the note of `run`, which outlives this process and is changed as an atomic
    // only. `_exit` ends this process without running our exit handlers.
    unsafe {
        let note = &*note.cast::<AtomicI64>();
        let time = libc::timespec { tv_sec: 0, tv_nsec: SLEEP_NANOSECONDS };
        libc::nanosleep(&time, std::ptr::null_mut());
        note.store(now(), Ordering::Release);
        libc::_exit(0)
    }
}

fn now() -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a pointer to a live local; this clock is there on every kernel.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_end_is_learned_of_after_it_and_it_is_reaped() {
        for _ in 0..20 {
            let begin = now();
            let (mut process, mut end) = (None, 0);
            let noted = run(|pid| {
                process = Some(pid);
                end = now();
                Ok(())
            });
            assert!(begin < noted.unwrap() && begin < end);
            // A child that was not waited for would still be there.
            assert!(rustix::process::test_kill_process(process.unwrap()).is_err());
            assert!(wake_time().unwrap() > Duration::ZERO);
        }
    }

    #[test]
    fn the_clock_is_that_of_instant() {
        let before = now();
        let instant = std::time::Instant::now();
        std::thread::sleep(Duration::from_millis(2));
        let elapsed = i64::try_from(instant.elapsed().as_nanos()).unwrap();
        assert!(now() - before >= elapsed);
    }
}
