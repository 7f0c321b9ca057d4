//! Traces to write.

#![allow(dead_code, unused_imports, reason = "each test takes what it needs")]

pub(crate) mod any;
mod traces;

pub(crate) use traces::*;
