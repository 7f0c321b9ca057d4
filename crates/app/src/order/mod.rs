//! `order`: from recorded starts to orders for linkers, and whether they helped; to orders of files and archives.

pub mod appimage;
mod check;
mod debuginfod;
pub mod files;
mod functions;
mod jlink;
mod names;
pub(crate) mod order_by;
pub(crate) mod ordered_copy;
mod traced;
pub(crate) mod used_pages;
pub mod zip;

pub use check::{CheckOptions, CheckOutcome, ObservedPages, PredictedPages, StartedProgram, check};
pub use functions::{FunctionOrder, FunctionsOptions, FunctionsOutcome, Linker, StartPages, functions};
