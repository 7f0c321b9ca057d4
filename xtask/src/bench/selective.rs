//! How near a selective eviction comes to dropping everything, told by what LibreOffice's next start reads; and what it
//! takes from others.
//!
//! Reads are counted at the bed's own device, so nobody else's are among them. The others' files lie on this machine's
//! disk and have been read whole; what is missing of them after three selective starts is what the eviction took,
//! together with what the kernel takes back by itself (some reclaim unused pages within seconds), which a rest of the same
//! length shows. Both come in turns.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::{Value, json};

use super::bed::{Bed, BedKind, with_bed};
use super::figure::{Asked, Figure, Unit};
use super::program::LIBREOFFICE;
use super::record::Record;
use super::runner::words;
use super::statistics::{mean_estimate, median, range};
use super::workshop::{Workshop, text};

/// What stands for other programs: some hundred files of this machine, of which at most so many bytes are taken.
const OTHERS: &str = "/usr/lib";
const OTHERS_BYTES: u64 = 512 << 20;
/// Looks at the others' files, after starts and after as long a rest.
const ROUNDS: u32 = 5;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_bed(workshop, BedKind::Disk, |bed| {
        record.bed = Some(bed.status.clone());
        for _ in 0..2 {
            bed.start(&LIBREOFFICE)?;
        }
        bed.flush()?;
        let mut arguments = words(["--state", "cold", "--state", "selective", "--runs"]);
        arguments.push(record.runs.to_string());
        record.add("measurement", workshop.measure(&arguments, &[], &bed.inside(LIBREOFFICE.words))?);
        bed.check_output(&LIBREOFFICE)?;
        let alone: Result<Vec<u64>> = (0..record.runs).map(|_| reads_after_files_alone(bed, workshop)).collect();
        record.add("files_alone", json!(alone?));
        let others = workshop.directory.join("others");
        fs::write(&others, others_files()?.join("\n"))?;
        let rounds: Result<Vec<Value>> = (0..ROUNDS).map(|_| others_kept(bed, workshop, &others)).collect();
        record.add("others", rounds?.into());
        Ok(())
    })
}

/// Evicts all files of the image, and nothing else; then counts what a start reads.
fn reads_after_files_alone(bed: &Bed<'_>, workshop: &Workshop) -> Result<u64> {
    bed.start(&LIBREOFFICE)?;
    let root = text(&bed.outside("/"));
    // 1: something stayed, such as what the kernel still writes.
    workshop.runner.json(&workshop.coldstart(["pagecache", "evict", "--json", "--sync", "-x", &root]), &[0, 1])?;
    let before = requests(bed)?;
    bed.start(&LIBREOFFICE)?;
    Ok(requests(bed)?.saturating_sub(before))
}

/// Read requests completed by the bed's device (`Documentation/block/stat.rst`).
fn requests(bed: &Bed<'_>) -> Result<u64> {
    let device = bed.status["device"].as_str().context("the bed names no device")?;
    let name = device.trim_start_matches("/dev/");
    let text = fs::read_to_string(format!("/sys/block/{name}/stat"))?;
    text.split_whitespace().next().and_then(|field| field.parse().ok()).context("a device without counters")
}

/// What of the others' pages is gone after three selective starts, and after a rest of the same length.
fn others_kept(bed: &Bed<'_>, workshop: &Workshop, list: &Path) -> Result<Value> {
    let files = fs::read_to_string(list)?;
    let resident = || -> Result<u64> {
        let mut command = workshop.coldstart(["pagecache", "show", "--json", "--"]);
        command.extend(files.lines().map(str::to_owned));
        let shown = workshop.runner.json(&command, &[0])?;
        shown["total"]["resident_pages"].as_u64().context("no number of resident pages")
    };
    let gone_after = |work: &dyn Fn() -> Result<()>| -> Result<f64> {
        for file in files.lines() {
            fs::read(file)?;
        }
        let before = resident()?;
        work()?;
        Ok((before as f64 - resident()? as f64) / before as f64)
    };
    let clock = std::time::Instant::now();
    let starts = words(["--state", "selective", "--runs", "3"]);
    let selective = gone_after(&|| workshop.measure(&starts, &[], &bed.inside(LIBREOFFICE.words)).map(|_| ()))?;
    let took = clock.elapsed();
    let resting = gone_after(&|| {
        std::thread::sleep(took);
        Ok(())
    })?;
    Ok(json!({"selective": selective, "resting": resting, "seconds": took.as_secs_f64()}))
}

/// Files of this machine that LibreOffice in the bed has nothing to do with, largest directories first come.
fn others_files() -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut bytes = 0;
    for entry in walkdir::WalkDir::new(OTHERS).same_file_system(true).sort_by_file_name() {
        let entry = entry?;
        let length = entry.metadata().map_or(0, |metadata| metadata.len());
        let Some(path) = entry.path().to_str().filter(|_| entry.file_type().is_file() && length >= 1 << 18) else {
            continue;
        };
        bytes += length;
        files.push(path.to_owned());
        if bytes >= OTHERS_BYTES {
            break;
        }
    }
    ensure!(!files.is_empty(), "there are no files below {OTHERS}");
    Ok(files)
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let measurement = record.part("measurement")?;
    let device = bed_number(record, measurement);
    let cold = reads(measurement, "cold", device.as_deref());
    let selective = reads(measurement, "selective", device.as_deref());
    let alone: Vec<f64> = record.list("files_alone")?.iter().filter_map(Value::as_f64).collect();
    let row = |what: &str, asked, reads: &[f64]| Figure {
        mean: mean_estimate(reads),
        count: reads.len(),
        range: range(reads),
        ..Figure::new(what, Unit::Count, asked, median(reads))
    };
    // Asked for were 2,130 reads where dropping everything led to 2,278: the same part of what it leads to here.
    let asked = median(&cold).map_or(Asked::Nothing, |cold| Asked::AtLeast(cold * 2130.0 / 2278.0));
    let mut figures = vec![
        row("reads after dropping everything", Asked::Seen(2278.0), &cold),
        row("reads after evicting files alone", Asked::Seen(2044.0), &alone),
        row("reads of selective starts", asked, &selective),
    ];
    let others = record.list("others")?;
    let gone = |name: &str| -> Vec<f64> { others.iter().filter_map(|round| round[name].as_f64()).collect() };
    let taken: Vec<f64> =
        gone("selective").iter().zip(gone("resting")).map(|(selective, resting)| selective - resting).collect();
    for (what, asked, parts) in [
        ("part of other files' pages gone after three selective starts", Asked::Nothing, gone("selective")),
        ("the same after a rest of the same length", Asked::Nothing, gone("resting")),
        ("the difference: taken by the eviction", Asked::AtMost(0.01), taken),
    ] {
        let figure = Figure::new(what, Unit::Times, asked, median(&parts));
        figures.push(Figure { mean: mean_estimate(&parts), count: parts.len(), range: range(&parts), ..figure });
    }
    Ok(figures)
}

/// The bed's device among those of the measurement.
fn bed_number(record: &Record, measurement: &Value) -> Option<String> {
    let name = record.bed.as_ref()?["device"].as_str()?.trim_start_matches("/dev/").to_owned();
    let devices = measurement["machine"]["devices"].as_array()?;
    let device = devices.iter().find(|device| device["name"] == name.as_str())?;
    device["number"].as_str().map(str::to_owned)
}

/// Requests to the device in the counted samples of a state.
fn reads(measurement: &Value, state: &str, device: Option<&str>) -> Vec<f64> {
    let samples = measurement["samples"].as_array().map_or(&[][..], Vec::as_slice);
    let counted = samples.iter().filter(|sample| sample["state"] == state && sample["used"]["use"] == "counted");
    let of_device = |sample: &Value| {
        let devices = sample["devices"].as_array()?;
        devices.iter().find(|reads| reads["device"].as_str() == device)?["requests"].as_f64()
    };
    counted.filter_map(of_device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn only_the_beds_own_reads_count() {
        let mut record = Record::begin(Benchmark::Selective, "2025-01-02", 2).unwrap();
        record.bed = Some(json!({"device": "/dev/loop3"}));
        let sample = |state: &str, used: &str, requests: u64| {
            json!({"state": state, "used": {"use": used}, "devices": [
                {"device": "254:0", "requests": 9999}, {"device": "7:3", "requests": requests}]})
        };
        record.add(
            "measurement",
            json!({
                "machine": {"devices": [{"name": "vda", "number": "254:0"}, {"name": "loop3", "number": "7:3"}]},
                "samples": [sample("cold", "counted", 2278), sample("cold", "contradicts", 5),
                            sample("selective", "counted", 2140), sample("selective", "warm-up", 0)],
            }),
        );
        record.add("files_alone", json!([2040, 2044]));
        record.add("others", json!([{"selective": 0.03, "resting": 0.01}, {"selective": 0.05, "resting": 0.02}]));
        let figures = figures(&record).unwrap();
        let values: Vec<_> = figures.iter().map(|figure| (figure.value.unwrap(), figure.is_met())).collect();
        assert_eq!(values[..3], [(2278.0, None), (2042.0, None), (2140.0, Some(true))]);
        assert!((values[3].0 - 0.04).abs() < 1e-9 && (values[4].0 - 0.015).abs() < 1e-9);
        assert!((values[5].0 - 0.025).abs() < 1e-9 && values[5].1 == Some(false));
    }
}
