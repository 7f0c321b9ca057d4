//! One line below a report: how this measurement stands to the earlier ones of the same program in the same place.

use coldstart_history::Search;
use coldstart_measure::statistics::{LEAST_RUNS, median, session_difference};
use coldstart_profile::measurement::KeptMeasurement;

use super::baseline::{Condition, times};
use super::gate::states;
use super::report::verdict;
use super::store::Store;
use crate::output::text::{counted, plain};
use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// Of more only the newest are looked at: they are read before each report.
const MOST: u32 = 50;

/// A line for each state that was measured before, in the same program's file, to the same readiness, on the same machine.
/// Nothing where there was none, where several commands were measured, or where the history cannot be read just now.
pub(super) fn lines(store: &Store, kept: &KeptMeasurement) -> String {
    let ([command], Some(program)) = (kept.measurement.commands.as_slice(), kept.program(0)) else {
        return String::new();
    };
    let search = Search { command_line: Some(command.command_line.clone()), newest: Some(MOST), ..Search::default() };
    let found = store.read().ok().flatten().and_then(|history| history.search(&search).ok()).unwrap_or_default();
    let mut text = String::new();
    for state in states(&kept.measurement) {
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
        let count = plain(&counted(earlier.len() as u64, "measurement"));
        let line =
            format!("earlier {state}: {count}, median {}; this one: {}", seconds(before), verdict(difference.verdict));
        text.push_str(&wrapped(&line, 0));
    }
    text
}
