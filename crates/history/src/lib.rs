//! Measurements stored in a database, for comparison with later ones.
//!
//! One SQLite file contains them all, every single run included, in tables for the users' own SQL
//! (`docs/formats/history.md`). Not obvious: each measurement and each run is stored twice, as columns
//! for users and as JSON for us. Reading it back is then exact, and a new JSON member needs no new
//! column.
//!
//! The file may be the only record of months. It is never recreated, never repaired and never deleted: any problem
//! with it is an error with advice.

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
