//! Reasons not to trust the figures: a pure function.

mod disturbance;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use coldstart_profile::measurement::{Machine, Measurement, Sample, StartState, Summary, Turbo, Use, Warning};

use self::disturbance::{causes, interference, processors_busy, time_stolen};
use crate::figures::of;

/// Outliers closer to the median than this are not worth a warning.
const NOTABLE_PART: f64 = 0.1;
/// A median below this many launch floors is mostly the launch.
const NEAR_FLOOR: f64 = 2.0;

pub(crate) fn warnings(
    measurement: &Measurement,
    decays: &HashMap<usize, (u32, u64)>,
    gave_up: &HashSet<(usize, StartState)>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for summary in &measurement.summaries {
        let gave_up = gave_up.contains(&(summary.command, summary.state));
        warnings.extend(of_state(measurement, summary, gave_up));
    }
    warnings.extend(of_commands(measurement, decays));
    warnings.extend(interference(&measurement.samples));
    warnings.extend(processors_busy(&measurement.samples, measurement.machine.processor_count));
    warnings.extend(time_stolen(&measurement.samples));
    warnings.extend(read_ahead(&measurement.samples));
    warnings.extend(of_machine(&measurement.machine));
    warnings
}

fn of_machine(machine: &Machine) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if machine.another_measured {
        warnings.push(Warning::AnotherMeasuring);
    }
    if let Some(frequency) = &machine.frequency {
        if let Some(reason) = &frequency.lost_hold {
            warnings.push(Warning::FrequencyNotHeld { reason: reason.clone() });
        } else if frequency.held.is_none() && frequency.varies() {
            let turbo = matches!(frequency.turbo, Some(Turbo::On | Turbo::Mixed));
            warnings.push(Warning::FrequencyVaries { governors: frequency.governors.clone(), turbo });
        }
    }
    if let Some(events) = machine.throttle_events.filter(|&events| events > 0) {
        warnings.push(Warning::Throttled { events });
    }
    if machine.on_battery == Some(true) {
        warnings.push(Warning::OnBattery);
    }
    warnings
}

fn of_state(measurement: &Measurement, summary: &Summary, gave_up: bool) -> Vec<Warning> {
    let (index, state) = (summary.command, summary.state);
    let command = || measurement.commands.get(index).map_or_else(String::new, |command| command.label.clone());
    let samples = || of(&measurement.samples, index, state);
    let mut warnings = Vec::new();
    let failed = marked(samples(), |used| if let Use::Failed { reason } = used { Some(reason) } else { None });
    if let Some((samples, reason)) = failed {
        warnings.push(Warning::FailedRuns { command: command(), state, samples, reason, gave_up });
    }
    let contradicting =
        marked(samples(), |used| if let Use::Contradicts { reason } = used { Some(reason) } else { None });
    if let Some((samples, reason)) = contradicting {
        warnings.push(if summary.counted == 0 {
            Warning::StateNotReached { command: command(), state, reason }
        } else {
            Warning::Contradictions { command: command(), state, samples, reason }
        });
    }
    let uncounted: Vec<(u32, &String)> = samples()
        .filter(|sample| sample.bytes_read.is_none() && sample.used == Use::Counted)
        .filter_map(|sample| Some((sample.number, sample.uncounted.as_ref()?)))
        .collect();
    if let Some(&(_, reason)) = uncounted.first() {
        let (samples, reason) = (uncounted.iter().map(|&(number, _)| number).collect(), reason.clone());
        warnings.push(Warning::ReadsUnknown { command: command(), state, samples, reason });
    }
    let Some(median) = summary.median else { return warnings };
    let unchecked = |sample: &&Sample| {
        sample.used == Use::Counted && !sample.residency.is_some_and(|residency| residency.is_known())
    };
    if let Some(sample) = samples().find(unchecked) {
        let reason = match sample.residency {
            None => "its files are unknown".to_owned(),
            Some(residency) if residency.unknown_files > 0 => {
                format!("the residency of {} of its files is hidden", residency.unknown_files)
            }
            Some(_) => "none of its files is on a disk".to_owned(),
        };
        warnings.push(Warning::StateUnchecked { command: command(), state, reason });
    }
    let notable = |seconds: f64| (seconds / median - 1.0).abs() > NOTABLE_PART;
    let mut odd: Vec<u32> =
        summary.outliers.iter().filter(|outlier| notable(outlier.seconds)).map(|outlier| outlier.sample).collect();
    let first = samples().find_map(|sample| Some((sample.number, sample.counted_seconds()?)));
    if let Some((sample, seconds)) = first.filter(|(sample, seconds)| odd.contains(sample) && *seconds > median) {
        let started = |earlier: &&Sample| {
            earlier.command == index && earlier.number < sample && !matches!(earlier.used, Use::Failed { .. })
        };
        let earlier_starts = u32::try_from(measurement.samples.iter().filter(started).count()).unwrap_or(u32::MAX);
        let causes = causes(&[sample], samples());
        warnings.push(Warning::FirstRunSlow {
            command: command(),
            state,
            sample,
            seconds,
            median,
            earlier_starts,
            causes,
        });
        odd.retain(|&outlier| outlier != sample);
    }
    if !odd.is_empty() {
        let causes = causes(&odd, samples());
        warnings.push(Warning::Outliers { command: command(), state, samples: odd, runs: summary.counted, causes });
    }
    if let Some(floor) = measurement.launch_floor.filter(|floor| median < floor * NEAR_FLOOR) {
        warnings.push(Warning::NearLaunchFloor { command: command(), state, median, floor });
    }
    warnings
}

/// The numbers of the samples that a reason applies to, and the first reason.
fn marked<'s>(
    samples: impl Iterator<Item = &'s Sample>,
    reason: fn(&Use) -> Option<&String>,
) -> Option<(Vec<u32>, String)> {
    let marked: Vec<_> = samples.filter_map(|sample| Some((sample.number, reason(&sample.used)?))).collect();
    let (_, first) = marked.first()?;
    Some((marked.iter().map(|&(number, _)| number).collect(), (*first).clone()))
}

fn of_commands(measurement: &Measurement, decays: &HashMap<usize, (u32, u64)>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (index, command) in measurement.commands.iter().enumerate() {
        if let Some(&(times, pages)) = decays.get(&index) {
            let proactive_reclaim = measurement.machine.proactive_reclaim == Some(true);
            warnings.push(Warning::DecayingCaches { command: command.label.clone(), times, pages, proactive_reclaim });
        }
        let missing = |sample: &Sample| sample.residency.map_or(0, |residency| residency.missing_files);
        let files = measurement.samples.iter().filter(|sample| sample.command == index).map(missing).max().unwrap_or(0);
        if files > 0 {
            warnings.push(Warning::MissingFiles { command: command.label.clone(), files });
        }
    }
    warnings
}

fn read_ahead(samples: &[Sample]) -> Vec<Warning> {
    let mut seen: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
    for device in samples.iter().flat_map(|sample| &sample.devices) {
        seen.entry(&device.device).or_default().extend(device.read_ahead_kib);
    }
    seen.into_iter()
        .filter(|(_, values)| values.len() > 1)
        .map(|(device, values)| Warning::ReadAheadChanged {
            device: device.to_owned(),
            kib: values.into_iter().collect(),
        })
        .collect()
}

#[cfg(test)]
mod tests;
