//! From hand-made records and notes to the parts of a trace.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod phases;
mod properties;
mod support;
mod touches;
