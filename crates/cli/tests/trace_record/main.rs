//! `coldstart trace` of real programs that do odd things: each must print and return what it does without us, and the trace must say
//! what was seen, or why not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod breakpoints;
mod ending;
mod filters;
mod machines;
mod places;
mod processes;
#[path = "../common/program.rs"]
mod program;
mod signals;
mod support;
mod tracers;
