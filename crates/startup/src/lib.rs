//! A simulated start: which files a program would load on this host or in a sysroot. Nothing is run.
//!
//! The `loader` crate has the rules and does no I/O. This crate does the I/O for the rules:
//!
//! | what | where |
//! |---|---|
//! | a root directory, and paths that stay inside it | `root.rs`, `stepwise.rs` |
//! | the files of a root as the rules access them | `files.rs` |
//! | which loader loads what | `loaders.rs` |
//! | what the loader reads before any library: its build parameters, cache and lists | `surroundings.rs` |
//! | the processor's subdirectories and `$PLATFORM` | `processor.rs` |
//! | the contents of a loader's cache | `cache/` |
//! | the C library of an object on this host | `libc.rs` |
//! | a program, from its name to what it loads | `program.rs`, `start.rs` |
//!
//! Not obvious: in a sysroot, paths are resolved as after `chroot`: absolute symbolic links point into the sysroot, and `..`
//! cannot escape.

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
