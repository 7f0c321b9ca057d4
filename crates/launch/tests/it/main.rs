//! Real launches, by the tests themselves and by another process.
//!
//! A test needs a process of its own, which `cargo xtask test` gives it: a launch makes its process a subreaper, and takes what
//! begins meanwhile in a process group of its own for the program's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod counts;
mod file;
mod http;
mod launchers;
mod launches;
mod notify;
mod page;
mod private_view;
mod window;
