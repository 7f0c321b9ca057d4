//! Tools that are ended when this process ends in any way.
//!
//! Not obvious: the kernel sends the signal when the *thread* that started the tool ends (`prctl(2)`, `PR_SET_PDEATHSIG`), and only to the tool itself,
//! not to what it starts. Whole process trees have [`crate::guardian`].

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has the kernel kill what this command starts once the thread that starts it has ended. Start it from a thread that waits for its end.
///
/// A program that gains rights at its start is not killed.
pub fn end_with_us(command: &mut Command) -> &mut Command {
    let parent = rustix::process::getpid();
    let ask = move || {
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        // It may have ended before the signal was asked for.
        match rustix::process::getppid() == Some(parent) {
            true => Ok(()),
            false => Err(rustix::io::Errno::SRCH.into()),
        }
    };
    // SAFETY: between fork and exec it makes two system calls, and allocates nothing.
    unsafe { command.pre_exec(ask) }
}
