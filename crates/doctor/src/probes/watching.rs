//! Our observer of file-name calls, tried on a child that never executes a program.
//!
//! The child installs the filter, hands its listener over, and then executes a program that does not exist: the one
//! observed call. So the trial covers the filter, the notification, continuing the call, and reading the name from
//! the child's memory, and starts nothing.

use std::io;
use std::process::Command;

use coldstart_sys::syscall_observer::observe;

use crate::answer::Answer;

/// An impossible name: its directory is a file.
const NOBODY: &str = "/dev/null/coldstart-doctor";

/// Whether observing works, and if so whether the child's names can be read.
pub(super) fn try_observer() -> (Answer, Option<bool>) {
    let mut command = Command::new(NOBODY);
    let pending = match observe(&mut command) {
        Ok(pending) => pending,
        Err(error) => return (Answer::of_io::<()>(Err(error)), None),
    };
    let follower = std::thread::Builder::new().spawn(move || -> io::Result<bool> {
        let observer = pending.accept()?;
        let mut seen = false;
        while observer.next(&mut |call| seen |= call.name == NOBODY)? {}
        Ok(seen)
    });
    let Ok(follower) = follower else { return (Answer::no_process(), None) };
    let spawned = command.spawn();
    // This closes our copy of the child's end of the socket; else the follower would wait for ever.
    drop(command);
    let followed = follower.join().unwrap_or_else(|_| Err(io::Error::other("the observer failed")));
    let refusal = match spawned {
        Ok(mut child) => {
            // The child ended before its call, as under a filter that kills.
            let _ = child.wait();
            None
        }
        Err(error) => error.raw_os_error(),
    };
    match followed {
        Ok(seen) => (Answer::Works, Some(seen)),
        // The hook's own error is more precise than the child's end.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            (refusal.map_or(Answer::Untried("the child was ended".to_owned()), Answer::refused), None)
        }
        Err(error) => (Answer::of_io::<()>(Err(error)), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_started_and_nothing_is_left() {
        let (answer, names) = try_observer();
        assert_eq!(answer.works(), names.is_some(), "{answer:?}");
        assert!(!std::path::Path::new(NOBODY).exists());
    }
}
