//! Machines and loaders that we do not have: what is claimed of them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod common;
mod loaders;
mod machines;
