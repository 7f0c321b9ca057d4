//! `coldstart trace` of real programs that do odd things: each must print and return what it does without us, and the trace must say
//! what was seen, or why not.

mod breakpoints;
mod ending;
mod filters;
mod machines;
mod places;
mod processes;
mod signals;
mod support;
mod tracers;
