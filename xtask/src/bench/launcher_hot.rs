//! The launcher's cost when everything is in memory: the price of an unneeded plan.
//!
//! A large program shows what its user would notice. `true`, which does nothing, shows the cost itself.

use anyhow::Result;
use serde_json::Value;

use super::bed::{BedKind, with_bed};
use super::figure::{Asked, Figure, Unit};
use super::hyperfine;
use super::measurement::{Measurement, State};
use super::program::LIBREOFFICE;
use super::record::Record;
use super::runner::words;
use super::stale_plan;
use super::start::{PLAIN, PLANNED, PLANNED_SMALL, measure_starts, planned, prepare_plan};
use super::statistics::{mean, mean_estimate};
use super::workshop::{Workshop, text};

/// Times of `true` drift more between rounds than within one, so several short rounds tell more than a long one.
const ROUNDS: u32 = 5;
/// Starts of `true` in a round, for each counted start of the large program.
const STARTS_PER_RUN: u32 = 10;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_bed(workshop, BedKind::Disk, |bed| {
        record.bed = Some(bed.status.clone());
        let plan_file = prepare_plan(&LIBREOFFICE, bed, workshop, record)?;
        let compare = planned(&LIBREOFFICE, bed, &plan_file);
        let mut arguments = words(["--state", "hot", "--runs"]);
        arguments.push(record.runs.to_string());
        record.add("measurement", measure_starts(&LIBREOFFICE, bed, workshop, &arguments, &compare)?);
        Ok(())
    })?;
    let plan = text(&workshop.directory.join("true.prefetch"));
    let recording = workshop.coldstart(["prefetch", "record", "--json", "--output", &plan, "--", "true"]);
    record.add("true_recording", workshop.runner.json(&recording, &[0])?);
    let launched = workshop.coldstart(["prefetch", "run", &plan, "--", "true"]);
    let launched_small = words([&text(&workshop.small_launcher), &plan, "--", "true"]);
    let commands = [words(["true"]), launched, launched_small];
    let runs = record.runs.saturating_mul(STARTS_PER_RUN);
    let rounds: Result<Vec<_>> = (0..ROUNDS).map(|_| workshop.hyperfine(runs, 10, &commands)).collect();
    record.add("true_rounds", rounds?.into());
    stale_plan::measure(workshop, record, runs)
}

/// The ways of starting with a plan, as they are called in the table.
const LAUNCHERS: [(&str, usize); 2] = [("with plan", PLANNED), ("with plan by `coldstart-run`", PLANNED_SMALL)];

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = figures_of_libreoffice(&Measurement::from_json(record.part("measurement")?)?);
    figures.extend(figures_of_true(record.list("true_rounds")?)?);
    figures.extend(stale_plan::figures(record)?);
    Ok(figures)
}

fn figures_of_libreoffice(measurement: &Measurement) -> Vec<Figure> {
    let summary = |command| measurement.summary(command, State::Hot);
    let mut figures = vec![Figure::of_summary("libreoffice, plain, hot", Asked::Nothing, summary(PLAIN))];
    for (name, command) in LAUNCHERS {
        let what = format!("libreoffice, {name}, hot");
        figures.push(Figure::of_summary(&what, Asked::Nothing, summary(command)));
        let ratio = measurement.comparison(command, State::Hot).and_then(|comparison| comparison.estimate());
        let pairs = measurement.ratio(command, PLAIN, State::Hot).pairs;
        let what = format!("libreoffice, {name} / plain, hot");
        figures.push(Figure::of_estimate(what, Unit::Times, Asked::AtMost(1.02), ratio, pairs));
    }
    figures
}

fn figures_of_true(rounds: &[Value]) -> Result<Vec<Figure>> {
    let rounds: Vec<[Vec<f64>; 3]> = rounds.iter().map(hyperfine::times).collect::<Result<_>>()?;
    let times = |command: usize| -> Vec<f64> { rounds.iter().flat_map(|round| round[command].clone()).collect() };
    let mut figures = vec![Figure::of_times("`true`, plain, hot", Unit::Milliseconds, Asked::Nothing, &times(PLAIN))];
    for (name, command) in LAUNCHERS {
        let what = format!("`true`, {name}, hot");
        figures.push(Figure::of_times(what, Unit::Milliseconds, Asked::Nothing, &times(command)));
        figures.push(cost(format!("`true`, {name} − plain, means by round"), &rounds, command));
    }
    Ok(figures)
}

/// What a command of a round takes more than the first one.
pub(super) fn cost(what: String, rounds: &[[Vec<f64>; 3]], command: usize) -> Figure {
    let cost = |round: &[Vec<f64>; 3]| Some(mean(&round[command])? - mean(&round[PLAIN])?);
    let costs: Vec<f64> = rounds.iter().filter_map(cost).collect();
    Figure::of_estimate(what, Unit::Milliseconds, Asked::AtMost(1.5e-3), mean_estimate(&costs), costs.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;
    use serde_json::json;

    #[test]
    fn cost_is_a_difference_of_means_and_ratio_the_measurements_own() {
        let mut record = Record::begin(Benchmark::LauncherHot, "2025-01-02", 2).unwrap();
        record.add("measurement", sample("hot", &[&[0.9, 0.8], &[0.9, 0.82], &[0.9, 0.81]]));
        let round = |plain: f64, launched: f64| {
            let times = [[plain, plain], [launched, launched + 0.0002], [plain, plain]];
            json!({"results": times.map(|times| json!({"times": times}))})
        };
        record.add("true_rounds", json!([round(0.0005, 0.0012), round(0.0006, 0.0012)]));
        let figures = figures(&record).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what == what).unwrap();
        let ratio = find("libreoffice, with plan / plain, hot");
        assert_eq!((ratio.value, ratio.count, ratio.is_met()), (Some(0.25), 2, Some(true)));
        let cost = find("`true`, with plan − plain, means by round");
        assert!((cost.value.unwrap() - 0.000_75).abs() < 1e-9, "{cost:?}");
        assert_eq!((cost.count, cost.is_met()), (2, Some(true)));
        assert_eq!(find("`true`, with plan, hot").count, 4);
        assert_eq!(find("`true`, with plan by `coldstart-run` − plain, means by round").value, Some(0.0));
    }
}
