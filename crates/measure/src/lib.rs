//! Cache states, timed launches, statistics.
//!
//! [`measure`] launches each command several times from each state, checks before and after each launch that the state
//! was what it should be, and makes figures of the runs that hold. What a program reads comes in as a list of files: who
//! recorded it is not known here.
//!
//! The order of runs is decided by a pure function ([`schedule()`]); what a run's outcome means is decided by another; the
//! machine stands behind a trait, so that tests can play a machine whose caches lie.

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
pub use error::MeasureError;
pub use observer::{Event, Observer, Silent};
pub use plan::{Candidate, MeasurePlan, SavedState};
pub use real::may_start_cold;
pub use schedule::{Slot, schedule};

/// Two measurements in one process take turns: besides disturbing one another, the processes that one starts to learn what measuring
/// costs would be taken for those of the other's program.
static MEASURING: Mutex<()> = Mutex::new(());

/// Measures. Waits for another measurement of this process.
///
/// # Errors
/// See [`MeasureError`]. Programs that fail are no error: their runs are in the result, marked.
pub fn measure(plan: &MeasurePlan, observer: &mut dyn Observer) -> Result<Measurement, MeasureError> {
    plan.check()?;
    let _turn = MEASURING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut machine = real::RealMachine::new(plan)?;
    let record = execute::execute(plan, &mut machine, observer)?;
    Ok(figures::measurement(plan, record, machine.into_facts()))
}
