//! The trace file (`*.coldtrace`): one SQLite database that needs no other file to be read.
//!
//! It contains a complete [`Trace`](coldstart_profile::trace::Trace), in tables for users' own SQL queries
//! (`docs/formats/trace.md`). What a newcomer would not guess: it is written once and never changed, so it needs no
//! journal, no locks and no indices; and a file may come from anyone, so everything in it is checked, even the text
//! of its views.
//!
//! # Example
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use std::path::Path;
//!
//! use coldstart_tracefile::TraceFile;
//!
//! let mut file = TraceFile::open(Path::new("app.coldtrace"))?;
//! println!("{:?}", file.summary()?);
//! file.query("SELECT count(*) FROM touches", None, |row| {
//!     println!("{row:?}");
//!     ControlFlow::Continue(())
//! })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod open;
mod query;
mod read;
mod schema;
mod sections;
mod side_files;
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
