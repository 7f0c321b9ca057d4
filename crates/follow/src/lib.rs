//! Following a program and all it starts from stop to stop (`ptrace(2)`): one event loop for all who do so.
//!
//! [`EventLoop`] waits for stops, knows which threads and processes there are, lets threads go on, and ends what is left. A [`Handler`]
//! decides what a stop means. Not obvious: the stop of a thread that made another one and the first stop of
//! the new one come in either order, and either thread may be killed before its stop. A new thread is therefore held until it is known who
//! made it, or until nobody is left who could say so.
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
