//! The trace file (`*.coldtrace`): one SQLite database that needs no other file to be read.
//!
//! It holds a [`Trace`](coldstart_profile::trace::Trace) completely, in tables that people can ask with SQL of their own
//! (`docs/formats/trace.md`). What a newcomer would not guess: it is written once and never changed, so it needs no journal,
//! no locks and no indices; and what is read may come from anybody, so everything about it is checked, down to the text of
//! its views.

mod error;
mod open;
mod query;
mod read;
mod schema;
mod sections;
mod summary;
mod values;
mod views;
mod words;
mod write;

pub use error::TraceFileError;
pub use open::TraceFile;
pub use query::{Answer, Interrupter, Value};
pub use read::About;
pub use schema::APPLICATION;
pub use summary::{Counts, Seeks, Summary};
pub use views::columns;
pub use write::{KIND, Written, try_out, write_trace, write_trace_at};
