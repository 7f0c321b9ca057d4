//! Other processes' activity during the runs: the machine-wide counters minus the program's own part.

use coldstart_profile::measurement::{Cause, Disturbance, Sample, Use, Warning};

use crate::statistics::median;

/// Reads by others are interference if they exceed the program's own by this much.
const MOST_OTHERS_BYTES: u64 = 4 << 20;
/// Others may use this part of the processors, or this many seconds of them: the counters' resolution is 10 ms for each
/// processor.
const MOST_OTHERS_PART: f64 = 0.2;
const MOST_OTHERS_SECONDS: f64 = 0.05;
/// The hypervisor may steal this part of a run's time, or this many seconds.
const MOST_STOLEN_PART: f64 = 0.1;
const MOST_STOLEN_SECONDS: f64 = 0.03;
/// Activity of others explains a longer time only if it exceeded that in other runs by this: three steps of the counters,
/// and half of the excess time.
const LEAST_CAUSE_SECONDS: f64 = 0.03;
const LEAST_CAUSE_PART: f64 = 0.5;

/// Bytes read by others, if significant. `None` also if the program's own part is unknown.
fn others_bytes(sample: &Sample) -> Option<u64> {
    let all = sample.devices.iter().map(|device| device.bytes).fold(0, u64::saturating_add);
    // Reads of the tree from other devices make this too small, never too large.
    let own = sample.bytes_read?;
    let others = all.saturating_sub(own);
    (others > own.saturating_add(MOST_OTHERS_BYTES)).then_some(others)
}

/// Seconds of processor time used by others. Use by the tree after readiness makes this too small.
fn others_seconds(sample: &Sample) -> Option<f64> {
    Some((sample.processors?.busy_seconds - sample.user_seconds? - sample.system_seconds?).max(0.0))
}

fn stolen_seconds(sample: &Sample) -> Option<f64> {
    Some(sample.processors?.stolen_seconds)
}

/// The counted runs for which `measure` gives a value, and the greatest value.
fn disturbed<T: PartialOrd>(samples: &[Sample], measure: impl Fn(&Sample) -> Option<T>) -> Option<(Vec<u32>, T)> {
    let mut numbers = Vec::new();
    let mut most: Option<T> = None;
    for sample in samples.iter().filter(|sample| sample.used == Use::Counted) {
        let Some(value) = measure(sample) else { continue };
        numbers.push(sample.number);
        if most.as_ref().is_none_or(|most| *most < value) {
            most = Some(value);
        }
    }
    Some((numbers, most?))
}

pub(super) fn interference(samples: &[Sample]) -> Option<Warning> {
    let (samples, others_bytes) = disturbed(samples, others_bytes)?;
    Some(Warning::Interference { samples, others_bytes })
}

pub(super) fn processors_busy(samples: &[Sample], processors: u32) -> Option<Warning> {
    let part = |sample: &Sample| {
        let others = others_seconds(sample).filter(|&others| others >= MOST_OTHERS_SECONDS)?;
        let available = sample.counted_seconds()? * f64::from(processors.max(1));
        Some((others / available).min(1.0)).filter(|&part| part >= MOST_OTHERS_PART)
    };
    let (samples, most_part) = disturbed(samples, part)?;
    Some(Warning::ProcessorsBusy { samples, most_part })
}

pub(super) fn time_stolen(samples: &[Sample]) -> Option<Warning> {
    let much = |sample: &Sample| {
        let least = MOST_STOLEN_SECONDS.max(sample.counted_seconds()? * MOST_STOLEN_PART);
        stolen_seconds(sample).filter(|&stolen| stolen >= least)
    };
    let (samples, most_seconds) = disturbed(samples, much)?;
    Some(Warning::TimeStolen { samples, most_seconds })
}

/// Possible reasons why some runs, given by number, took longer than the others of their command and state.
pub(super) fn causes<'s>(odd: &[u32], of_state: impl Iterator<Item = &'s Sample>) -> Vec<Cause> {
    let counted: Vec<&Sample> = of_state.filter(|sample| sample.used == Use::Counted).collect();
    let usual = |value: &dyn Fn(&Sample) -> Option<f64>| {
        median(&counted.iter().filter_map(|sample| value(sample)).collect::<Vec<_>>())
    };
    let usual_seconds = usual(&|sample: &Sample| sample.seconds);
    let explains = |sample: &Sample, value: &dyn Fn(&Sample) -> Option<f64>| {
        let excess = sample.seconds.zip(usual_seconds).map_or(0.0, |(seconds, usual)| seconds - usual);
        let least = LEAST_CAUSE_SECONDS.max(excess * LEAST_CAUSE_PART);
        excess > 0.0 && value(sample).zip(usual(value)).is_some_and(|(value, usual)| value - usual >= least)
    };
    let slow = |sample: &Sample| sample.seconds.zip(usual_seconds).is_some_and(|(seconds, usual)| seconds > usual);
    [
        (
            Disturbance::Reading,
            &(|sample: &Sample| slow(sample) && others_bytes(sample).is_some()) as &dyn Fn(&Sample) -> bool,
        ),
        (Disturbance::Computing, &|sample: &Sample| explains(sample, &others_seconds)),
        (Disturbance::Stealing, &|sample: &Sample| explains(sample, &stolen_seconds)),
    ]
    .into_iter()
    .filter_map(|(what, explains)| {
        let odd = counted.iter().filter(|sample| odd.contains(&sample.number) && explains(sample));
        let samples: Vec<u32> = odd.map(|sample| sample.number).collect();
        (!samples.is_empty()).then_some(Cause { what, samples })
    })
    .collect()
}
