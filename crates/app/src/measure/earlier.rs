//! Comparison of a measurement with earlier ones of the same program file.

use coldstart_history::Search;
use coldstart_measure::statistics::{LEAST_RUNS, median, session_difference};
use coldstart_profile::measurement::{KeptMeasurement, StartState, Verdict};

use super::condition::{Condition, measured_states, times};
use super::store::Store;

/// Maximum number of earlier measurements read for a report, the newest ones.
const MOST: u32 = 50;

/// Earlier measurements of a state.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// The state of the page cache.
    pub state: StartState,
    /// Number of measurements.
    pub count: usize,
    /// The median of their medians, in seconds.
    pub median: f64,
    /// The comparison with this measurement.
    pub verdict: Verdict,
}

/// Earlier measurements by state, of the same program file and readiness on the same machine. Empty if there are none, if
/// several commands were measured, or if the history cannot be read.
pub(super) fn compared(store: &Store, kept: &KeptMeasurement) -> Vec<Earlier> {
    let ([command], Some(program)) = (kept.measurement.commands.as_slice(), kept.program(0)) else {
        return Vec::new();
    };
    let search = Search { command_line: Some(command.command_line.clone()), newest: Some(MOST), ..Search::default() };
    let found = store.read().ok().flatten().and_then(|history| history.search(&search).ok()).unwrap_or_default();
    let mut all = Vec::new();
    for state in measured_states(&kept.measurement) {
        let mut earlier = Vec::new();
        for stored in &found {
            let measurement = &stored.kept.measurement;
            let is_same = |index: &usize| {
                measurement.commands.get(*index).is_some_and(|other| {
                    (&other.command_line, &other.readiness) == (&command.command_line, &command.readiness)
                }) && stored.kept.program(*index).is_some_and(|other| other.path == program.path)
            };
            let Some(index) = (0..measurement.commands.len()).find(is_same) else { continue };
            if kept.measurement.machine.differences(&measurement.machine).is_empty()
                && Condition::of(measurement, index, state) == Condition::of(&kept.measurement, 0, state)
            {
                earlier.push(times(&measurement.samples, index, state));
            }
        }
        earlier.retain(|times| times.len() >= LEAST_RUNS);
        let medians: Vec<f64> = earlier.iter().filter_map(|times| median(times)).collect();
        let now = times(&kept.measurement.samples, 0, state);
        let Some((before, difference)) = median(&medians).zip(session_difference(&earlier, &now)) else { continue };
        all.push(Earlier { state, count: earlier.len(), median: before, verdict: difference.verdict });
    }
    all
}
