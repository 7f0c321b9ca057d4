//! The conditions of times, and the times of a command in a state.

use coldstart_profile::escaped;
use coldstart_profile::measurement::{FrequencyRange, Measurement, Sample, StartState};
use coldstart_view::dates::minute;

/// What must match, besides the machine, to compare times of a state.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// The time and pages of the restored page cache state: its content decides, not the path of the file.
    saved_state: Option<(i64, u64)>,
    /// Its file, to show.
    file: String,
    /// The fixed frequency of the processors.
    held: Option<FrequencyRange>,
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        (self.saved_state, self.held) == (other.saved_state, other.held)
    }
}

impl Condition {
    /// Of a command's runs in a state.
    pub(super) fn of(measurement: &Measurement, command: usize, state: StartState) -> Self {
        let mut summaries = measurement.summaries.iter();
        let summary = summaries.find(|summary| (summary.command, summary.state) == (command, state));
        let saved = summary.and_then(|summary| summary.state_facts.saved_state.as_ref());
        Self {
            saved_state: saved.map(|saved| (saved.saved_at, saved.asked)),
            file: saved.map(|saved| escaped(&saved.file)).unwrap_or_default(),
            held: measurement.machine.frequency.as_ref().and_then(|frequency| frequency.held),
        }
    }

    /// Text after a state's name; empty for default conditions.
    pub(super) fn words(&self) -> String {
        let saved = self.saved_state.map(|(at, _)| format!("from `{}` of {} UTC", self.file, minute(at)));
        let megahertz = |kilohertz: u64| kilohertz / 1000;
        let held = self.held.map(|held| match (megahertz(held.least), megahertz(held.greatest)) {
            (least, greatest) if least == greatest => format!("held at {least} MHz"),
            (least, greatest) => format!("held at {least} to {greatest} MHz"),
        });
        saved.into_iter().chain(held).collect::<Vec<_>>().join(", ")
    }

    /// The same with text for default conditions: "no held frequency".
    pub(super) fn told(&self) -> String {
        let words = self.words();
        if words.is_empty() { "at no held frequency".to_owned() } else { words }
    }
}

/// The counted times of a command in a state, in seconds.
pub fn times(samples: &[Sample], command: usize, state: StartState) -> Vec<f64> {
    let of = samples.iter().filter(|sample| sample.command == command && sample.state == state);
    of.filter_map(Sample::counted_seconds).collect()
}

/// The measured states, in order.
pub fn measured_states(measurement: &Measurement) -> Vec<StartState> {
    let mut states: Vec<StartState> = Vec::new();
    for summary in &measurement.summaries {
        if !states.contains(&summary.state) {
            states.push(summary.state);
        }
    }
    states
}
