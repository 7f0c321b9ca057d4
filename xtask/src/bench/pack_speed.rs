//! How long `coldstart pack` takes, proof included, beside elfhack's packing, which proves nothing; and how much memory.
//!
//! The files are in memory. The time is the whole process' less the final flush to disk, which elfhack does not do and
//! which says more about the disk than about either.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::memory::{self, Peaks};
use super::pack_files::{Packing, SAMPLES, Sample, about_elfhack, elfhack, empty_directory, pack, pack_by_elfhack};
use super::record::Record;
use super::runner::shown;
use super::statistics::ratio_estimate;
use super::workshop::{Workshop, text};

/// Asked for, in seconds on two processors.
const SECONDS: [(&str, f64); 2] = [("chromium", 1.2), ("libLLVM-14", 0.5)];
/// Asked for: all resident memory, the mapped file included, by the file's size.
const RESIDENT_BY_SIZE: f64 = 1.5;
/// Asked for: the time, proof included, by elfhack's.
const OF_ELFHACK: f64 = 1.0;
/// The file whose packing is looked at for memory.
const LARGEST: &Sample = &SAMPLES[0];

/// One file packed by both, one after the other.
#[derive(Debug, Serialize, Deserialize)]
struct Round {
    name: String,
    coldstart: Packing,
    /// `None` without elfhack.
    elfhack: Option<Packing>,
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "pack-speed")?;
    let mut rounds = Vec::new();
    // The first round brings everything into memory.
    for round in 0..=record.runs {
        for sample in &SAMPLES {
            let measured = one_round(workshop, sample, &directory, round % 2 == 1)?;
            if round > 0 {
                rounds.push(measured);
            }
        }
    }
    record.add("rounds", serde_json::to_value(rounds)?);
    record.add("memory", memory_of(workshop, &directory, record.runs)?);
    record.add("about", vec!["time of the process less its flush to disk".to_owned(), about_elfhack()].into());
    fs::remove_dir_all(&directory)?;
    Ok(())
}

fn one_round(workshop: &Workshop, sample: &Sample, directory: &Path, elfhack_first: bool) -> Result<Round> {
    let file = Path::new(sample.path);
    let by_elfhack = || {
        let elfhack = elfhack().map(|elfhack| pack_by_elfhack(workshop, &elfhack, file, &directory.join("elfhacked")));
        elfhack.transpose()
    };
    let first = elfhack_first.then(by_elfhack).transpose()?;
    let coldstart = pack(workshop, &[], file, &directory.join("packed"))?;
    let elfhack = first.map_or_else(by_elfhack, Ok)?;
    Ok(Round { name: sample.name.to_owned(), coldstart, elfhack })
}

fn memory_of(workshop: &Workshop, directory: &Path, runs: u32) -> Result<Value> {
    let output = directory.join("packed");
    let command = workshop.coldstart(["pack", LARGEST.path, "-o", &text(&output)]);
    let mut peaks = Vec::new();
    for _ in 0..runs {
        if output.exists() {
            fs::remove_file(&output)?;
        }
        peaks.extend(memory::by_status(&workshop.runner, &command, 1)?);
        ensure!(output.exists(), "`{}` left no file", shown(&command));
    }
    Ok(json!({"size": fs::metadata(LARGEST.path)?.len(), "peaks": peaks}))
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let rounds = Vec::<Round>::deserialize(record.part("rounds")?).context("`rounds` holds no packings")?;
    let mut figures = Vec::new();
    for sample in &SAMPLES {
        let rounds: Vec<&Round> = rounds.iter().filter(|round| round.name == sample.name).collect();
        figures.extend(figures_of(sample.name, &rounds));
    }
    figures.extend(figures_of_memory(record.part("memory")?)?);
    Ok(figures)
}

fn figures_of(name: &str, rounds: &[&Round]) -> Vec<Figure> {
    let elfhacks = |round: &Round| round.elfhack.as_ref().and_then(Packing::seconds_without_flush);
    let ours: Vec<f64> = rounds.iter().filter_map(|round| round.coldstart.seconds_without_flush()).collect();
    let theirs: Vec<f64> = rounds.iter().filter_map(|round| elfhacks(round)).collect();
    let asked =
        SECONDS.iter().find(|(asked, _)| *asked == name).map_or(Asked::Nothing, |(_, limit)| Asked::AtMost(*limit));
    let times =
        |what: &str, asked, times: &[f64]| Figure::of_times(format!("{name}: {what}"), Unit::Seconds, asked, times);
    let mut figures = vec![times("packed and proven", asked, &ours)];
    if theirs.is_empty() {
        return figures;
    }
    figures.push(times("packed by elfhack", Asked::Nothing, &theirs));
    let pair = |round: &&Round| Some((round.coldstart.seconds_without_flush()?, elfhacks(round)?));
    let pairs: Vec<(f64, f64)> = rounds.iter().filter_map(pair).collect();
    let what = format!("{name}: packed and proven / packed by elfhack");
    figures.push(Figure::of_estimate(
        what,
        Unit::Times,
        Asked::AtMost(OF_ELFHACK),
        ratio_estimate(&pairs),
        pairs.len(),
    ));
    figures
}

fn figures_of_memory(memory: &Value) -> Result<[Figure; 3]> {
    let size = memory.get("size").and_then(Value::as_f64).context("`memory` lacks the file's size")?;
    let peaks = memory.get("peaks").context("`memory` lacks peaks")?;
    let peaks = Vec::<Peaks>::deserialize(peaks).context("`memory` holds no peaks")?;
    let of = |which: fn(&Peaks) -> Option<u64>| -> Vec<f64> {
        peaks.iter().filter_map(which).map(|bytes| bytes as f64).collect()
    };
    let name = LARGEST.name;
    let resident = Figure::of_peaks(
        format!("{name}: all that is resident (`VmHWM`), greatest"),
        Asked::Nothing,
        &of(|run| run.resident),
    );
    let by_size = Figure {
        count: resident.count,
        ..Figure::new(
            format!("{name}: the same by the file's size"),
            Unit::Times,
            Asked::AtMost(RESIDENT_BY_SIZE),
            resident.value.map(|bytes| bytes / size),
        )
    };
    let anonymous = Figure::of_peaks(
        format!("{name}: of that, what belongs to no file (`RssAnon`), greatest"),
        Asked::Nothing,
        &of(|run| run.anonymous),
    );
    Ok([resident, by_size, anonymous])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn times_lack_the_flush_and_crashes_have_none() {
        let ours = |seconds: f64| json!({"seconds": seconds, "size": 9, "end": "", "said": {"files": [{"seconds": {"flush": 0.5}}]}});
        let theirs = |seconds: f64, size: Option<u64>| json!({"seconds": seconds, "size": size, "end": ""});
        let round =
            |name: &str, seconds, elfhack| json!({"name": name, "coldstart": ours(seconds), "elfhack": elfhack});
        let mut record = Record::begin(Benchmark::PackSpeed, "2025-01-02", 2).unwrap();
        record.add(
            "rounds",
            json!([
                round("chromium", 1.5, theirs(0.4, None)),
                round("chromium", 1.9, theirs(0.4, None)),
                round("libLLVM-14", 0.7, theirs(0.4, Some(8))),
                round("libLLVM-14", 0.7, theirs(0.4, Some(8))),
                round("libjvm", 0.6, Value::Null),
            ]),
        );
        record.add("memory", json!({"size": 1000, "peaks": [{"looks": 3, "anonymous": 100, "resident": 1400}]}));
        let figures = figures(&record).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what == what);
        let chromium = find("chromium: packed and proven").unwrap();
        assert_eq!((chromium.value, chromium.is_met()), (Some(1.2), Some(true)));
        assert!(find("chromium: packed by elfhack").is_none() && find("libjvm: packed by elfhack").is_none());
        let ratio = find("libLLVM-14: packed and proven / packed by elfhack").unwrap();
        assert!((ratio.value.unwrap() - 0.5).abs() < 1e-9 && ratio.is_met() == Some(true), "{ratio:?}");
        assert_eq!(find("chromium: the same by the file's size").unwrap().value, Some(1.4));
    }
}
