//! `coldstart measure` compared with hyperfine, on the smallest possible program.
//!
//! The two alternate, in changing order: the machine's drift between two runs of either is
//! larger than their difference.

use anyhow::{Context, Result};
use serde_json::json;

use super::figure::{Asked, Figure, Unit};
use super::hyperfine;
use super::measurement::{Measurement, State};
use super::record::Record;
use super::runner::words;
use super::statistics::{mean, mean_estimate, median};
use super::workshop::Workshop;

const ROUNDS: u32 = 5;
/// The tools may differ by this much, in seconds, ...
const ABSOLUTE: f64 = 1e-4;
/// ... or by this part of hyperfine's time, whichever is more.
const RELATIVE: f64 = 0.02;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let mut arguments = words(["--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    let command = words(["true"]);
    let ours = || workshop.measure(&arguments, &[], &command);
    let theirs = || workshop.hyperfine(record.runs, 10, std::slice::from_ref(&command));
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let (coldstart, hyperfine) = if round % 2 == 0 {
            let first = ours()?;
            (first, theirs()?)
        } else {
            let first = theirs()?;
            (ours()?, first)
        };
        rounds.push(json!({"coldstart": coldstart, "hyperfine": hyperfine}));
    }
    record.add("rounds", rounds.into());
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let mut differences = Vec::new();
    for round in record.list("rounds")? {
        let part = |name| round.get(name).with_context(|| format!("a round lacks `{name}`"));
        let of_ours = Measurement::from_json(part("coldstart")?)?.times(0, State::Hot);
        let [of_theirs] = hyperfine::times::<1>(part("hyperfine")?)?;
        differences.extend(mean(&of_ours).zip(mean(&of_theirs)).map(|(ours, theirs)| ours - theirs));
        ours.extend(of_ours);
        theirs.extend(of_theirs);
    }
    let within = |reference: Option<f64>| {
        Asked::Within(ABSOLUTE.max(RELATIVE * reference.unwrap_or(0.0)), "within 0.1 ms or 2 %")
    };
    let of_medians = median(&ours).zip(median(&theirs)).map(|(ours, theirs)| ours - theirs);
    let mut medians = Figure::new("difference of medians", Unit::Milliseconds, within(median(&theirs)), of_medians);
    medians.count = differences.len();
    Ok(vec![
        Figure::of_times("`true` by coldstart", Unit::Milliseconds, Asked::Nothing, &ours),
        Figure::of_times("`true` by hyperfine", Unit::Milliseconds, Asked::Nothing, &theirs),
        medians,
        Figure::of_estimate(
            "difference of means, by round",
            Unit::Milliseconds,
            within(mean(&theirs)),
            mean_estimate(&differences),
            differences.len(),
        ),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    fn figures_of(ours: f64, theirs: f64) -> Vec<Figure> {
        let mut record = Record::begin(Benchmark::Precision, "2025-01-02", 2).unwrap();
        let round = json!({
            "coldstart": sample("hot", &[&[ours, ours]]),
            "hyperfine": {"results": [{"times": [theirs, theirs]}]},
        });
        record.add("rounds", json!([round, round]));
        figures(&record).unwrap()
    }

    #[test]
    fn small_times_may_differ_by_a_tenth_of_a_millisecond() {
        let met = |ours, theirs| {
            let figures = figures_of(ours, theirs);
            (figures[2].is_met(), figures[3].is_met())
        };
        assert_eq!(met(0.000_59, 0.000_5), (Some(true), Some(true)));
        assert_eq!(met(0.000_39, 0.000_5), (Some(false), Some(false)));
        assert_eq!(met(0.101_9, 0.1), (Some(true), Some(true)));
        assert_eq!(met(0.102_1, 0.1), (Some(false), Some(false)));
    }

    #[test]
    fn times_of_all_rounds_are_pooled() {
        assert_eq!(figures_of(0.001, 0.001)[0].count, 4);
    }
}
