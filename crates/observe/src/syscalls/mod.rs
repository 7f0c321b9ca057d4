//! Counting a start's system calls, without strace and without root.
//!
//! Before and after a change to a program's library search, the failed calls show whether it worked. Not obvious:
//! the count begins with the program's own `execve` and includes the loader's calls, so a
//! program that does nothing makes some thirty of them; [`Until::AfterLoader`] gives the loader's share alone.
//!
//! The program behaves as without us, only slower, with two exceptions: set-user-ID programs lose
//! their privileges ([`SyscallCounts::without_their_rights`]), and a program that traces others cannot trace its own children.

mod counter;
mod counts;
mod error;
mod failed_names;
mod first_image;
mod numbers;
mod options;
mod start;

use coldstart_launch::CommandLine;
use coldstart_sys::tracing::traced;

pub use coldstart_sys::syscall_observer::NameBase;
pub use counts::{CallCount, CallTable, Ended, SyscallCounts};
pub use error::{SyscallsError, TracingObstacle};
pub use failed_names::{FailedName, LibraryProbe};
pub use numbers::CallName;
pub use options::{CountOptions, Until};

use counter::Followed;
pub(crate) use first_image::has_other_rights;

/// Starts a program, counts the system calls of it and its descendants, and kills whatever is left after the requested
/// point.
///
/// A program that crashes, or is not done within the time limit, is a result. Meanwhile no other thread of this
/// process may wait for any child, and no launch may run, which would count the program as its own.
///
/// # Errors
/// When the program cannot be started or traced, or we are interrupted; started processes have been killed then, too.
pub fn count_syscalls(command: &CommandLine, options: &CountOptions) -> Result<SyscallCounts, SyscallsError> {
    if let Some(signal) = options.interrupt.as_ref().and_then(coldstart_launch::Interrupt::signal) {
        return Err(coldstart_launch::LaunchError::Interrupted { signal }.into());
    }
    let (mut child, program) = start::command(command, options)?;
    let pending =
        traced(&mut child).map_err(|error| SyscallsError::system("create a socket for the program", error))?;
    let (spawned, followed) = std::thread::scope(|scope| {
        let follower = std::thread::Builder::new().spawn_scoped(scope, || match pending.seize() {
            Ok(Some((tracer, process))) => counter::count(tracer, process, options),
            Ok(None) => Ok(Followed::NotStarted),
            Err(error) => Err(error.into()),
        });
        let follower = follower.map_err(|error| SyscallsError::system("start a thread", error))?;
        let spawned = child.spawn();
        // Its hook holds the socket's other end, at which the follower may wait.
        drop(child);
        Ok::<_, SyscallsError>((spawned, follower.join()))
    })?;
    let followed = followed.map_err(|_| {
        SyscallsError::system("trace the program", std::io::Error::other("the tracing thread has failed"))
    })??;
    let refused = match followed {
        Followed::Counted(counted) => return Ok(counted.into_counts(program)),
        Followed::Refused(errno) => Some(errno),
        Followed::NotStarted => spawned.as_ref().err().and_then(rustix::io::Errno::from_io_error),
    };
    let errno = refused.unwrap_or(rustix::io::Errno::CHILD);
    Err(start::refusal(&program, errno).into())
}
