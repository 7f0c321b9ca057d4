//! The overhead of measuring.

use serde::{Deserialize, Serialize};

/// The share of measuring and of the kernel in each time. It is never subtracted from a figure, because it overlaps
/// with the program's own work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// Starting `true` hot, timed like every start: the least that any program takes, its loading and its end included.
    /// `None` where there is no such program.
    pub floor: Option<Spread>,
    /// Creating a process: the same call with a program that does not exist.
    pub spawn: Option<Spread>,
    /// From the last instruction of a process to our second clock reading: the kernel tears it down and wakes us.
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
    /// Our own share of each time: creating a process, and detecting its end. `None` if it could not be measured.
    pub fn own(&self) -> Option<f64> {
        Some(self.spawn?.median + self.wake?.median)
    }
}
