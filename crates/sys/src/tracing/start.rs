//! Seizing a child between its `fork` and its `exec`.
//!
//! The child sends its PID through a socket and waits for a byte; meanwhile it is seized and interrupted before its
//! next instruction. `PTRACE_TRACEME` would be shorter, but makes the spawning thread the tracer, which at that time
//! blocks in `Command::spawn` until the very `execve` that the tracer has to allow.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use coldstart_host::process::ProcessFiles;

use super::requests::{MoreStops, Tracer};
use crate::child_socket;

/// Replies to the child.
const GO_ON: u8 = 1;
const GIVE_UP: u8 = 0;

/// A child not spawned yet.
#[derive(Debug)]
pub struct PendingTracee {
    socket: OwnedFd,
}

impl std::os::fd::AsFd for PendingTracee {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Why a child could not be seized.
#[derive(Debug, thiserror::Error)]
#[error("the kernel does not let us trace process {process}{}: {source}", by_whom(*.traced_by))]
pub struct SeizeError {
    /// The child.
    pub process: u32,
    /// The PID of the process that already traces the child (a `strace -f` around us); 0 if none.
    pub traced_by: u32,
    /// The kernel's error.
    pub source: io::Error,
}

/// Makes `command` wait before its `execve` until [`PendingTracee::seize`] has been called, from another thread than the
/// spawning one. Existing hooks of the command run before this one; it must be the last.
///
/// # Errors
/// When no socket pair can be created.
pub fn traced(command: &mut Command) -> io::Result<PendingTracee> {
    let (ours, theirs) = child_socket::pair()?;
    let hook = move || introduce_and_wait(theirs.in_child());
    // SAFETY: the hook runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
    Ok(PendingTracee { socket: ours })
}

/// The child's side.
fn introduce_and_wait(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: getpid has no arguments and cannot fail.
    let number = unsafe { libc::getpid() }.to_ne_bytes();
    // The tracer may be our parent's other child, which Yama (`kernel.yama.ptrace_scope` = 1) refuses unless we allow it. Where there is no
    // Yama the call fails, and is not needed.
    // SAFETY: prctl with integer arguments touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY, 0, 0, 0) };
    send(socket, &number)?;
    let mut answer = [GIVE_UP];
    let got = receive(socket, &mut answer)?;
    if got == 1 && answer == [GO_ON] { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EPERM)) }
}

impl PendingTracee {
    /// Waits for the child, seizes it, and lets it continue to a stop right before its `execve`.
    ///
    /// `None` if the child ended before: the spawn's own error says why. The caller must drop its [`Command`]
    /// after a failed spawn, or this waits for ever.
    ///
    /// # Errors
    /// [`SeizeError`] if tracing is forbidden; the spawn fails then, too, with `EPERM`.
    pub fn seize(self) -> Result<Option<(Tracer, u32)>, SeizeError> {
        self.seize_with(MoreStops::No)
    }

    /// As [`seize`](Self::seize), with more stops.
    ///
    /// # Errors
    /// As there.
    pub fn seize_with(self, more: MoreStops) -> Result<Option<(Tracer, u32)>, SeizeError> {
        let mut number = [0; 4];
        let Ok(4) = receive(&self.socket, &mut number) else { return Ok(None) };
        let number = libc::pid_t::from_ne_bytes(number);
        let process = number.unsigned_abs();
        let seized = Tracer::seize(process, more);
        let answer = if seized.is_ok() { GO_ON } else { GIVE_UP };
        let traced_by = if seized.is_ok() { 0 } else { ProcessFiles::of(process).status().tracer().unwrap_or(0) };
        // A child that has ended is reported by the wait.
        let _ = send(&self.socket, &[answer]);
        match seized {
            Ok(tracer) => Ok(Some((tracer, process))),
            Err(source) => Err(SeizeError { process, traced_by, source }),
        }
    }
}

/// A clause that names the existing tracer.
fn by_whom(tracer: u32) -> String {
    if tracer == 0 {
        return String::new();
    }
    let name = ProcessFiles::of(tracer).name();
    let name = name.to_string_lossy();
    format!(
        ", which {} (process {tracer}) already traces; a process can have only one tracer",
        name.trim_end().escape_debug()
    )
}

fn send(socket: &OwnedFd, bytes: &[u8]) -> io::Result<()> {
    loop {
        // SAFETY: the pointer and length are those of `bytes`. No SIGPIPE: its action may be the default in the child.
        let sent = unsafe { libc::send(socket.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
        if sent >= 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn receive(socket: &OwnedFd, bytes: &mut [u8]) -> io::Result<usize> {
    loop {
        // SAFETY: the pointer and length are those of `bytes`, which may be written to.
        let got = unsafe { libc::recv(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
        if let Ok(got) = usize::try_from(got) {
            return Ok(got);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}
