//! Results of a wait for traced threads: the meaning of a wait status under `PTRACE_SEIZE`.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::requests::Tracer;

/// `PTRACE_EVENT_STOP` (`linux/ptrace.h`).
const EVENT_STOP: i32 = 128;

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// All threads run, or sleep in the kernel.
    Nothing,
    /// No thread is traced any more.
    AllGone,
    /// This thread is stopped or has ended.
    Stopped(u32, Stop),
}

/// Why a thread is stopped, or that it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has ended. For a process's first thread: the process has ended with this status.
    Ended(ExitStatus),
    /// At the entry or exit of a system call: [`Tracer::syscall`] tells which.
    Syscall,
    /// It is about to receive this signal. Resume it with the number to deliver it.
    Signal(i32),
    /// Its process was stopped by a job-control signal: [`Tracer::leave_stopped`] keeps it so until SIGCONT.
    Group,
    /// It created or replaced a process.
    Event(Event),
    /// A stop for the tracer only: newly traced, interrupted by us, or continued after [`Stop::Group`].
    Pause,
}

/// An event of a thread; [`Tracer::event_message`] has the other thread's TID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `fork`, or a `clone` without anything special: the message is the new process's number.
    Fork,
    /// `vfork`, or a `clone` whose caller waits: the message is the new process's number.
    Vfork,
    /// Any other `clone`: the message is the new thread's or process's number.
    Clone,
    /// A call that a filter reports, at its entry: the message is the filter's number for it.
    Filtered,
    /// The thread is about to end, while its memory still exists: the message is its wait status.
    Exit,
    /// A successful `execve`: all other threads of the process have ended, and the message is the TID
    /// that the caller had before it took over the PID.
    Exec,
    /// One that was not requested.
    Other(i32),
}

impl Tracer {
    /// Looks for a stop of any followed thread; never waits.
    ///
    /// # Errors
    /// None is known besides "no children", which is [`Waited::AllGone`].
    pub fn look(&self) -> io::Result<Waited> {
        wait(-1, libc::WNOHANG)
    }

    /// Waits for a stop of any followed thread.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn wait(&self) -> io::Result<Waited> {
        wait(-1, 0)
    }

    /// Waits for a stop of one thread.
    ///
    /// # Errors
    /// As [`look`](Self::look).
    pub fn wait_for(&self, thread: u32) -> io::Result<Waited> {
        wait(libc::pid_t::try_from(thread).unwrap_or(libc::pid_t::MAX), 0)
    }
}

fn wait(whom: libc::pid_t, flags: libc::c_int) -> io::Result<Waited> {
    let mut status = 0;
    // SAFETY: the status pointer is to a live local. Thanks to __WNOTHREAD only what this thread follows is taken.
    let thread = unsafe { libc::waitpid(whom, &mut status, flags | libc::__WALL | libc::__WNOTHREAD) };
    if thread == 0 {
        return Ok(Waited::Nothing);
    }
    if thread < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ECHILD) => Ok(Waited::AllGone),
            Some(libc::EINTR) => Ok(Waited::Nothing),
            _ => Err(error),
        };
    }
    Ok(Waited::Stopped(thread.unsigned_abs(), stop(status)))
}

/// The wait status: signal in bits 8 to 15, event above.
fn stop(status: i32) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended(ExitStatus::from_raw(status));
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Syscall,
        0 => Stop::Signal(signal),
        libc::PTRACE_EVENT_FORK => Stop::Event(Event::Fork),
        libc::PTRACE_EVENT_VFORK => Stop::Event(Event::Vfork),
        libc::PTRACE_EVENT_CLONE => Stop::Event(Event::Clone),
        libc::PTRACE_EVENT_SECCOMP => Stop::Event(Event::Filtered),
        libc::PTRACE_EVENT_EXIT => Stop::Event(Event::Exit),
        libc::PTRACE_EVENT_EXEC => Stop::Event(Event::Exec),
        EVENT_STOP if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) => Stop::Group,
        EVENT_STOP => Stop::Pause,
        other => Stop::Event(Event::Other(other)),
    }
}
