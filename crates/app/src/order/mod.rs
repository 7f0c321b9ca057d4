//! `order`: from recorded starts to orders for linkers, and whether they helped.

mod check;
mod debuginfod;
mod functions;
mod names;
mod traced;

pub use check::{CheckOptions, CheckOutcome, ObservedPages, PredictedPages, StartedProgram, check};
pub use functions::{FunctionOrder, FunctionsOptions, FunctionsOutcome, Linker, StartPages, functions};
