//! Every command that writes files, in the worst surroundings: killed, on a failing disk, across a power loss, in a hostile
//! directory, without memory.
//!
//! | file | subject |
//! |---|---|
//! | `writers.rs` | the commands: those of `outputs/table.rs`, and the ones that table cannot say |
//! | `room.rs` | the directory that a command runs in, and whether what it left there is whole |
//! | `readers.rs` | whether a file is whole, for outputs that differ from run to run |
//! | `kills.rs` | SIGKILL at random instants |
//! | `disk.rs` | a file system that sees every change before it is made |
//! | `failing_calls.rs` | a disk that is full, or breaks, at each call |
//! | `power.rs` | what a power loss may leave |
//! | `hostile.rs` | another user swaps names meanwhile |
//! | `memory.rs` | a control group without memory |
//!
//! By default each command is tried a few times. `COLDSTART_HARD_USE=N` tries each N times: see docs/hard-use.md.

mod disk;
mod failing_calls;
mod hostile;
mod kills;
mod memory;
mod power;
mod readers;
mod room;
mod writers;

use std::sync::atomic::{AtomicUsize, Ordering};

/// How often each command is tried.
const TRIES: &str = "COLDSTART_HARD_USE";

/// The number of tries for each command: `usual`, unless the environment says another one.
fn tries(usual: usize) -> usize {
    asked().unwrap_or(usual)
}

/// The number of tries that the environment asks for.
fn asked() -> Option<usize> {
    std::env::var(TRIES).ok().map(|number| number.parse().expect("COLDSTART_HARD_USE is a number"))
}

/// Counts what a test did, and prints it when the test ends.
struct Count {
    what: &'static str,
    number: AtomicUsize,
}

impl Count {
    fn of(what: &'static str) -> Self {
        Self { what, number: AtomicUsize::new(0) }
    }

    fn one(&self) {
        self.number.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        println!("{} {}", self.number.load(Ordering::Relaxed), self.what);
    }
}
