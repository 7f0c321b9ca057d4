//! What coldstart can do on this machine, the cost of each missing thing, and the command that provides it.
//!
//! Reading and judging are separate. [`Facts`] are read below a root directory, so that tests can use fake
//! machines, and contain the results of tried system calls ([`Probes`]). [`judge`] is a pure function from facts to
//! [`Check`]s, and [`standings`] sums these up for each ability of a verb.
//!
//! Not obvious: nothing here may fail, hang, or change the machine. Unreadable facts are "unknown" with a reason; a
//! file system that may not respond is recognised in the mount table and skipped.

mod ability;
mod answer;
mod check;
mod file_system;
mod groups;
mod probes;
mod root;
mod surroundings;

pub use ability::{Ability, Standing, Verb, impossible_verbs, standings};
pub use answer::Answer;
pub use check::{Check, Effect, Grant, Status, Where};
pub use file_system::Kind;
pub use groups::facts::Facts;
pub use groups::judge;
pub use probes::{OthersFile, PlaceProbe, Probes, Refusal};
pub use surroundings::Surroundings;
