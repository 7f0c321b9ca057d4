//! coldstart's results as Arrow tables, which engines and data frames read without copying.
//!
//! | step | file |
//! |---|---|
//! | a row's fields become columns, their documentation the columns' meaning | `column.rs` |
//! | objects with their findings, needed libraries, initialisers and relocated words | `inspected.rs` |
//! | runs of measurements | `measured.rs` |
//! | what packing would do | `packed.rs` |
//! | what a program loads, and the search for it | `resolved.rs` |
//! | a survey's own records: files that could not be read, modules of interpreters | `surveyed.rs` |
//! | pages that a start touched | `touched.rs` |
//! | all of it in words | `described.rs` |
//!
//! Not obvious: all numbers are signed, because Spark has no unsigned ones. A change of the meaning, type or order of a column, or of a
//! table's name, raises [`VERSION`]; a new column at the end does, too, since files with and without it do not go together.

mod column;
mod described;
mod inspected;
mod measured;
mod packed;
mod resolved;
mod surveyed;
mod touched;

pub use column::{Column, MEANING, Row};
pub use described::{described, described_results, described_traces};
pub use inspected::{FindingRow, InitialiserRow, Inspected, NeededRow, ObjectRow, OwnerRow, Place};
pub use measured::RunRow;
pub use packed::PackingRow;
pub use resolved::{FailedProbeRow, LoadedRow, MissingRow};
pub use surveyed::{ModuleRow, ProblemRow};
pub use touched::{NotTouched, TouchRow, Touched, TracedFileRow};

/// The version of all schemas.
pub const VERSION: u32 = 1;

/// Its key in a schema's metadata.
pub const VERSION_KEY: &str = "coldstart.schema";
