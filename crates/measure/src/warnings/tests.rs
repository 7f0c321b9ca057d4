//! Each warning from samples made for it, and none from samples that give no reason.

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_profile::measurement::{DeviceReads, End, Residency};

use super::*;
use crate::execute::Record;
use crate::figures::measurement;
use crate::plan::{Candidate, MeasurePlan};
use crate::real::Facts;

fn sample(number: u32, seconds: f64) -> Sample {
    Sample {
        number,
        command: 0,
        state: StartState::Hot,
        round: number,
        attempt: 1,
        seconds: Some(seconds),
        end: End::Exited(0),
        residency: Some(Residency { file_pages: 10, resident_pages: 10, ..Residency::default() }),
        bytes_read: 0,
        major_faults: 0,
        minor_faults: 0,
        user_seconds: 0.0,
        system_seconds: 0.0,
        devices: vec![DeviceReads { device: "8:0".into(), requests: 0, bytes: 0, read_ahead_kib: Some(128) }],
        used: Use::Counted,
    }
}

fn samples(times: &[f64]) -> Vec<Sample> {
    (1..).zip(times).map(|(number, &seconds)| sample(number, seconds)).collect()
}

const STEADY: [f64; 6] = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98];

fn of_record(record: Record) -> Vec<Warning> {
    let candidate = Candidate {
        label: "app".into(),
        command_line: CommandLine::new("app", [] as [&str; 0]),
        launch: LaunchOptions::default(),
        files: Vec::new(),
    };
    let plan = MeasurePlan::new(vec![candidate], vec![StartState::Hot]);
    let facts = Facts { launch_floor: Some(0.4), ..Facts::default() };
    measurement(&plan, record, facts).warnings
}

fn of_samples(samples: Vec<Sample>) -> Vec<Warning> {
    of_record(Record { samples, ..Record::default() })
}

#[test]
fn steady_runs_give_no_warning() {
    assert_eq!(of_samples(samples(&STEADY)), []);
}

#[test]
fn the_first_run_is_told_from_other_outliers() {
    let mut times = STEADY;
    times[0] = 3.0;
    assert!(matches!(of_samples(samples(&times))[..], [Warning::FirstRunSlow { sample: 1, seconds: 3.0, .. }]));
    times[4] = 4.0;
    let warnings = of_samples(samples(&times));
    assert!(
        matches!(&warnings[..], [Warning::FirstRunSlow { .. }, Warning::Outliers { samples, .. }] if *samples == [5])
    );
}

#[test]
fn small_outliers_are_data_and_no_warning() {
    let mut record = Record { samples: samples(&[1.0, 1.0001, 0.9999, 1.0, 1.0001, 1.02]), ..Record::default() };
    assert_eq!(of_record(record.clone()), []);
    record.samples[5].seconds = Some(1.2);
    assert!(matches!(&of_record(record)[..], [Warning::Outliers { samples, .. }] if *samples == [6]));
}

#[test]
fn others_who_read_are_seen() {
    let mut all = samples(&STEADY);
    all[1].devices[0].bytes = 3 << 20;
    assert_eq!(of_samples(all.clone()), [], "a little is always read");
    all[2].devices[0].bytes = 9 << 20;
    all[3].devices[0].bytes = 9 << 20;
    all[3].bytes_read = 9 << 20;
    assert_eq!(of_samples(all), [Warning::Interference { samples: vec![3], others_bytes: 9 << 20 }]);
}

#[test]
fn a_changed_readahead_window_is_seen() {
    let mut all = samples(&STEADY);
    all[5].devices[0].read_ahead_kib = Some(2560);
    assert_eq!(of_samples(all), [Warning::ReadAheadChanged { device: "8:0".into(), kib: vec![128, 2560] }]);
}

#[test]
fn short_times_are_set_against_the_launch_floor() {
    let halved: Vec<f64> = STEADY.iter().map(|time| time * 0.5).collect();
    assert!(matches!(of_samples(samples(&halved))[..], [Warning::NearLaunchFloor { floor: 0.4, .. }]));
}

#[test]
fn failed_and_contradicting_runs_are_listed() {
    let mut all = samples(&STEADY);
    all[1].used = Use::Failed { reason: "exited with code 1".into() };
    all[3].used = Use::Contradicts { reason: "it read".into() };
    all[4].used = Use::Contradicts { reason: "it read more".into() };
    let warnings = of_samples(all.clone());
    assert!(matches!(&warnings[0], Warning::FailedRuns { samples, gave_up: false, .. } if *samples == [2]));
    let Warning::Contradictions { samples, reason, .. } = &warnings[1] else { panic!("{warnings:?}") };
    assert_eq!((&samples[..], &reason[..]), (&[4, 5][..], "it read"));
    for sample in &mut all {
        sample.used = Use::Contradicts { reason: "it read".into() };
    }
    assert!(matches!(of_samples(all)[..], [Warning::StateNotReached { .. }]));
}

#[test]
fn what_cannot_be_checked_is_said_with_its_reason() {
    let reason = |residency| {
        let mut all = samples(&STEADY);
        all[2].residency = residency;
        match &of_samples(all)[..] {
            [Warning::StateUnchecked { reason, .. }] => reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert!(reason(None).contains("no files are known"));
    assert!(reason(Some(Residency::default())).contains("none of its files lies on a disk"));
    let hidden = Residency { file_pages: 5, unknown_files: 2, ..Residency::default() };
    assert!(reason(Some(hidden)).contains("what of 2 of its files"));
}

#[test]
fn what_decayed_or_is_missing_is_told_for_the_command() {
    let mut all = samples(&STEADY);
    all[2].residency = Some(Residency { file_pages: 10, resident_pages: 10, unknown_files: 0, missing_files: 2 });
    let warnings = of_record(Record { samples: all, decays: HashMap::from([(0, (3, 77))]), ..Record::default() });
    assert_eq!(
        warnings,
        [
            Warning::DecayingCaches { command: "app".into(), times: 3, pages: 77 },
            Warning::MissingFiles { command: "app".into(), files: 2 }
        ]
    );
}
