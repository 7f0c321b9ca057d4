//! The three states, made and checked.

use coldstart_measure::{Event, Silent, StartState, measure};
use coldstart_profile::measurement::{End, Method, Use, Verdict, Warning};
use coldstart_sys::drop_caches::may_drop_caches;

use crate::{MIB, counted, generated, plan, reading, resident, skip, turn};

#[test]
fn cold_reads_everything_and_hot_nothing() {
    if !may_drop_caches() {
        return skip("a cold start needs root");
    }
    let _turn = turn();
    let file = generated(16);
    let plan = plan(vec![reading("cat", &[file.path()])], &[StartState::Cold, StartState::Hot], 2);
    let measured = measure(&plan, &mut Silent).unwrap();
    let cold = counted(&measured, 0, StartState::Cold);
    assert_eq!(cold.len(), 2, "{measured:#?}");
    for sample in cold {
        assert_eq!(sample.residency.unwrap().resident_pages, 0);
        assert!(sample.bytes_read.is_some_and(|bytes| bytes >= 16 * MIB), "{sample:?}");
        // The second witness.
        assert!(sample.devices.iter().map(|device| device.bytes).sum::<u64>() >= 16 * MIB, "{sample:?}");
        assert!(sample.devices.iter().all(|device| device.requests > 0 && device.read_ahead_kib.is_some()));
    }
    let hot = counted(&measured, 0, StartState::Hot);
    assert_eq!(hot.len(), 2, "{measured:#?}");
    for sample in hot {
        // The kernel is free to take pages back meanwhile: a start counts as hot up to a twentieth of what the cold one reads.
        assert!((16 * 256 * 19 / 20..=16 * 256).contains(&sample.residency.unwrap().resident_pages), "{sample:?}");
        assert!(sample.bytes_read.is_some_and(|bytes| bytes <= MIB), "{sample:?}");
    }
    let cold = &measured.summaries[0];
    assert!(cold.state_facts.checked_before && cold.state_facts.resident_pages == Some((0, 0)));
    assert!(cold.mean_interval.unwrap().contains(cold.mean.unwrap()) && cold.requests.unwrap() > 0.0);
    assert!(!measured.machine.devices.is_empty() && !measured.machine.devices[0].name.is_empty());
}

#[test]
fn selective_evicts_just_these_files() {
    let _turn = turn();
    let (ours, others) = (generated(8), generated(8));
    let plan = plan(vec![reading("cat", &[ours.path()])], &[StartState::Selective], 3);
    // Somebody else on the machine may drop all caches meanwhile, but hardly each time.
    let others_stayed = (0..5).any(|_| {
        std::fs::read(others.path()).unwrap();
        let measured = measure(&plan, &mut Silent).unwrap();
        let samples = counted(&measured, 0, StartState::Selective);
        assert_eq!(samples.len(), 3, "{measured:#?}");
        assert!(samples.iter().all(|sample| sample.bytes_read.is_some_and(|bytes| bytes >= 8 * MIB)));
        assert!(samples.iter().all(|sample| sample.residency.unwrap().resident_pages == 0));
        assert!(matches!(measured.samples[0].used, Use::WarmUp));
        resident(others.path()) == 8 * 256
    });
    assert!(others_stayed);
}

#[test]
fn what_cannot_be_evicted_is_named() {
    // Mapped by a running process: this one maps its own program, and so do all that use libc.
    let ours = std::env::current_exe().unwrap();
    let mut candidate = reading("true", &[&ours]);
    candidate.command_line = "true".parse().unwrap();
    let measured = measure(&plan(vec![candidate], &[StartState::Selective], 2), &mut Silent).unwrap();
    let stayed = &measured.summaries[0].state_facts.stayed;
    assert!(stayed.len() == 1 && stayed[0].path == ours.to_string_lossy() && stayed[0].pages > 0, "{stayed:?}");
}

#[test]
fn two_commands_are_compared_round_by_round() {
    let _turn = turn();
    let (small, large) = (generated(1), generated(48));
    let commands = vec![reading("small", &[small.path()]), reading("large", &[large.path()])];
    let measured = measure(&plan(commands, &[StartState::Selective, StartState::Hot], 6), &mut Silent).unwrap();
    let order: Vec<_> = measured
        .samples
        .iter()
        .filter(|sample| sample.state == StartState::Selective && sample.used != Use::WarmUp && sample.attempt == 1)
        .map(|sample| sample.command)
        .collect();
    assert_eq!(order, [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0]);
    assert_eq!(measured.comparisons.len(), 2);
    for comparison in &measured.comparisons {
        assert_eq!((comparison.method, comparison.samples), (Method::PairedByRound, 6));
        assert!(comparison.interval.unwrap().contains(comparison.ratio.unwrap()));
    }
    assert_eq!((measured.input_output.len(), measured.input_output[0].cold), (1, StartState::Selective));
    let read = |command: usize| measured.summaries[command].bytes_read.unwrap();
    // Both read what else was cold as well, which may be as much as the small file.
    let more = read(1) - read(0);
    assert!(more > 40.0 * 1024.0 * 1024.0, "48 MiB against 1 MiB: {more} bytes more");
}

#[test]
fn a_single_run_has_no_interval() {
    let file = generated(1);
    let commands = vec![reading("a", &[file.path()]), reading("b", &[file.path()])];
    let measured = measure(&plan(commands, &[StartState::Hot], 1), &mut Silent).unwrap();
    let summary = &measured.summaries[0];
    assert!(summary.mean.is_some() && summary.mean_interval.is_none() && summary.standard_deviation.is_none());
    assert_eq!((measured.comparisons[0].verdict, measured.comparisons[0].interval), (Verdict::TooFew, None));
}

#[test]
fn failing_programs_are_a_result() {
    let mut candidate = reading("false", &[]);
    candidate.command_line = "false".parse().unwrap();
    let mut begun = 0;
    let mut observer = |event: Event<'_>| begun += u32::from(matches!(event, Event::Next { .. }));
    let measured = measure(&plan(vec![candidate], &[StartState::Hot], 10), &mut observer).unwrap();
    assert_eq!(begun as usize, measured.samples.len());
    assert!(measured.samples.len() < 10 && measured.samples.iter().all(|sample| sample.end == End::Exited(1)));
    let summary = &measured.summaries[0];
    assert_eq!((summary.counted, summary.mean), (0, None));
    assert!(measured.warnings.iter().any(|warning| matches!(warning, Warning::FailedRuns { gave_up: true, .. })));
}

#[test]
fn without_files_only_what_is_read_speaks_for_the_state() {
    let mut candidate = reading("true", &[]);
    candidate.command_line = "true".parse().unwrap();
    let measured = measure(&plan(vec![candidate], &[StartState::Hot], 5), &mut Silent).unwrap();
    assert_eq!(measured.summaries[0].counted, 5, "{measured:#?}");
    let has = |wanted: fn(&Warning) -> bool| measured.warnings.iter().any(wanted);
    assert!(has(|warning| matches!(warning, Warning::StateUnchecked { .. })), "{:?}", measured.warnings);
    assert!(measured.launch_floor.is_some());
}

#[test]
fn the_result_survives_json() {
    let file = generated(1);
    let measured = measure(&plan(vec![reading("cat", &[file.path()])], &[StartState::Hot], 2), &mut Silent).unwrap();
    let text = serde_json::to_string(&measured).unwrap();
    let back: coldstart_measure::Measurement = serde_json::from_str(&text).unwrap();
    // Not the times: the parser may read the last digit of a floating-point number differently.
    assert_eq!((&back.machine, &back.commands), (&measured.machine, &measured.commands));
    assert_eq!(back.samples.len(), measured.samples.len());
    for (back, sample) in back.samples.iter().zip(&measured.samples) {
        assert_eq!((back.end, back.residency, &back.used), (sample.end, sample.residency, &sample.used));
        assert!((back.seconds.unwrap() - sample.seconds.unwrap()).abs() < 1e-12);
        assert_eq!(back.devices, sample.devices);
    }
    assert_eq!(back.summaries[0].state_facts, measured.summaries[0].state_facts);
}
