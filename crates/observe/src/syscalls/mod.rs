//! Counting a start's system calls, without strace and without root.
//!
//! Before and after a change to a program's library search, the calls that failed say whether it worked. Not obvious:
//! the count begins with the program's own `execve` and holds the loader's calls like any others, so a
//! program that does nothing makes some thirty of them; [`Until::AfterLoader`] gives the loader's share alone.
//!
//! The program behaves as if alone, only slower, with two exceptions: set-user-ID programs run without
//! their rights ([`SyscallCounts::without_their_rights`]), and a program that traces others cannot trace its own children.

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

/// Starts a program, counts the system calls of it and of all it starts, and ends whatever is there after the point asked
/// for.
///
/// A program that crashes, or is not done within the time limit, is a result. While it runs, nobody else in this
/// process may wait for children in general, and no launch may run beside it, which would take it for its own.
///
/// # Errors
/// When the program cannot be started or traced, or we are interrupted; whatever was started has been ended then, too.
pub fn count_syscalls(command: &CommandLine, options: &CountOptions) -> Result<SyscallCounts, SyscallsError> {
    if let Some(signal) = options.interrupt.as_ref().and_then(coldstart_launch::Interrupt::signal) {
        return Err(coldstart_launch::LaunchError::Interrupted { signal }.into());
    }
    let (mut child, program) = start::command(command, options)?;
    let pending = traced(&mut child).map_err(|error| SyscallsError::system("make a socket for the program", error))?;
    let (spawned, followed) = std::thread::scope(|scope| {
        let follower = scope.spawn(|| match pending.seize() {
            Ok(Some((tracer, process))) => counter::count(tracer, process, options),
            Ok(None) => Ok(Followed::NotStarted),
            Err(error) => Err(error.into()),
        });
        let spawned = child.spawn();
        // Its hook holds the socket's other end, at which the follower may wait.
        drop(child);
        (spawned, follower.join())
    });
    let followed = followed.map_err(|_| {
        SyscallsError::system("follow the program", std::io::Error::other("the following thread has failed"))
    })??;
    let refused = match followed {
        Followed::Counted(counted) => return Ok(counted.into_counts(program)),
        Followed::Refused(errno) => Some(errno),
        Followed::NotStarted => spawned.as_ref().err().and_then(rustix::io::Errno::from_io_error),
    };
    let errno = refused.unwrap_or(rustix::io::Errno::CHILD);
    Err(start::refusal(&program, errno).into())
}
