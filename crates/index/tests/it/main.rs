//! Directories of unusual file systems. Needs root and /dev/fuse.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod folding;
mod remote;
