//! A simulated start: which files a program would load on this host or in a sysroot. Nothing is run.
//!
//! The `loader` crate knows the rules and does no I/O. This crate gives it what the rules ask for:
//!
//! | what | where |
//! |---|---|
//! | a root directory, and paths that stay inside it | `root.rs`, `stepwise.rs` |
//! | the files of a root as the rules ask for them | `files.rs` |
//! | which loader loads what | `loaders.rs` |
//! | what the loader reads before any library: its own build, its cache, its lists | `surroundings.rs` |
//! | the processor's subdirectories and `$PLATFORM` | `processor.rs` |
//! | what belongs into a loader's cache | `cache/` |
//! | which C library objects get on this host | `libc.rs` |
//! | a program, from what was typed to what it loads | `program.rs`, `start.rs` |
//!
//! A newcomer would not guess that a path is looked up differently in a sysroot: an absolute symbolic link leads to a place in
//! the sysroot, and `..` does not lead out of it, as after `chroot`.

pub mod cache;
mod error;
mod files;
mod libc;
mod loaders;
mod processor;
mod program;
mod root;
mod start;
mod stepwise;
mod surroundings;

pub use error::StartError;
pub use files::{Files, ObjectFile, ProgramKind};
pub use libc::HostLibcs;
pub use loaders::{loader_of, loaders_of_family, rules_of_loader};
pub use processor::Levels;
pub use root::{Lookup, Root, RootError};
pub use start::{SimulatedStart, StartOptions};
pub use surroundings::{Conditions, Inherit, Surroundings};
