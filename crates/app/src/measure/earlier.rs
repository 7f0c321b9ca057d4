//! How a measurement stands to the earlier ones of the same program in the same place.

use coldstart_history::Search;
use coldstart_measure::statistics::{LEAST_RUNS, median, session_difference};
use coldstart_profile::measurement::{KeptMeasurement, StartState, Verdict};

use super::condition::{Condition, measured_states, times};
use super::store::Store;

/// Of more only the newest are looked at: they are read before each report.
const MOST: u32 = 50;

/// A state that was measured before.
#[derive(Clone, Debug)]
pub struct Earlier {
    /// What the starts found in the page cache.
    pub state: StartState,
    /// How many measurements there were.
    pub count: usize,
    /// The median of their medians, in seconds.
    pub median: f64,
    /// This measurement against them.
    pub verdict: Verdict,
}

/// Each state that was measured before, in the same program's file, to the same readiness, on the same machine.
/// Nothing where there was none, where several commands were measured, or where the history cannot be read just now.
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
