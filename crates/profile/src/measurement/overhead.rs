//! The overhead of measuring.

use serde::{Deserialize, Serialize};

/// How much of each time may be overhead of measuring and the kernel. Nothing of it is subtracted from
/// any figure: the part that overlaps with the program's own work is unknown for each run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Overhead {
    /// Starting `true` hot, timed like every start: the minimum of any program, its loading and its end included.
    /// `None` without such a program.
    pub floor: Option<Spread>,
    /// Creating a process: the same call with a missing program.
    pub spawn: Option<Spread>,
    /// From the last instruction of a process to our second clock reading: the kernel tears it down and wakes us.
    pub wake: Option<Spread>,
    /// By command: the polling interval of its readiness in seconds, an upper bound of the error; `None` where the
    /// kernel notifies us.
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
    /// Our own part of each time: creating a process, and noticing its end. `None` if it
    /// could not be measured.
    pub fn own(&self) -> Option<f64> {
        Some(self.spawn?.median + self.wake?.median)
    }
}
