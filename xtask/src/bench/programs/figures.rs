//! The table of the programs: times, the limit of each, and how near the plans come to it.
//!
//! The limit is what no start can beat that reads what it uses and computes meanwhile: the longer of the hot start and of the
//! transfer of the bytes that were really used, at the disk's full speed.

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::{Measurement, State, Verdict};
use super::super::record::Record;
use super::super::statistics::median;

/// The ways to start, in the order of the measurement.
const WAYS: [&str; 3] = ["plain", "default plan", "exact plan"];
const PLAIN: usize = 0;
const EXACT: usize = 2;
/// A cold start with an exact plan may take so much of the limit, and so many seconds beside.
const OF_LIMIT: f64 = 1.25;
const BESIDE_LIMIT: f64 = 0.060;

/// A program on a disk.
#[derive(Debug, Deserialize)]
pub(super) struct Case {
    pub(super) bed: String,
    pub(super) program: String,
    /// 10^6 bytes a second; of a model only.
    bandwidth_mb: Option<f64>,
    pub(super) result: Value,
}

/// What is told of a bed when all its programs are through.
#[derive(Default)]
struct OfBed {
    programs: usize,
    slower: usize,
    of_limit: Vec<f64>,
    of_allowed: Vec<f64>,
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let cases = cases(record)?;
    let mut figures = Vec::new();
    let mut beds: Vec<(String, OfBed)> = Vec::new();
    for case in &cases {
        if beds.last().is_none_or(|(bed, _)| *bed != case.bed) {
            beds.push((case.bed.clone(), OfBed::default()));
        }
        let Some((_, of_bed)) = beds.last_mut() else { continue };
        of_bed.programs += 1;
        figures.extend(case.figures(of_bed)?);
    }
    for (bed, of_bed) in beds {
        figures.extend(of_bed.figures(&bed));
    }
    Ok(figures)
}

/// The cases of a record.
///
/// # Errors
/// When there are none.
pub(super) fn cases(record: &Record) -> Result<Vec<Case>> {
    Vec::<Case>::deserialize(record.part("cases")?).context("`cases` holds no cases")
}

impl Case {
    fn figures(&self, of_bed: &mut OfBed) -> Result<Vec<Figure>> {
        let name = self.name();
        if let Some(figure) = self.not_measured() {
            return Ok(vec![figure]);
        }
        let measurement = Measurement::from_json(&self.result["measurement"])?;
        let mut ways = WAYS;
        ways[EXACT] = self.exact_way();
        let (mut figures, is_slower) = self.of_ways(&measurement, &ways);
        of_bed.slower += usize::from(is_slower);
        let median = |command, state| measurement.summary(command, state).and_then(|summary| summary.median);
        let limit = median(PLAIN, State::Hot).map(|hot| hot.max(self.transfer().unwrap_or(0.0)));
        let used = self.used().map_or_else(String::new, |used| format!(" ({:.1} MB used)", used / 1e6));
        figures.push(Figure::new(format!("{name}: limit{used}"), Unit::Seconds, Asked::Nothing, limit));
        if let Some((exact, limit)) = median(EXACT, State::Cold).zip(limit) {
            let (of_limit, of_allowed) = (exact / limit, exact / (OF_LIMIT * limit + BESIDE_LIMIT));
            of_bed.of_limit.push(of_limit);
            of_bed.of_allowed.push(of_allowed);
            let what = format!("{name}: exact plan, cold / limit");
            figures.push(Figure::new(what, Unit::Times, Asked::Nothing, Some(of_limit)));
        }
        Ok(figures)
    }

    /// How its rows begin.
    pub(super) fn name(&self) -> String {
        format!("{}, {}", self.program, self.bed)
    }

    /// The row of a case that has no measurement.
    pub(super) fn not_measured(&self) -> Option<Figure> {
        let error = self.result["error"].as_str()?;
        // In a cell of a table.
        let error = error.replace(['|', '\n'], " ");
        let what = format!("{}: not measured: {error}", self.name());
        Some(Figure::new(what, Unit::Seconds, Asked::AtMost(0.0), None))
    }

    /// The times of each way to start, cold and then hot, and whether one is shown to be slower than the first.
    pub(super) fn of_ways(&self, measurement: &Measurement, ways: &[&str]) -> (Vec<Figure>, bool) {
        let mut figures = Vec::new();
        let mut is_slower = false;
        for (state, shown) in [(State::Cold, "cold"), (State::Hot, "hot")] {
            for (command, way) in ways.iter().enumerate() {
                let summary = measurement.summary(command, state);
                let what = format!("{}: {way}, {shown}", self.name());
                let mut figure = Figure::of_summary(what, Asked::Nothing, summary);
                let comparison = measurement.comparison(command, state);
                figure.ratio = comparison.and_then(|comparison| comparison.estimate());
                is_slower |= comparison.is_some_and(|comparison| comparison.verdict == Verdict::Slower);
                figures.push(figure);
            }
        }
        (figures, is_slower)
    }

    /// `--exact` takes the cached pages where that is predicted to be faster.
    pub(super) fn exact_way(&self) -> &'static str {
        let taken = self.result["recorded"]["exact"]["choice"]["taken"].as_str();
        if taken == Some("cached") { "exact plan (took the cached pages)" } else { "exact plan" }
    }

    /// Bytes of the pages that the program used.
    fn used(&self) -> Option<f64> {
        self.result["recorded"]["exact"]["choice"]["exact"]["used_bytes"].as_f64()
    }

    /// Seconds to transfer these.
    fn transfer(&self) -> Option<f64> {
        Some(self.used()? / self.bandwidth()?)
    }

    /// Bytes a second: the model's or, of a real disk, those that the recording found.
    pub(super) fn bandwidth(&self) -> Option<f64> {
        let found = || self.result["recorded"]["device"]["bytes_per_second"].as_f64();
        self.bandwidth_mb.map(|megabytes| megabytes * 1e6).or_else(found)
    }
}

impl OfBed {
    fn figures(&self, bed: &str) -> Vec<Figure> {
        let of_programs = format!("{bed}, median of {} programs", self.of_limit.len());
        let row = |what: &str, asked, values: &[f64]| {
            let figure = Figure::new(format!("{of_programs}: {what}"), Unit::Times, asked, median(values));
            Figure { count: values.len(), range: super::super::statistics::range(values), ..figure }
        };
        let asked = if bed == "net" { Asked::AtMost(1.0) } else { Asked::Nothing };
        let slower = format!("{bed}: of {} programs, shown to be slower with a plan", self.programs);
        vec![
            row("exact plan, cold / limit", Asked::Nothing, &self.of_limit),
            row("exact plan, cold / (1.25 x limit + 60 ms)", asked, &self.of_allowed),
            Figure::new(slower, Unit::Count, Asked::AtMost(0.0), Some(self.slower as f64)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::both_states;
    use serde_json::json;

    fn case(bed: &str, exact: &[f64]) -> Value {
        let hot: [&[f64]; 3] = [&[0.8, 0.8]; 3];
        let measurement = both_states(&[&[4.0, 4.2], &[1.5, 1.5], exact], &hot);
        let recorded = json!({"device": {"bytes_per_second": 1_000_000_000_u64},
                              "exact": {"choice": {"exact": {"used_bytes": 250_000_000}}}});
        let bandwidth = if bed == "net" { json!(250.0) } else { Value::Null };
        json!({"bed": bed, "program": "a", "bandwidth_mb": bandwidth,
               "result": {"recorded": recorded, "measurement": measurement}})
    }

    #[test]
    fn the_limit_is_the_longer_of_computing_and_transfer() {
        let mut record = Record::begin(Benchmark::Programs, "2025-01-02", 2).unwrap();
        let failed = json!({"bed": "net", "program": "b", "bandwidth_mb": 250.0, "result": {"error": "no | such"}});
        record.add("cases", json!([case("net", &[1.2, 1.2]), failed, case("disk", &[1.0, 1.0])]));
        let figures = figures(&record).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what == what).unwrap();
        assert_eq!(find("a, net: limit (250.0 MB used)").value, Some(1.0));
        assert_eq!(find("a, net: exact plan, cold / limit").value, Some(1.2));
        assert_eq!(find("a, disk: limit (250.0 MB used)").value, Some(0.8));
        let allowed = find("net, median of 1 programs: exact plan, cold / (1.25 x limit + 60 ms)");
        assert_eq!(allowed.is_met(), Some(true));
        assert_eq!(find("b, net: not measured: no   such").is_met(), Some(false));
        assert_eq!(find("net: of 2 programs, shown to be slower with a plan").is_met(), Some(true));
    }
}
