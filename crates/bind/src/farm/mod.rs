//! The link directory ("farm"): planned, put in place atomically, removed.
//!
//! It is created under a temporary name in the same parent directory and renamed, or swapped with the existing one.
//! Writers hold a lock on the parent directory. So a directory with a temporary name and our marker, seen under the
//! lock, was left by a killed process. A process that was killed between creating the directory and its marker, or
//! between removing the two, leaves an empty directory; it stays, because it could be a user's.

mod bound;
mod error;
mod marker;
mod parent;
mod plan;
mod remove;
mod write;

pub use bound::{BoundFarm, BoundLink};
pub use error::FarmError;
pub use marker::MARKER_NAME;
pub use plan::{FarmLink, FarmPlan, SameLevel};
pub(crate) use plan::{LevelNames, Place, plan_farm};
pub use remove::{FarmRemoved, remove_farm, remove_left_farm};
pub use write::{FarmWritten, check_farm_place, write_farm};
