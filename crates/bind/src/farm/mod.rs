//! The directory of links: planned, put in place at one blow, taken away.
//!
//! It is made under a temporary name beside its place and renamed, or exchanged with the one that stands there. Whoever
//! works on a farm holds a lock on the directory it stands in, so that a directory with a temporary name and our marker in it that is
//! seen under the lock was left behind by a process that was killed. One that was killed between making the directory and
//! marking it, or between removing the marker and the directory, leaves an empty one, which stays: it could be a user's.

mod error;
mod marker;
mod parent;
mod plan;
mod remove;
mod write;

pub use error::FarmError;
pub use marker::MARKER_NAME;
pub use plan::{FarmLink, FarmPlan, SameLevel};
pub(crate) use plan::{LevelNames, Place, plan_farm};
pub use remove::{FarmRemoved, remove_farm};
pub use write::{FarmWritten, check_farm_place, write_farm};
