//! Shared code of coldstart's tests. A development crate, not part of any program.
//!
//! `cargo xtask test` runs each test in its own process, so state must not be process-wide: turns are file locks
//! ([`Turn`]), and fixtures that are built once are in the build directory ([`built`]).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test that cannot go on fails")]

mod commands;
mod example;
mod fetched;
mod fixture;
mod just_written;
mod library;
mod mount;
mod port;
mod random;
mod sample;
mod skip;
mod turn;
mod users;
mod waiting;

pub use commands::{attempt, compile, is_there, kill_after, one_line, succeed};
pub use example::example;
pub use fetched::{PythonPackages, fetched};
pub use fixture::{Ingredients, build_directory, built, scratch};
pub use just_written::{copy_program, copy_this_program, output_of, script};
pub use library::{SHARED_NAME_BYTES, SHARING_SYMBOLS, library_of_one_name, library_that_needs};
pub use mount::Mount;
pub use port::distinct_port;
pub use random::Random;
pub use sample::divided_by;
pub use skip::{is_root, skip};
pub use turn::Turn;
pub use users::{NOBODY, as_unprivileged};
pub use waiting::{PATIENCE, eventually, within};
