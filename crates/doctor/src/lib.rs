//! What this machine lets coldstart do, what each missing thing costs, and the command that grants it.
//!
//! Looking and judging are apart. [`Facts`] are read below a root directory, so that tests can play machines we do not
//! have, and hold the outcome of system calls that were tried ([`Probes`]). [`judge`] is a plain function from facts to
//! [`Check`]s, and [`standings`] sums these up for each thing that a verb does.
//!
//! Not obvious: nothing here may fail, hang, or change the machine. What cannot be read is "unknown" with its reason; a
//! file system that may not answer is found in the mount table and left alone.

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
pub use probes::{OthersFile, PlaceProbe, Probes};
pub use surroundings::Surroundings;
