//! Tracing a program and its descendants from stop to stop (`ptrace(2)`): one event loop for all tracers.
//!
//! [`EventLoop`] waits for stops, tracks threads and processes, resumes threads, and kills what is left. A [`Handler`]
//! decides what a stop means. Not obvious: the stop of a thread that created another one and the first stop of
//! the new one come in either order, and either thread may be killed before its stop. A new thread is therefore held until its
//! creator is known, or until no possible creator is left.
//!
//! Sources: `ptrace(2)`, `kernel/fork.c` (`kernel_clone`), `kernel/exit.c` (`do_wait`), `fs/exec.c` (`de_thread`).

mod births;
mod error;
mod event_loop;
mod following;
mod handler;
mod kin;

pub use births::{Birth, Origin};
pub use error::FollowError;
pub use event_loop::{EventLoop, StopTimes, Waiting};
pub use following::Following;
pub use handler::{Handler, Next, Stops};
