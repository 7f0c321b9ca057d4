//! Facilities of the kernel on real files and programs, against other tools.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fault_recorder;
mod fiemap;
mod file_view;
