//! `coldstart inspect` against `readelf -rW`, on a very large program whose file is in memory.
//!
//! readelf prints each relocation in a line and does nothing else; inspect adds them up by type and owner, and looks at
//! symbols, unwind tables, initialisers and layout besides. readelf is what one would use without it, and the bar that a
//! tool for large files must clear. Both print to /dev/null.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::measurement::{Measurement, State};
use super::memory::{self, Peaks};
use super::record::Record;
use super::runner::{shown, words};
use super::workshop::Workshop;
use crate::tools::Tool;

/// Debian's Chromium: about 300 MB with over a million relocations. `chromium` on PATH is a script that starts it.
const FILE: &str = "/usr/lib/chromium/chromium";

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[crate::tools::tool("readelf", "binutils"), crate::tools::tool(FILE, "chromium")];

/// Asked for: seconds, ...
const SECONDS: f64 = 0.12;
/// ... part of readelf's time, ...
const OF_READELF: f64 = 0.5;
/// ... bytes of private memory.
const PRIVATE_BYTES: f64 = 60e6;

/// The commands' places in the measurement.
const READELF: usize = 0;
const COLDSTART: usize = 1;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let readelf = words(["readelf", "-rW", FILE]);
    let coldstart = workshop.coldstart(["inspect", FILE]);
    record.add("about", about(workshop)?.into());
    let said = workshop.runner.said(&coldstart)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&coldstart), said.status, said.stderr.trim());
    let inspected = workshop.runner.json(&workshop.coldstart(["inspect", "--json", FILE]), &[0])?;
    record.add("totals", inspected.get("totals").context("`coldstart inspect --json` printed no totals")?.clone());
    let mut arguments = words(["--state", "hot", "--runs"]);
    arguments.push(record.runs.to_string());
    record.add("measurement", workshop.measure(&arguments, std::slice::from_ref(&coldstart), &readelf)?);
    let by_status = memory::by_status(&workshop.runner, &coldstart, record.runs)?;
    let by_mappings = memory::by_mappings(&workshop.runner, &coldstart, record.runs)?;
    record.add("memory", json!({"by_status": by_status, "by_mappings": by_mappings}));
    Ok(())
}

/// What was inspected and with which readelf, a line each.
fn about(workshop: &Workshop) -> Result<Vec<String>> {
    let first_line = |command: Vec<String>| -> Result<String> {
        let said = workshop.runner.said(&command)?;
        Ok(said.stdout.lines().next().unwrap_or("of unknown version").to_owned())
    };
    let package = first_line(words(["dpkg-query", "--show", "chromium"]))?.replace('\t', " ");
    let bytes = fs::metadata(FILE)?.len();
    Ok(vec![
        format!("{FILE} of {:.1} MB ({package})", bytes as f64 / 1e6),
        first_line(words(["readelf", "--version"]))?,
        "private memory looked at every 0.5 ms".to_owned(),
    ])
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let measurement = Measurement::from_json(record.part("measurement")?)?;
    let summary = |command| measurement.summary(command, State::Hot);
    let times = |command| measurement.times(command, State::Hot);
    let ratio = measurement.comparison(COLDSTART, State::Hot).and_then(|comparison| comparison.estimate());
    let pairs = measurement.ratio(COLDSTART, READELF, State::Hot).pairs;
    let mut figures = vec![
        Figure::of_summary("`coldstart inspect`, hot", Asked::AtMost(SECONDS), summary(COLDSTART)),
        Figure::of_spread("`coldstart inspect`, hot: distance of the quartiles", &times(COLDSTART)),
        Figure::of_summary("`readelf -rW`, hot", Asked::Nothing, summary(READELF)),
        Figure::of_spread("`readelf -rW`, hot: distance of the quartiles", &times(READELF)),
        Figure::of_estimate(
            "`coldstart inspect` / `readelf -rW`, hot",
            Unit::Times,
            Asked::AtMost(OF_READELF),
            ratio,
            pairs,
        ),
    ];
    figures.extend(figures_of_memory(record.part("memory")?)?);
    Ok(figures)
}

fn figures_of_memory(memory: &Value) -> Result<Vec<Figure>> {
    let peaks = |way: &str| {
        let runs = memory.get(way).with_context(|| format!("the part `memory` lacks `{way}`"))?;
        Vec::<Peaks>::deserialize(runs).with_context(|| format!("`{way}` holds no peaks"))
    };
    let of = |runs: &[Peaks], which: fn(&Peaks) -> Option<u64>| -> Vec<f64> {
        runs.iter().filter_map(which).map(|bytes| bytes as f64).collect()
    };
    let (by_status, by_mappings) = (peaks("by_status")?, peaks("by_mappings")?);
    Ok(vec![
        Figure::of_peaks(
            "private memory of `coldstart inspect`, greatest (`RssAnon`)",
            Asked::AtMost(PRIVATE_BYTES),
            &of(&by_status, |run| run.anonymous),
        ),
        Figure::of_peaks(
            "the same as `smaps_rollup` has it (`Private_Dirty`)",
            Asked::Nothing,
            &of(&by_mappings, |run| run.private_dirty),
        ),
        Figure::of_peaks(
            "with pages of the mapped file that nobody else has mapped (`Private_Clean`)",
            Asked::Nothing,
            &of(&by_mappings, |run| run.private),
        ),
        Figure::of_peaks("all that is resident (`VmHWM`)", Asked::Nothing, &of(&by_status, |run| run.resident)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    #[test]
    fn times_ratio_and_memory_are_judged() {
        let mut record = Record::begin(Benchmark::InspectChromium, "2025-01-02", 3).unwrap();
        record.add("measurement", sample("hot", &[&[0.40, 0.41, 0.42], &[0.10, 0.13, 0.11]]));
        record.add(
            "memory",
            json!({
                "by_status": [{"looks": 90, "anonymous": 9_000_000, "resident": 98_000_000},
                              {"looks": 95, "anonymous": 61_000_000, "resident": 99_000_000}],
                "by_mappings": [{"looks": 9, "private_dirty": 8_000_000, "private": 97_000_000}, {"looks": 0}],
            }),
        );
        let figures = figures(&record).unwrap();
        let verdicts: Vec<_> = figures.iter().filter_map(Figure::is_met).collect();
        assert_eq!(verdicts, [true, true, false]);
        let find = |what: &str| figures.iter().find(|figure| figure.what.contains(what)).unwrap();
        assert_eq!(find("`coldstart inspect`, hot").value, Some(0.11));
        assert!((find("`coldstart inspect`, hot: distance").value.unwrap() - 0.015).abs() < 1e-9);
        assert_eq!((find("/ `readelf").value, find("/ `readelf").count), (Some(0.25), 3));
        assert_eq!((find("RssAnon").value, find("RssAnon").count), (Some(61e6), 2));
        assert_eq!((find("Private_Clean").value, find("Private_Clean").count), (Some(97e6), 1));
    }
}
