//! Tracing, tried on a child that never executes a program, and calls with impossible names.
//!
//! The child is seized before its `execve` and killed there. The names for renames and links are below `/dev/null`,
//! which is not a directory: only a kernel that supports and permits the call returns `ENOTDIR`.

use std::process::Command;

use coldstart_sys::private_mounts::{Method, PrivateMountsError, possible};
use coldstart_sys::tracing::traced;
use rustix::fs::{CWD, RenameFlags, renameat_with, symlinkat};
use rustix::io::Errno;

use super::Refusal;
use crate::answer::Answer;

/// Impossible names: their directory is a file.
const NOBODY: &str = "/dev/null/coldstart-doctor";
const NOBODY_ELSE: &str = "/dev/null/coldstart-doctor-too";

/// Any address of a program: nothing of it is run.
const SOMEWHERE: u64 = 0x1000;

/// Whether a program that we start can be traced by `ptrace`, as `verify --run` and `trace` do, and whether its debug
/// registers can be set, as `trace` does.
pub(super) fn try_tracing() -> (Answer, Answer) {
    let mut command = Command::new(NOBODY);
    let pending = match traced(&mut command) {
        Ok(pending) => pending,
        Err(error) => return (Answer::of_io::<()>(Err(error)), Answer::default()),
    };
    // The thread that seizes is the tracer; its tracees end with it.
    let tracer = std::thread::Builder::new().spawn(move || match pending.seize() {
        Ok(Some((tracer, process))) => {
            let registers = Answer::of_io(tracer.set_breakpoints(process, Some(SOMEWHERE), None));
            tracer.kill(process);
            (Answer::Works, registers)
        }
        Ok(None) => (Answer::Untried("the child was ended".to_owned()), Answer::default()),
        Err(error) => (Answer::of_io::<()>(Err(error.source)), Answer::default()),
    });
    let Ok(tracer) = tracer else { return (Answer::no_process(), Answer::default()) };
    let spawned = command.spawn();
    // This closes our copy of the child's end of the socket; else the tracer would wait for ever.
    drop(command);
    let failed = || (Answer::Untried("the tracer failed".to_owned()), Answer::default());
    let answers = tracer.join().unwrap_or_else(|_| failed());
    if let Ok(mut child) = spawned {
        let _ = child.wait();
    }
    answers
}

/// Whether files can be replaced for the programs that we start, and only for them.
pub(super) fn try_private_view() -> Result<Method, Refusal> {
    possible().map_err(|error| {
        let setting = match &error {
            PrivateMountsError::Impossible { obstacle, .. } => obstacle.setting(),
            _ => None,
        };
        Refusal { reason: error.to_string(), setting }
    })
}

/// Whether the kernel can swap two names atomically, as for directories of links.
pub(super) fn try_exchange() -> Answer {
    known(renameat_with(CWD, NOBODY, CWD, NOBODY_ELSE, RenameFlags::EXCHANGE))
}

/// Whether the kernel permits symbolic links at all.
pub(super) fn try_links() -> Answer {
    known(symlinkat("nobody", CWD, NOBODY))
}

/// `ENOTDIR` means that the kernel would do it. Without `/dev/null`, it is `ENOENT`.
fn known(answer: Result<(), Errno>) -> Answer {
    match answer {
        Ok(()) | Err(Errno::NOTDIR | Errno::NOENT) => Answer::Works,
        refused => Answer::of(refused),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_and_nothing_is_made() {
        for _ in 0..20 {
            let (answer, registers) = try_tracing();
            assert!(matches!(answer, Answer::Works | Answer::Refused(_)), "{answer:?}");
            assert!(answer.works() || !registers.works(), "{registers:?}");
        }
        assert!(try_exchange().works() && try_links().works());
        assert!(!std::path::Path::new(NOBODY).exists());
    }
}
