//! `search-store-plan`: the store on a network disk, cold: plain, bound, with a plan, and both together.
//!
//! Binding saves the loader's failed probes, a plan reads in advance what the start reads. A plan of the plain program also
//! reads the directories that are probed in vain, so the two overlap; together they must be better than each alone.
//!
//! Not obvious: the plan of both is recorded of the bound program, which opens its libraries under other names.

use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use serde_json::{Value, json};

use super::super::bed::Bed;
use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, Paired, State};
use super::super::record::Record;
use super::super::runner::words;
use super::super::statistics::{median, range};
use super::super::workshop::{Workshop, text};
use super::binding::{Bound, Mode, bind};
use super::network::with_store;
use super::start::Start;
use super::store::{described, start};
use super::world::store::Store;

/// The variants in the order of the measurement: what is done to the program, and by which kind of plan it starts.
const VARIANTS: [(&str, Subject, Option<Planning>); 6] = [
    ("plain", Subject::Plain, None),
    ("bound", Subject::Bound, None),
    ("plan", Subject::Plain, Some(Planning::Cached)),
    ("bound, plan", Subject::Bound, Some(Planning::Cached)),
    ("exact plan", Subject::Plain, Some(Planning::Exact)),
    ("bound, exact plan", Subject::Bound, Some(Planning::Exact)),
];
/// Which variant is judged against which: both together against each alone, by each kind of plan.
const JUDGED: [(usize, [usize; 2]); 2] = [(3, [1, 2]), (5, [1, 4])];

/// Their major number (`Documentation/admin-guide/devices.txt`).
const LOOP_DEVICES: u32 = 7;

#[derive(Clone, Copy)]
enum Subject {
    Plain,
    Bound,
}

#[derive(Clone, Copy)]
enum Planning {
    /// Of the pages that came into the cache.
    Cached,
    /// Of the pages that were used.
    Exact,
}

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_store(workshop, record, measure_on_bed)
}

fn measure_on_bed(workshop: &Workshop, record: &mut Record, store: &Store, bed: &Bed<'_>) -> Result<()> {
    let plain = start(store);
    let bound = match bind(workshop, &plain.program, Mode::Soname)? {
        Bound::Program { program, .. } => plain.of(&program),
        Bound::Refused(reason) => bail!("`bind` was refused: {reason}"),
    };
    bed.install(&fs::read(&workshop.small_launcher)?, "/coldstart-run")?;
    let launcher = bed.outside("/coldstart-run");
    let mut commands = Vec::new();
    let mut recordings = Vec::new();
    for (place, (name, subject, planning)) in VARIANTS.into_iter().enumerate() {
        let start = match subject {
            Subject::Plain => &plain,
            Subject::Bound => &bound,
        };
        let Some(planning) = planning else {
            commands.push(start.command());
            continue;
        };
        let plan = bed.outside(&format!("/{place}.prefetch"));
        let recording =
            record_plan(workshop, start, planning, &plan).with_context(|| format!("no plan for `{name}`"))?;
        recordings.push(json!({"variant": name, "recording": recording}));
        commands.push(planned(&launcher, &plan, start));
    }
    let expected = plain.printed(workshop)?;
    for (command, (name, ..)) in commands.iter().zip(VARIANTS) {
        let said = workshop.runner.said(command)?;
        anyhow::ensure!(
            said.status.success() && said.stdout == expected,
            "the variant `{name}` prints {:?}",
            said.stdout
        );
    }
    // What binding and recording wrote would otherwise be written beside what is measured.
    bed.flush()?;
    let (first, others) = commands.split_first().context("no variants")?;
    let mut arguments = words(["--state", "cold", "--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    record.add("measurement", workshop.measure(&arguments, others, first)?);
    record.add("recordings", recordings.into());
    let letters = VARIANTS.iter().zip('A'..).map(|((name, ..), letter)| format!("{letter} {name}"));
    let letters = format!("commands: {}", letters.collect::<Vec<_>>().join("; "));
    record.add("about", json!([described(store), letters]));
    Ok(())
}

fn record_plan(workshop: &Workshop, start: &Start, planning: Planning, plan: &Path) -> Result<Value> {
    let mut command = workshop.coldstart(["prefetch", "record", "--json"]);
    if matches!(planning, Planning::Exact) {
        command.push("--exact".to_owned());
    }
    command.extend(["--output".to_owned(), text(plan), "--".to_owned()]);
    command.extend(start.command());
    workshop.runner.json(&command, &[0])
}

fn planned(launcher: &Path, plan: &Path, start: &Start) -> Vec<String> {
    [vec![text(launcher), text(plan), "--".to_owned()], start.command()].concat()
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let measurement = Measurement::from_json(record.part("measurement")?)?;
    let mut figures = Vec::new();
    for (state, shown) in [(State::Cold, "cold"), (State::Hot, "hot")] {
        for (command, (name, ..)) in VARIANTS.iter().enumerate() {
            let times = measurement.times(command, state);
            let mut figure = Figure::of_times(format!("{name}, {shown}"), Unit::Milliseconds, Asked::Nothing, &times);
            figure.ratio = measurement.comparison(command, state).and_then(|comparison| comparison.estimate());
            figures.push(figure);
        }
    }
    for (command, (name, ..)) in VARIANTS.iter().enumerate() {
        let reads = reads(record, command);
        let what = format!("{name}: reads of the network disk, cold");
        let figure = Figure::new(what, Unit::Count, Asked::Nothing, median(&reads));
        figures.push(Figure { count: reads.len(), range: range(&reads), ..figure });
    }
    for (both, alone) in JUDGED {
        for other in alone {
            let Paired { ratio, pairs } = measurement.ratio(both, other, State::Cold);
            let name = |command: usize| VARIANTS.get(command).map_or("", |(name, ..)| name);
            let what = format!("{} / {}, cold", name(both), name(other));
            figures.push(Figure::of_estimate(what, Unit::Times, Asked::AtMost(1.0), ratio, pairs));
        }
    }
    Ok(figures)
}

/// Reads of the bed's own device in each cold start of a command that counts.
fn reads(record: &Record, command: usize) -> Vec<f64> {
    let device = record.bed.as_ref().and_then(|bed| bed["device"].as_str()?.strip_prefix("/dev/loop"));
    let Some(number) = device.map(|minor| format!("{LOOP_DEVICES}:{minor}")) else { return Vec::new() };
    let samples = record.part("measurement").ok().and_then(|part| part["samples"].as_array());
    let counted = samples.into_iter().flatten().filter(|sample| {
        sample["command"] == command && sample["state"] == "cold" && sample["used"]["use"] == "counted"
    });
    let of_bed = |sample: &Value| {
        let devices = sample["devices"].as_array()?;
        devices.iter().find(|device| device["device"] == *number)?["requests"].as_f64()
    };
    counted.filter_map(of_bed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    #[test]
    fn both_together_are_judged_against_each_alone() {
        let mut record = Record::begin(Benchmark::SearchStorePlan, "2025-01-02", 2).unwrap();
        let times: [&[f64]; 6] = [&[4.0, 4.1], &[2.0, 2.1], &[1.0, 1.1], &[0.8, 0.9], &[0.9, 0.9], &[1.0, 1.0]];
        record.add("measurement", sample("cold", &times));
        record.bed = Some(json!({"device": "/dev/loop0"}));
        let figures = figures(&record).unwrap();
        let reads = figures.iter().find(|figure| figure.what == "bound: reads of the network disk, cold").unwrap();
        assert_eq!((reads.value, reads.count), (Some(5.0), 2));
        let verdicts: Vec<_> = figures.iter().filter_map(Figure::is_met).collect();
        assert_eq!(verdicts, [true, true, true, false]);
        assert_eq!(figures.last().unwrap().what, "bound, exact plan / exact plan, cold");
    }
}
