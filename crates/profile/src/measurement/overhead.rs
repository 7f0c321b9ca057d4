//! The overhead of measuring.

use serde::{Deserialize, Serialize};

/// How much of each time may be the measuring and the kernel rather than the program. Nothing of it is subtracted from
/// any figure: what overlaps with the program's own work cannot be told apart run by run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// Starting `true` hot, timed like every start: the least that any program takes, its loading and its end included.
    /// `None` where there is no such program.
    pub floor: Option<Spread>,
    /// Making a process that would become the program: the same call with a program that is not there.
    pub spawn: Option<Spread>,
    /// From the last instruction of a process to our second look at the clock: the kernel takes it down and wakes us.
    pub wake: Option<Spread>,
    /// By command: seconds between two looks whether it is ready, by which a time may be too long; `None` where the
    /// kernel tells us at once.
    pub readiness_step: Vec<Option<f64>>,
}

/// Times of the same thing done several times, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How often it was done.
    pub count: u32,
    /// The median.
    pub median: f64,
    /// The first quartile.
    pub low: f64,
    /// The third quartile.
    pub high: f64,
}

impl Overhead {
    /// What is our own part of each time and not the program's: making a process, and learning of its end. `None` if it
    /// could not be measured.
    pub fn own(&self) -> Option<f64> {
        Some(self.spawn?.median + self.wake?.median)
    }
}
