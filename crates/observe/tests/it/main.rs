//! What a start asks of the kernel and of its loader, against strace and against programs that make known calls.
//!
//! A test needs a process of its own, which `cargo xtask test` gives it: a launch takes each child of its process for its program's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod loader_log;
mod syscalls;
