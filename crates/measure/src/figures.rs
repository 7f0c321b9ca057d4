//! Computes figures from samples: a pure function.

use coldstart_profile::measurement::{
    Comparison, InputOutputComparison, MeasuredCommand, Measurement, Outlier, Residency, Sample, StartState,
    StateFacts, Summary, Use,
};

use crate::execute::Record;
use crate::plan::MeasurePlan;
use crate::real::Facts;
use crate::statistics::{
    CONFIDENCE, compare, cost_difference, mean, mean_interval, median, outliers, standard_deviation,
};
use crate::warnings::warnings;

/// The measurement of all runs.
pub(crate) fn measurement(plan: &MeasurePlan, record: Record, facts: Facts) -> Measurement {
    let states = plan.states_in_order();
    let commands: Vec<MeasuredCommand> = plan
        .commands
        .iter()
        .map(|candidate| MeasuredCommand {
            label: candidate.label.clone(),
            command_line: candidate.command_line.to_string(),
            readiness: candidate.launch.readiness.to_string(),
            file_count: candidate.files.len() as u64,
        })
        .collect();
    let mut summaries = Vec::new();
    let mut comparisons = Vec::new();
    for &state in &states {
        for command in 0..commands.len() {
            summaries.push(summary(&record.samples, command, state, &facts));
            if command > 0 {
                comparisons.push(comparison(&record.samples, command, state));
            }
        }
    }
    let input_output =
        (1..commands.len()).filter_map(|command| input_output(&record.samples, command, &states)).collect();
    let mut measurement = Measurement {
        machine: facts.machine,
        commands,
        samples: record.samples,
        summaries,
        comparisons,
        input_output,
        launch_floor: facts.overhead.as_ref().and_then(|overhead| Some(overhead.floor?.median)),
        overhead: facts.overhead,
        warnings: Vec::new(),
    };
    measurement.warnings = warnings(&measurement, &record.decays, &record.gave_up);
    measurement
}

/// The samples of a command in a state.
pub(crate) fn of(samples: &[Sample], command: usize, state: StartState) -> impl Iterator<Item = &Sample> + Clone {
    samples.iter().filter(move |sample| sample.command == command && sample.state == state)
}

/// The counted times of a command in a state, in seconds.
fn times(samples: &[Sample], command: usize, state: StartState) -> Vec<f64> {
    of(samples, command, state).filter_map(Sample::counted_seconds).collect()
}

fn summary(samples: &[Sample], command: usize, state: StartState, facts: &Facts) -> Summary {
    let counted: Vec<&Sample> =
        of(samples, command, state).filter(|sample| sample.counted_seconds().is_some()).collect();
    let times = times(samples, command, state);
    let count = |wanted: fn(&Use) -> bool| {
        u32::try_from(of(samples, command, state).filter(|sample| wanted(&sample.used)).count()).unwrap_or(u32::MAX)
    };
    let middle = |value: fn(&Sample) -> Option<u64>| {
        median(&counted.iter().filter_map(|sample| Some(value(sample)? as f64)).collect::<Vec<_>>())
    };
    let outlier = |index: usize| Some(Outlier { sample: counted.get(index)?.number, seconds: *times.get(index)? });
    Summary {
        command,
        state,
        counted: u32::try_from(times.len()).unwrap_or(u32::MAX),
        failed: count(|used| matches!(used, Use::Failed { .. })),
        contradicting: count(|used| matches!(used, Use::Contradicts { .. })),
        mean: mean(&times),
        mean_interval: mean_interval(&times, CONFIDENCE),
        median: median(&times),
        min: times.iter().copied().min_by(f64::total_cmp),
        max: times.iter().copied().max_by(f64::total_cmp),
        standard_deviation: standard_deviation(&times),
        outliers: outliers(&times).into_iter().filter_map(outlier).collect(),
        bytes_read: middle(|sample| sample.bytes_read),
        requests: middle(|sample| {
            (!sample.devices.is_empty()).then(|| sample.devices.iter().map(|device| device.requests).sum())
        }),
        major_faults: middle(|sample| sample.major_faults),
        state_facts: state_facts(&counted, command, state, facts),
    }
}

fn state_facts(counted: &[&Sample], command: usize, state: StartState, facts: &Facts) -> StateFacts {
    let known: Vec<Residency> =
        counted.iter().filter_map(|sample| sample.residency.filter(Residency::is_known)).collect();
    let resident = || known.iter().map(|residency| residency.resident_pages);
    StateFacts {
        method: match state {
            StartState::Cold => {
                "all clean caches of the machine dropped twice (sync, drop_caches 3), residency checked in between"
                    .to_owned()
            }
            StartState::Boot => {
                "all clean caches of the machine dropped twice, then the saved state restored".to_owned()
            }
            StartState::Selective => {
                "the program's files evicted (posix_fadvise), then their metadata, nothing else".to_owned()
            }
            StartState::Hot => "started right after another start".to_owned(),
        },
        checked_before: !counted.is_empty() && known.len() == counted.len(),
        file_pages: known.last().map(|residency| residency.file_pages),
        resident_pages: resident().min().zip(resident().max()),
        stayed: facts.stayed.get(&(command, state)).cloned().unwrap_or_default(),
        saved_state: facts.saved_states.get(&command).filter(|_| state == StartState::Boot).cloned(),
        ways: facts.ways.get(&command).filter(|_| state == StartState::Selective).cloned().unwrap_or_default(),
    }
}

/// A command's times in a state against the first command's.
pub(crate) fn comparison(samples: &[Sample], command: usize, state: StartState) -> Comparison {
    let rounds = samples.iter().filter(|sample| sample.state == state).map(|sample| sample.round).max().unwrap_or(0);
    let time = |command, round| {
        of(samples, command, state).filter(|sample| sample.round == round).find_map(Sample::counted_seconds)
    };
    let pairs: Vec<_> = (1..=rounds).map(|round| (time(0, round), time(command, round))).collect();
    let compared = compare(&pairs);
    Comparison {
        baseline: 0,
        command,
        state,
        ratio: compared.ratio,
        interval: compared.interval,
        wide_interval: compared.wide_interval,
        method: compared.method,
        samples: u32::try_from(compared.samples).unwrap_or(u32::MAX),
        verdict: compared.verdict,
    }
}

fn input_output(samples: &[Sample], command: usize, states: &[StartState]) -> Option<InputOutputComparison> {
    let cold =
        [StartState::Cold, StartState::Boot, StartState::Selective].into_iter().find(|state| states.contains(state))?;
    let both = |command| [times(samples, command, cold), times(samples, command, StartState::Hot)];
    let (baseline, other) = (both(0), both(command));
    let compared = cost_difference([&baseline[0], &baseline[1]], [&other[0], &other[1]])?;
    Some(InputOutputComparison {
        baseline: 0,
        command,
        cold,
        baseline_cost: compared.baseline_cost,
        command_cost: compared.command_cost,
        difference: compared.difference,
        interval: compared.interval,
        wide_interval: compared.wide_interval,
        verdict: compared.verdict,
    })
}
