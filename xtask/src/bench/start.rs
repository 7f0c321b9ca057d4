//! A program's start on a slow disk: plain, with a prefetch plan (by `coldstart` and by the small launcher), and with
//! the files of the plan read whole by vmtouch.
//!
//! Not obvious: the launchers themselves lie on the slow disk and are run from there. Outside they would
//! be read from a fast disk, and a start with a plan would look better than it is.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::bed::{Bed, BedKind, with_bed};
use super::figure::{Asked, Figure, Unit};
use super::measurement::{Measurement, Paired, State};
use super::plan::Plan;
use super::program::Program;
use super::record::Record;
use super::runner::words;
use super::workshop::Workshop;
use crate::tools::find;

/// Where the programs under test lie inside the image.
pub(super) const COLDSTART: &str = "/usr/local/bin/coldstart";
pub(super) const SMALL_LAUNCHER: &str = "/usr/local/bin/coldstart-run";
const VMTOUCH: &str = "/usr/local/bin/vmtouch";
const READ_WHOLE: &str = "/usr/local/bin/read-whole";

/// `$1` lists files, each ended by a NUL (vmtouch(8), `-0` and `-b`); the rest is the program. When vmtouch fails, the
/// start fails: it must not pass for one that was helped.
const READ_WHOLE_SCRIPT: &str = "\
#!/bin/sh
/usr/local/bin/vmtouch -q -t -0 -b \"$1\" || exit 70
shift
exec \"$@\"
";

/// Indices of the commands in a measurement.
pub(super) const PLAIN: usize = 0;
/// With a plan, by `coldstart prefetch run`.
pub(super) const PLANNED: usize = 1;
/// With a plan, by `coldstart-run`.
pub(super) const PLANNED_SMALL: usize = 2;
/// With vmtouch.
const WHOLE: usize = 3;

/// What to start where, and what to expect.
#[derive(Debug)]
pub(super) struct StartBenchmark {
    pub(super) program: &'static Program,
    pub(super) bed: BedKind,
    /// Times of plain starts in earlier measurements.
    pub(super) seen: Seen,
    /// Seconds that a cold start with a plan may take.
    pub(super) asked: f64,
    /// Whether vmtouch is measured, too.
    pub(super) with_vmtouch: bool,
}

/// Times of earlier measurements, in seconds.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) cold: f64,
    pub(super) hot: f64,
}

impl StartBenchmark {
    /// Measures all variants, cold and hot, in one interleaved run.
    pub(super) fn measure(&self, workshop: &Workshop, record: &mut Record) -> Result<()> {
        with_bed(workshop, self.bed, |bed| {
            record.bed = Some(bed.status.clone());
            let plan_file = prepare_plan(self.program, bed, workshop, record)?;
            let mut compare = planned(self.program, bed, &plan_file);
            if self.with_vmtouch {
                let plan = Plan::from_json(record.part("plan")?)?;
                compare.push(self.install_vmtouch(bed, &plan)?);
            }
            let mut arguments = words(["--state", "cold", "--state", "hot", "--runs"]);
            arguments.push(record.runs.to_string());
            record.add("measurement", measure_starts(self.program, bed, workshop, &arguments, &compare)?);
            Ok(())
        })
    }

    /// Puts vmtouch and the list of the plan's files on the bed; returns the command that uses them.
    fn install_vmtouch(&self, bed: &Bed<'_>, plan: &Plan) -> Result<Vec<String>> {
        let vmtouch = find("vmtouch").context("vmtouch is missing\nhint: apt-get install vmtouch")?;
        bed.install(&fs::read(vmtouch)?, VMTOUCH)?;
        bed.install(READ_WHOLE_SCRIPT.as_bytes(), READ_WHOLE)?;
        let list = format!("/var/lib/{}.files", self.program.name);
        let mut paths = plan.regular_files()?.join("\0");
        paths.push('\0');
        fs::write(bed.outside(&list), paths)?;
        Ok(bed.inside(&[&[READ_WHOLE, &list], self.program.words].concat()))
    }

    /// The rows of a record.
    pub(super) fn figures(&self, record: &Record) -> Result<Vec<Figure>> {
        let measurement = Measurement::from_json(record.part("measurement")?)?;
        let plan = Plan::from_json(record.part("plan")?)?;
        let row = |what: &str, asked, command, state| {
            let mut figure = Figure::of_summary(what, asked, measurement.summary(command, state));
            figure.ratio = measurement.comparison(command, state).and_then(|comparison| comparison.estimate());
            figure
        };
        let mut figures = vec![
            row("plain, cold", Asked::Seen(self.seen.cold), PLAIN, State::Cold),
            row("plain, hot", Asked::Seen(self.seen.hot), PLAIN, State::Hot),
            row("with plan, cold", Asked::AtMost(self.asked), PLANNED, State::Cold),
            row("with plan, hot", Asked::Nothing, PLANNED, State::Hot),
            row("with plan by `coldstart-run`, cold", Asked::AtMost(self.asked), PLANNED_SMALL, State::Cold),
            row("with plan by `coldstart-run`, hot", Asked::Nothing, PLANNED_SMALL, State::Hot),
        ];
        if self.with_vmtouch {
            figures.push(row("with vmtouch, cold", Asked::Nothing, WHOLE, State::Cold));
            figures.push(row("with vmtouch, hot", Asked::Nothing, WHOLE, State::Hot));
            for (what, planned) in [("plan", PLANNED), ("plan by `coldstart-run`", PLANNED_SMALL)] {
                let Paired { ratio, pairs } = measurement.ratio(planned, WHOLE, State::Cold);
                let what = format!("{what} / vmtouch, cold");
                figures.push(Figure::of_estimate(what, Unit::Times, Asked::Nothing, ratio, pairs));
            }
        }
        if let Some(bandwidth) = record.bed.as_ref().and_then(model_bandwidth) {
            let hot = measurement.summary(PLAIN, State::Hot).and_then(|summary| summary.median);
            let limit = hot.map(|hot| hot + plan.bytes as f64 / bandwidth);
            figures.push(Figure::new(
                "limit: plain hot + plan's bytes / bandwidth",
                Unit::Seconds,
                Asked::Nothing,
                limit,
            ));
        }
        Ok(figures)
    }
}

/// Puts both launchers on the bed.
pub(super) fn install_launchers(bed: &Bed<'_>, workshop: &Workshop) -> Result<()> {
    bed.install(&fs::read(&workshop.coldstart)?, COLDSTART)?;
    bed.install(&fs::read(&workshop.small_launcher)?, SMALL_LAUNCHER)
}

/// Has the program do its first-start work, records a plan of it on the bed, and returns the plan's place inside.
pub(super) fn prepare_plan(
    program: &Program,
    bed: &Bed<'_>,
    workshop: &Workshop,
    record: &mut Record,
) -> Result<String> {
    install_launchers(bed, workshop)?;
    for _ in 0..2 {
        bed.start(program)?;
    }
    let plan_file = format!("/var/lib/{}.prefetch", program.name);
    let recording = bed
        .inside(&[&[COLDSTART, "prefetch", "record", "--json", "--output", &plan_file, "--"], program.words].concat());
    record.add("recording", workshop.runner.json(&recording, &[0])?);
    // 1: a file of the plan has changed already; the table's notes tell.
    let shown = workshop.runner.json(&bed.inside(&[COLDSTART, "prefetch", "show", "--json", &plan_file]), &[0, 1])?;
    record.add("plan", shown);
    Ok(plan_file)
}

/// The commands that start the program with its plan, by each launcher.
pub(super) fn planned(program: &Program, bed: &Bed<'_>, plan_file: &str) -> Vec<Vec<String>> {
    let by = |launcher: &[&str]| bed.inside(&[launcher, &[plan_file, "--"], program.words].concat());
    vec![by(&[COLDSTART, "prefetch", "run"]), by(&[SMALL_LAUNCHER])]
}

/// Measures the plain start against others. That the program does its work in each of these ways is checked before, and
/// once more after all runs.
pub(super) fn measure_starts(
    program: &Program,
    bed: &Bed<'_>,
    workshop: &Workshop,
    arguments: &[String],
    compare: &[Vec<String>],
) -> Result<Value> {
    for command in compare {
        bed.start_as(command, program)?;
    }
    bed.flush()?;
    bed.forget_output(program)?;
    let measurement = workshop.measure(arguments, compare, &bed.inside(program.words))?;
    bed.check_output(program)?;
    let found = Measurement::from_json(&measurement)?;
    ensure!(!found.summaries.is_empty(), "nothing was measured");
    Ok(measurement)
}

/// The model's transfer speed in bytes a second; `None` for this machine's own disk.
fn model_bandwidth(bed: &Value) -> Option<f64> {
    Some(bed.get("parameters")?.get("bandwidth_mb")?.as_f64()? * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::both_states;
    use serde_json::json;

    fn record(commands: &[&[f64]]) -> Record {
        let mut record = Record::begin(Benchmark::LibreofficeHdd, "2025-01-02", 2).unwrap();
        record.add("measurement", both_states(commands, commands));
        record.add(
            "plan",
            json!({"schema": "coldstart.prefetch/1", "strategy": "blocking", "bytes": 120_000_000, "files": [],
                   "stale_files": 0}),
        );
        record.bed = Some(json!({"kind": "hdd", "parameters": {"model": "hdd", "bandwidth_mb": 120.0}}));
        record
    }

    #[test]
    fn every_variant_has_its_row() {
        let figures =
            Benchmark::LibreofficeHdd.figures(&record(&[&[4.0, 4.2], &[1.0, 1.1], &[0.8, 1.0], &[2.0, 2.2]])).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what.starts_with(what)).unwrap();
        assert_eq!(find("plain, cold").value, Some(4.1));
        assert_eq!(find("with plan, cold").is_met(), Some(true));
        assert_eq!(find("with plan, cold").ratio.map(|ratio| ratio.value), Some(0.25));
        assert_eq!(find("with plan, cold").count, 2);
        assert!((find("plan / vmtouch").value.unwrap() - 0.5).abs() < 1e-9);
        assert_eq!(find("plan / vmtouch").count, 2);
        assert_eq!(find("with plan by `coldstart-run`, cold").value, Some(0.9));
        assert_eq!(find("limit").value, Some(4.1 + 1.0));
    }

    #[test]
    fn a_command_that_never_became_ready_leaves_an_unmet_row() {
        let mut record = record(&[&[4.0, 4.2], &[1.0, 1.1], &[0.8, 1.0], &[2.0, 2.2]]);
        let mut measurement = record.part("measurement").unwrap().clone();
        measurement["summaries"] = json!([]);
        measurement["samples"] = json!([]);
        record.add("measurement", measurement);
        let figures = Benchmark::LibreofficeHdd.figures(&record).unwrap();
        let planned = figures.iter().find(|figure| figure.what == "with plan, cold").unwrap();
        assert_eq!((planned.value, planned.is_met()), (None, Some(false)));
    }

    #[test]
    fn only_a_model_has_a_bandwidth() {
        assert_eq!(model_bandwidth(&json!({"parameters": null})), None);
        assert_eq!(model_bandwidth(&json!({"parameters": {"bandwidth_mb": 250.0}})), Some(250e6));
    }
}
