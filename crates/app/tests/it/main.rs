//! Verbs that work on files, called as functions: nothing of ours runs beside the test.
//!
//! Needs a C compiler and glibc's loader; without them, or on a file system that cannot do it, a test says so and passes.

#![allow(clippy::unwrap_used, clippy::panic)]

mod inspect;
mod pagecache;
mod rewriting;
mod scene;
