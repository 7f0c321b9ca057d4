//! Measurements kept in a database, to be compared with later ones.
//!
//! One SQLite file holds them all, every single run included, in tables that people can ask with SQL of their own
//! (`docs/formats/history.md`). Not obvious: each measurement and each run is kept twice, as columns
//! for people and as JSON for us. Reading it back is then exact, and a member that a later version adds needs no new
//! column.
//!
//! The file is somebody's only record of months. It is never made anew, never repaired and never deleted: whatever is
//! wrong with it is an error that says what to do.

mod error;
mod open;
mod place;
mod read;
mod schema;
mod write;

pub use error::HistoryError;
pub use open::History;
pub use place::{Surroundings, default_path};
pub use read::{KnownProgram, Search, Stored};
pub use write::Added;
