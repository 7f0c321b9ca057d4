//! Each warning from samples made for it, and none from samples that give no reason.

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_profile::measurement::{
    Cause, DeviceReads, Disturbance, End, Frequency, FrequencyRange, Machine, Overhead, ProcessorUse, Residency,
    Spread, Turbo,
};

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
        bytes_read: Some(0),
        major_faults: Some(0),
        minor_faults: Some(0),
        user_seconds: Some(0.0),
        system_seconds: Some(0.0),
        uncounted: None,
        devices: vec![DeviceReads { device: "8:0".into(), requests: 0, bytes: 0, read_ahead_kib: Some(128) }],
        processors: None,
        used: Use::Counted,
    }
}

fn samples(times: &[f64]) -> Vec<Sample> {
    (1..).zip(times).map(|(number, &seconds)| sample(number, seconds)).collect()
}

const STEADY: [f64; 6] = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98];

fn of_record(record: Record) -> Vec<Warning> {
    on_machine(record, Machine { processor_count: 2, ..Machine::default() })
}

fn on_machine(record: Record, machine: Machine) -> Vec<Warning> {
    let candidate = Candidate {
        label: "app".into(),
        command_line: CommandLine::new("app", [] as [&str; 0]),
        launch: LaunchOptions::default(),
        files: Vec::new(),
    };
    let plan = MeasurePlan::new(vec![candidate], vec![StartState::Hot]);
    let floor = Spread { count: 11, median: 0.4, low: 0.4, high: 0.4 };
    let facts =
        Facts { machine, overhead: Some(Overhead { floor: Some(floor), ..Overhead::default() }), ..Facts::default() };
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
    all[3].bytes_read = Some(9 << 20);
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
fn unknown_reads_are_said_and_call_nothing_else_into_question() {
    let mut all = samples(&STEADY);
    for sample in &mut all[1..3] {
        sample.bytes_read = None;
        sample.user_seconds = None;
        sample.uncounted = Some("it is hidden".into());
        // Much, but whoever read it.
        sample.devices = vec![DeviceReads { device: "8:0".into(), requests: 9, bytes: 90 << 20, read_ahead_kib: None }];
        sample.processors = Some(ProcessorUse { busy_seconds: 9.0, stolen_seconds: 0.0 });
    }
    let warnings = of_samples(all);
    let [Warning::ReadsUnknown { samples, reason, .. }] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!((&samples[..], reason.as_str()), (&[2, 3][..], "it is hidden"));
    assert!(warnings[0].to_string().ends_with("in runs 2, 3, hot, are unknown: it is hidden"), "{}", warnings[0]);
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
    assert!(reason(None).contains("its files are unknown"));
    assert!(reason(Some(Residency::default())).contains("none of its files is on a disk"));
    let hidden = Residency { file_pages: 5, unknown_files: 2, ..Residency::default() };
    assert!(reason(Some(hidden)).contains("residency of 2 of its files"));
}

#[test]
fn what_decayed_or_is_missing_is_told_for_the_command() {
    let mut all = samples(&STEADY);
    all[2].residency = Some(Residency { file_pages: 10, resident_pages: 10, unknown_files: 0, missing_files: 2 });
    let warnings = of_record(Record { samples: all, decays: HashMap::from([(0, (3, 77))]), ..Record::default() });
    assert_eq!(
        warnings,
        [
            Warning::DecayingCaches { command: "app".into(), times: 3, pages: 77, proactive_reclaim: false },
            Warning::MissingFiles { command: "app".into(), files: 2 }
        ]
    );
}

#[test]
fn the_first_run_is_judged_by_what_came_before_it() {
    let earlier = |uses: &[Use]| {
        let mut all = samples(&[&vec![1.0; uses.len()][..], &[3.0, 1.01, 0.99, 1.0, 1.02, 0.98]].concat());
        for (sample, used) in all.iter_mut().zip(uses) {
            sample.used = used.clone();
        }
        match &of_samples(all)[..] {
            [Warning::FirstRunSlow { earlier_starts, .. }] => *earlier_starts,
            [Warning::FailedRuns { .. }, Warning::FirstRunSlow { earlier_starts, .. }] => *earlier_starts,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(earlier(&[]), 0);
    assert_eq!(earlier(&[Use::WarmUp]), 1);
    assert_eq!(earlier(&[Use::Failed { reason: String::new() }, Use::WarmUp]), 1, "what failed set nothing up");
}

#[test]
fn outliers_are_told_with_their_causes() {
    let mut all = samples(&[1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.5, 1.6, 1.7, 0.99, 1.01, 1.0, 1.0, 1.01, 0.99]);
    for sample in &mut all {
        // Always busy, by the program and by others: no cause of anything, and too little to warn of.
        sample.user_seconds = Some(0.5);
        sample.processors = Some(ProcessorUse { busy_seconds: 0.6, stolen_seconds: 0.0 });
    }
    let of = |all: &[Sample]| match of_samples(all.to_vec()).into_iter().next() {
        Some(Warning::Outliers { samples, runs: 15, causes, .. }) if samples == [7, 8, 9] => causes,
        other => panic!("{other:?}"),
    };
    assert_eq!(of(&all), []);
    all[6].devices[0].bytes = 9 << 20;
    all[7].processors = Some(ProcessorUse { busy_seconds: 1.0, stolen_seconds: 0.0 });
    all[8].processors = Some(ProcessorUse { busy_seconds: 0.6, stolen_seconds: 0.4 });
    let cause = |what, sample| Cause { what, samples: vec![sample] };
    assert_eq!(
        of(&all),
        [cause(Disturbance::Reading, 7), cause(Disturbance::Computing, 8), cause(Disturbance::Stealing, 9)]
    );
    all[7].processors = Some(ProcessorUse { busy_seconds: 0.8, stolen_seconds: 0.0 });
    assert_eq!(of(&all).len(), 2, "0.2 s more of others do not explain 0.6 s");
}

#[test]
fn others_who_compute_are_seen() {
    let mut all = samples(&STEADY);
    let uses = |busy_seconds, stolen_seconds| Some(ProcessorUse { busy_seconds, stolen_seconds });
    all[1].processors = uses(0.3, 0.0);
    assert_eq!(of_samples(all.clone()), [], "a seventh of two processors");
    all[2].processors = uses(1.5, 0.0);
    all[2].user_seconds = Some(0.8);
    all[2].system_seconds = Some(0.5);
    assert_eq!(of_samples(all.clone()), [], "most of it the program's own");
    all[3].processors = uses(1.0, 0.0);
    let busy = Warning::ProcessorsBusy { samples: vec![4], most_part: 0.5 };
    assert!(of_samples(all.clone()).contains(&busy));
    all[4].processors = uses(0.0, 0.2);
    all[5].processors = uses(0.0, 0.02);
    assert_eq!(of_samples(all), [busy, Warning::TimeStolen { samples: vec![5], most_seconds: 0.2 }]);
}

#[test]
fn counters_that_go_in_steps_say_nothing_of_short_runs() {
    let mut all = samples(&[0.005; 6]);
    all[3].processors = Some(ProcessorUse { busy_seconds: 0.02, stolen_seconds: 0.01 });
    let warnings = of_samples(all);
    assert!(matches!(warnings[..], [Warning::NearLaunchFloor { .. }]), "{warnings:?}");
}

#[test]
fn the_frequency_is_warned_of_where_it_varies_and_was_not_held() {
    let of = |frequency: Frequency| {
        let machine = Machine { frequency: Some(frequency), ..Machine::default() };
        on_machine(Record { samples: samples(&STEADY), ..Record::default() }, machine)
    };
    let free = Frequency {
        governors: vec!["powersave".into()],
        allowed: FrequencyRange::over([800_000, 4_000_000]),
        turbo: Some(Turbo::On),
        ..Frequency::default()
    };
    let varies = |turbo| [Warning::FrequencyVaries { governors: vec!["powersave".into()], turbo }];
    assert_eq!(of(free.clone()), varies(true));
    assert_eq!(of(Frequency { turbo: Some(Turbo::Off), ..free.clone() }), varies(false));
    let fixed = FrequencyRange::over([2_000_000]);
    assert_eq!(of(Frequency { turbo: None, allowed: fixed, ..free.clone() }), []);
    assert_eq!(of(Frequency { held: fixed, ..free.clone() }), [], "the user did all that can be done");
    assert_eq!(
        of(Frequency { held: fixed, lost_hold: Some("it was not".into()), ..free }),
        [Warning::FrequencyNotHeld { reason: "it was not".into() }]
    );
}

#[test]
fn the_surroundings_are_warned_of() {
    let of = |machine| on_machine(Record { samples: samples(&STEADY), ..Record::default() }, machine);
    let quiet = Machine {
        throttle_events: Some(0),
        on_battery: Some(false),
        proactive_reclaim: Some(true),
        is_virtual: true,
        ..Machine::default()
    };
    assert_eq!(of(quiet.clone()), [], "reclaim alone took nothing away");
    let disturbed =
        Machine { throttle_events: Some(3), on_battery: Some(true), another_measured: true, ..quiet.clone() };
    assert_eq!(of(disturbed), [Warning::AnotherMeasuring, Warning::Throttled { events: 3 }, Warning::OnBattery]);
    let decayed = Record { samples: samples(&STEADY), decays: HashMap::from([(0, (1, 9))]), ..Record::default() };
    assert!(matches!(on_machine(decayed, quiet)[..], [Warning::DecayingCaches { proactive_reclaim: true, .. }]));
}

#[test]
fn what_older_results_lack_reads_as_not_known() {
    let machine: Machine = serde_json::from_str(
        r#"{"kernel": "6.1", "processor": "", "processor_count": 2, "governor": null, "memory": 1, "devices": []}"#,
    )
    .unwrap();
    assert_eq!((machine.frequency, machine.throttle_events, machine.another_measured), (None, None, false));
    let warnings: Vec<Warning> = serde_json::from_str(
        r#"[{"kind": "outliers", "command": "a", "state": "hot", "samples": [1]},
            {"kind": "first-run-slow", "command": "a", "state": "hot", "sample": 1, "seconds": 2.0, "median": 1.0},
            {"kind": "decaying-caches", "command": "a", "times": 1, "pages": 2}]"#,
    )
    .unwrap();
    assert!(matches!(&warnings[0], Warning::Outliers { runs: 0, causes, .. } if causes.is_empty()));
    let mut sample = serde_json::to_value(sample(1, 1.0)).unwrap();
    sample.as_object_mut().unwrap().remove("processors");
    assert_eq!(serde_json::from_value::<Sample>(sample).unwrap().processors, None);
    let frequency: Frequency = serde_json::from_str(r#"{"driver": "acpi-cpufreq", "turbo": "mixed"}"#).unwrap();
    assert_eq!((frequency.turbo, frequency.held), (Some(Turbo::Mixed), None));
}
