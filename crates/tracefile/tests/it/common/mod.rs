//! Traces to write.

pub(crate) mod any;
mod traces;

pub(crate) use traces::*;
