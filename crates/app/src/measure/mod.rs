//! `measure`: find the files a program reads, put the caches in a defined state, start it, and time it.
//!
//! Errors in the states, the history or the baseline are reported before an hour of measuring, not after it.

mod advice;
mod baseline;
mod condition;
mod earlier;
mod gate;
pub mod history;
mod identity;
mod options;
pub mod runs;
mod states;
mod store;
mod trend;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasureError, MeasurePlan, Observer as RunObserver, frequency};
use coldstart_profile::measurement::{KeptMeasurement, Warning};
use coldstart_profile::{FileKind, WorkingSet};
use coldstart_sys::private_mounts::{PrivateMounts, outside};
use coldstart_trace::{TraceError, record_working_set};
use serde::Serialize;

use crate::error::AppError;
use crate::observer::Observer;

pub use advice::advice;
pub use condition::{measured_states, times};
pub use earlier::Earlier;
pub use gate::{Gate, StateAnswer};
pub use options::{Baseline, GateOptions, Keeping, MeasureOptions, StateChoice, label};
pub use states::coldest_state;
pub use store::{Imported, import};

use states::States;
use store::Store;

/// The schema of a measurement as JSON.
pub const SCHEMA: &str = "coldstart.measure/1";

/// A measurement, and its comparisons.
#[derive(Debug, Serialize)]
pub struct MeasureOutcome {
    /// What was measured.
    #[serde(flatten)]
    pub kept: KeptMeasurement,
    /// Its number in the history, if it was added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<i64>,
    /// The result of the regression gate, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// Why the gate has no result.
    #[serde(skip)]
    pub gate_error: Option<AppError>,
    /// The comparison with earlier measurements, if requested.
    #[serde(skip)]
    pub earlier: Vec<Earlier>,
}

impl MeasureOutcome {
    /// Whether each command became ready, from each state asked for.
    pub fn is_measured(&self) -> bool {
        let measurement = &self.kept.measurement;
        let is_empty = measurement.summaries.iter().any(|summary| summary.counted == 0);
        let gave_up =
            measurement.warnings.iter().any(|warning| matches!(warning, Warning::FailedRuns { gave_up: true, .. }));
        !is_empty && !gave_up
    }
}

/// Measures, adds the measurement to the history, and runs the gate. `runs` is notified of each run.
///
/// # Errors
/// If a state, the history, the baseline or a program cannot be used. A failing program is not an error: its runs are marked
/// in the outcome. A gate without a result is in the outcome, too, so that the measurement is not lost.
pub fn measure(
    options: &MeasureOptions,
    observer: &dyn Observer,
    runs: &mut dyn RunObserver,
) -> Result<MeasureOutcome, AppError> {
    if options.fixed_frequency {
        frequency::check(Path::new(frequency::SYSFS)).map_err(MeasureError::from)?;
    }
    let states = States::chosen(&options.states, observer)?;
    let store = Store::try_out(&options.keeping, observer)?;
    let mut baseline = match &options.gate.against {
        Some(named) => {
            let history = store::to_read(&options.keeping)?;
            let line = options.commands.first().map(ToString::to_string).unwrap_or_default();
            Some(baseline::find(named, history.as_ref(), &line, &options.launch.readiness.to_string())?)
        }
        None => None,
    };
    let programs = store::programs(options.commands.iter());
    let mut candidates = Vec::new();
    for (label, command_line) in labels().zip(&options.commands) {
        candidates.push(candidate(label, command_line.clone(), &options.launch)?);
    }
    let mut plan = MeasurePlan::new(candidates, states.states);
    plan.saved_state = states.saved;
    plan.runs = options.runs;
    plan.fixed_frequency = options.fixed_frequency;
    let began = SystemTime::now();
    let measurement = coldstart_measure::measure(&plan, runs)?;
    let kept = store::kept(measurement, options.label.clone(), began, programs);
    let earlier = match (&baseline, options.look_back) {
        (None, true) => earlier::compared(&store, &kept),
        _ => Vec::new(),
    };
    let number = store.keep(&kept, observer);
    let gate = match &mut baseline {
        Some(found) => {
            let machine = &kept.measurement.machine;
            let states = measured_states(&kept.measurement);
            let narrowed = found.narrow(machine, &states, options.gate.accept_other_machine);
            Some(narrowed.and_then(|()| gate::against(&kept, found, &options.gate)))
        }
        None if options.gate.fail_if_slower.is_some() => Some(gate::within(&kept.measurement, &options.gate)),
        None => None,
    };
    let (gate, gate_error) = match gate {
        Some(Ok(gate)) => (Some(gate), None),
        Some(Err(error)) => (None, Some(error)),
        None => (None, None),
    };
    Ok(MeasureOutcome { kept, number, gate, gate_error, earlier })
}

/// A command with the files that one observed start read.
///
/// # Errors
/// When the program cannot be started or watched.
pub fn candidate(label: String, command_line: CommandLine, options: &LaunchOptions) -> Result<Candidate, AppError> {
    let files = match record_working_set(&command_line, options) {
        Ok(recording) => files_outside(&recording.working_set, options.mounts.as_deref()),
        // Its starts can be timed all the same. That they are not known to be cold is reported.
        Err(TraceError::UnreadableNames { .. }) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    Ok(Candidate { label, command_line, launch: options.clone(), files })
}

/// The regular files of a working set.
pub fn files_of(working_set: &WorkingSet) -> Vec<PathBuf> {
    let regular = working_set.files.iter().filter(|file| file.kind != FileKind::BlockDevice);
    regular.map(|file| file.path.clone()).collect()
}

/// The regular files of a working set that was recorded in a private view, by the paths that lead to them outside: the
/// replacements by their own.
pub fn files_outside(working_set: &WorkingSet, mounts: Option<&PrivateMounts>) -> Vec<PathBuf> {
    files_of(working_set).iter().map(|path| outside(mounts, path).to_owned()).collect()
}

/// Labels of the commands of a measurement: A, B, ..., Z, then numbers.
pub fn labels() -> impl Iterator<Item = String> {
    ('A'..='Z').map(String::from).chain((27..).map(|number: u32| number.to_string()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use coldstart_profile::measurement::Use;

    use super::*;
    use crate::observer::Silent;

    fn options(folder: &Path) -> MeasureOptions {
        MeasureOptions {
            commands: vec![CommandLine { program: "true".into(), arguments: Vec::new() }],
            launch: LaunchOptions { time_limit: Some(Duration::from_secs(60)), ..LaunchOptions::default() },
            states: vec![StateChoice::Hot],
            runs: 3,
            fixed_frequency: false,
            keeping: Keeping { file: Some(folder.join("history.sqlite")), nothing: false },
            label: Some("first".to_owned()),
            gate: GateOptions { error_rate: 1.0, ..GateOptions::default() },
            look_back: true,
        }
    }

    /// As if each run had taken a second, and counted.
    fn made_baseline(folder: &Path, mut kept: KeptMeasurement) -> PathBuf {
        for sample in &mut kept.measurement.samples {
            (sample.seconds, sample.used) = (Some(1.0), Use::Counted);
        }
        let mut json = serde_json::to_value(kept).unwrap();
        json["schema"] = SCHEMA.into();
        let path = folder.join("baseline.json");
        std::fs::write(&path, json.to_string()).unwrap();
        path
    }

    #[test]
    fn a_measurement_is_kept_and_the_next_is_held_against_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = options(folder.path());
        let run = |options: &MeasureOptions| measure(options, &Silent, &mut coldstart_measure::Silent).unwrap();
        let first = run(&options);
        assert_eq!((first.number, first.earlier.len(), first.kept.measurement.commands.len()), (Some(1), 0, 1));
        let json = serde_json::to_value(&first).unwrap();
        assert_eq!((&json["number"], &json["label"], json.get("gate")), (&1.into(), &"first".into(), None));
        options.gate.against = Some(Baseline::File(made_baseline(folder.path(), first.kept)));
        options.gate.fail_if_slower = Some(10_000.0);
        let second = run(&options);
        // Where something else drops the machine's caches meanwhile, no run of a hot state counts.
        match (second.gate, second.gate_error) {
            (Some(gate), None) => assert_eq!((gate.states.len(), gate.is_slower), (1, Some(false))),
            (None, Some(error)) => assert!(error.sentence().contains("fewer than"), "{}", error.sentence()),
            both => panic!("{both:?}"),
        }
        options.gate.against = Some(Baseline::Label("no such".to_owned()));
        let error = measure(&options, &Silent, &mut coldstart_measure::Silent).unwrap_err();
        assert!(error.sentence().contains("no measurement `no such`"), "{}", error.sentence());
        let history = history::open(&options.keeping).unwrap();
        assert_eq!(history::programs(&history).unwrap().programs.unwrap().len(), 1);
        let found = history::find(&history, b"true").unwrap();
        assert_eq!(found.measurements().len(), 2);
        assert!(found.outcome().series.is_some() && runs::csv(&found.measurements(), |_, _| true).is_ok());
    }

    #[test]
    fn labels_go_on_behind_z() {
        assert_eq!(labels().skip(25).take(2).collect::<Vec<_>>(), ["Z", "27"]);
    }
}
