//! Many gates on an unchanged program, and on a slower one: how often `coldstart measure
//! --fail-if-slower` fails wrongly, and how often it finds the slower one.
//!
//! The promise: of 100 gates without a change at most 5 fail in the long run. The verdict is the probability of so many
//! failures if the promise holds. Only gates and figures of the measurements are kept, not the thousands of
//! runs.

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Value, json};
use statrs::distribution::{Binomial, DiscreteCDF};

use super::figure::{Asked, Figure, Unit};
use super::record::Record;
use super::runner::words;
use super::statistics::median;
use super::workshop::{Workshop, text};
use crate::tools::{Tool, tool};

/// What must be installed for it.
pub(super) const TOOLS: &[Tool] = &[tool("/usr/bin/python3", "python3")];

/// Gates without a change.
const EQUALS: u32 = 100;
/// Gates with one.
const CHANGES: u32 = 20;
/// Sessions before the first gate, and sessions that each gate looks back on.
const RUN_IN: u32 = 10;
/// Of gates without a change so many may fail.
const RATE: f64 = 0.05;
/// Failures that would come about less often than this if the promise held speak against it.
const DOUBT: f64 = 0.01;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let history = workshop.directory.join("gate.sqlite");
    if history.exists() {
        fs::remove_file(&history)?;
    }
    let python = |code: &str| words(["/usr/bin/python3", "-c", code]);
    let plain = python("pass");
    let arguments = |more: &[&str]| {
        let mut arguments = words(["--state", "hot", "--history-file"]);
        arguments.extend([text(&history), "--runs".to_owned(), record.runs.to_string()]);
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        arguments
    };
    let gate = ["--fail-if-slower", "0", "--error-rate", "5"];
    let mut times = Vec::new();
    for _ in 0..RUN_IN {
        let session = workshop.measure(&arguments(&["--label", "run-in"]), &[], &plain)?;
        times.extend(session["summaries"][0]["median"].as_f64());
    }
    let usual = median(&times).context("no session of the run-in has figures")?;
    let last = [&["--against", "last:10"], &gate[..]].concat();
    let run_in = [&["--against", "run-in"], &gate[..]].concat();
    let side_by_side = [&["--no-history"], &gate[..]].concat();
    let without_history = |more: &[&str]| {
        let mut arguments = words(["--state", "hot", "--runs"]);
        arguments.push(record.runs.to_string());
        arguments.extend(more.iter().map(|&word| word.to_owned()));
        arguments
    };
    let slower = |part: f64| python(&format!("import time; time.sleep({:.6})", usual * part));
    let equals: Vec<Value> = repeated(EQUALS, || workshop.measure(&arguments(&last), &[], &plain))?;
    let pairs =
        repeated(EQUALS, || workshop.measure(&without_history(&side_by_side), std::slice::from_ref(&plain), &plain))?;
    let tenth = repeated(CHANGES, || workshop.measure(&arguments(&run_in), &[], &slower(0.1)))?;
    let half = repeated(CHANGES, || workshop.measure(&arguments(&run_in), &[], &slower(0.5)))?;
    let tenth_pairs = repeated(CHANGES, || workshop.measure(&without_history(&side_by_side), &[slower(0.1)], &plain))?;
    record.add("run-in medians", json!(times));
    record.add("equals", equals.into());
    record.add("equals side by side", pairs.into());
    record.add("a tenth slower", tenth.into());
    record.add("half as slow again", half.into());
    record.add("a tenth slower side by side", tenth_pairs.into());
    fs::remove_file(&history)?;
    Ok(())
}

fn repeated(count: u32, gate: impl Fn() -> Result<Value>) -> Result<Vec<Value>> {
    let kept = |json: Value| json!({"gate": json["gate"], "summaries": json["summaries"]});
    (0..count).map(|_| gate().map(kept)).collect()
}

/// What `--json` says of a gate, as far as figures are made of it.
#[derive(Deserialize)]
struct Gate {
    is_slower: bool,
    states: Vec<State>,
}

#[derive(Deserialize)]
struct State {
    detectable: f64,
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let run_in: Vec<f64> = record.list("run-in medians")?.iter().filter_map(Value::as_f64).collect();
    figures.push(Figure::of_times(
        "`python3 -c pass`, medians of sessions",
        Unit::Milliseconds,
        Asked::Nothing,
        &run_in,
    ));
    for (part, what) in [("equals", "against the last 10"), ("equals side by side", "side by side")] {
        let gates = gates(record, part)?;
        let failed = gates.iter().filter(|gate| gate.is_slower).count();
        let mut count = Figure::new(
            format!("gates of equals that failed, {what}"),
            Unit::Count,
            Asked::Nothing,
            Some(failed as f64),
        );
        count.count = gates.len();
        let chance = chance_of_at_least(failed as u64, gates.len() as u64)?;
        let mut likely =
            Figure::new(format!("chance of so many at 5 %, {what}"), Unit::Times, Asked::AtLeast(DOUBT), Some(chance));
        likely.count = gates.len();
        figures.extend([count, likely]);
    }
    for (part, what) in [
        ("a tenth slower", "a tenth slower, against 10 sessions"),
        ("half as slow again", "half as slow again, against 10 sessions"),
        ("a tenth slower side by side", "a tenth slower, side by side"),
    ] {
        let gates = gates(record, part)?;
        let found = gates.iter().filter(|gate| gate.is_slower).count();
        let mut figure = Figure::new(format!("found: {what}"), Unit::Count, Asked::Nothing, Some(found as f64));
        figure.count = gates.len();
        let told: Vec<f64> = gates.iter().flat_map(|gate| &gate.states).map(|state| state.detectable).collect();
        let mut detectable =
            Figure::new(format!("ratio told to be found in 80 %: {what}"), Unit::Times, Asked::Nothing, median(&told));
        detectable.count = told.len();
        figures.extend([figure, detectable]);
    }
    Ok(figures)
}

fn gates(record: &Record, part: &str) -> Result<Vec<Gate>> {
    let read = |json: &Value| Gate::deserialize(&json["gate"]).with_context(|| format!("`{part}` has no gate"));
    record.list(part)?.iter().map(read).collect()
}

/// How likely at least so many failures are if each gate fails with the promised rate.
fn chance_of_at_least(failed: u64, gates: u64) -> Result<f64> {
    let promised = Binomial::new(RATE, gates)?;
    Ok(failed.checked_sub(1).map_or(1.0, |fewer| promised.sf(fewer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        // R: pbinom(c(4, 9, 10), 100, 0.05, lower.tail = FALSE)
        for (failed, wanted) in [(0, 1.0), (5, 0.564_017), (10, 0.028_188), (11, 0.011_471)] {
            let chance = chance_of_at_least(failed, 100).unwrap();
            assert!((chance - wanted).abs() < 1e-5, "{failed}: {chance}");
        }
    }

    #[test]
    fn failures_and_findings_are_counted() {
        let gate = |is_slower: bool| json!({"gate": {"is_slower": is_slower, "states": [{"detectable": 1.2}]}});
        let mut record = Record::begin(Benchmark::Gate, "2025-01-02", 8).unwrap();
        record.add("run-in medians", json!([0.015, 0.016]));
        for (part, slower) in [
            ("equals", 12),
            ("equals side by side", 3),
            ("a tenth slower", 4),
            ("half as slow again", 100),
            ("a tenth slower side by side", 50),
        ] {
            record.add(part, (0..100).map(|index| gate(index < slower)).collect::<Vec<_>>().into());
        }
        let figures = figures(&record).unwrap();
        let values: Vec<Option<f64>> = figures.iter().map(|figure| figure.value).collect();
        assert_eq!(values[1], Some(12.0));
        assert_eq!((figures[2].is_met(), figures[4].is_met()), (Some(false), Some(true)));
        assert_eq!((values[5], values[6], values[7], values[9]), (Some(4.0), Some(1.2), Some(100.0), Some(50.0)));
    }
}
