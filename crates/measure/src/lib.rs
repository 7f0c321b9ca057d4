//! Cache states, timed launches, statistics.
//!
//! [`measure`] launches each command several times from each state, checks before and after each launch that the state
//! was right, and computes figures from the runs that hold. A program's files come in as a list; this crate does not
//! know who recorded it.
//!
//! The order of runs is decided by a pure function ([`schedule()`]), and so is the meaning of a run's outcome; the
//! machine is a trait, so that tests can simulate one whose caches misbehave.

mod enough;
mod error;
mod execute;
mod figures;
pub mod frequency;
mod judge;
mod observer;
mod overhead;
mod plan;
mod real;
mod runner;
mod schedule;
pub mod statistics;
mod surroundings;
mod turn;
mod warnings;

use std::sync::{Mutex, PoisonError};

pub use coldstart_profile::measurement::{Measurement, StartState};
pub use enough::EarlyEnd;
pub use error::MeasureError;
pub use observer::{Event, Observer, Silent};
pub use plan::{Candidate, MeasurePlan, SavedState};
pub use schedule::{Slot, schedule};

/// Measurements in one process run one at a time: besides disturbing each other, one's calibration processes
/// would count as processes of the other's program.
static MEASURING: Mutex<()> = Mutex::new(());

/// Measures. Waits for any other measurement of this process.
///
/// # Errors
/// See [`MeasureError`]. A program that fails is not an error: its runs are in the result, marked.
pub fn measure(plan: &MeasurePlan, observer: &mut dyn Observer) -> Result<Measurement, MeasureError> {
    plan.check()?;
    let _turn = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut machine = real::RealMachine::new(plan)?;
    let record = execute::execute(plan, &mut machine, observer)?;
    Ok(figures::measurement(plan, record, machine.into_facts()))
}
