//! Programs bound in every mode and started by the machine's own loaders; links and audit libraries on disk.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod audit_damaged;
mod audit_scene;
mod common;
mod farm;
mod modes;
mod real;
mod soname;
mod trees;
