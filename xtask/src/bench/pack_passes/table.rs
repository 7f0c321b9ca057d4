//! What a record of `pack-passes` shows: the figures that were asked for, and one table of all files and passes.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::super::figure::{Asked, Figure, Unit};
use super::super::record::Record;
use super::super::statistics::{median, ratio_estimate};
use super::{ALL_SAFE, BEDS, ORIGINAL, OfFile, OfWay};

/// Size of libmergedlo with everything safe: elfhack's best.
const LIBMERGEDLO: f64 = 60.844e6;
/// Bytes of a page of memory.
const PAGE: u64 = 4096;

fn files(record: &Record) -> Result<Vec<OfFile>> {
    Vec::<OfFile>::deserialize(record.part("files")?).context("`files` holds no files")
}

/// The figures that were asked for; [`table`] has the others.
pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for file in &files(record)? {
        let [Some(original), Some(all)] = [ORIGINAL, ALL_SAFE].map(|way| file.ways.get(way)) else { continue };
        let asked = if file.name == "libmergedlo" { Asked::AtMost(LIBMERGEDLO) } else { Asked::Nothing };
        let size = all.size.map(|size| size as f64);
        figures.push(Figure::new(format!("{}: size with all-safe", file.name), Unit::ExactMegabytes, asked, size));
        let cycles: Vec<(f64, f64)> =
            all.cycles.iter().zip(&original.cycles).map(|(&all, &original)| (all as f64, original as f64)).collect();
        figures.push(Figure::of_estimate(
            format!("{}: the loader's cycles with all-safe / as it is", file.name),
            Unit::Times,
            Asked::Nothing,
            ratio_estimate(&cycles),
            cycles.len(),
        ));
    }
    Ok(figures)
}

/// All files and passes, in Markdown. Times and cycles are medians.
///
/// # Errors
/// When the record is of another shape.
pub(in crate::bench) fn table(record: &Record) -> Result<String> {
    let mut text = "| file | pass | size MB | pages dirtied | look-ups | loader's cycles, 10⁶ | hot ms |".to_owned();
    for kind in BEDS {
        let _ = write!(text, " {0}: cold ms | {0}: read MB |", kind.name());
    }
    let _ = write!(text, "\n|{}\n", "---|".repeat(7 + 2 * BEDS.len()));
    for file in &files(record)? {
        for way in &file.ways {
            text += &row(&file.name, way);
        }
    }
    Ok(text)
}

fn row(name: &str, way: &OfWay) -> String {
    let shown =
        |value: Option<f64>, digits: usize| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.digits$}"));
    let of_bytes = |bytes: &[u64]| median(&bytes.iter().map(|&bytes| bytes as f64).collect::<Vec<_>>());
    let Some(size) = way.size else {
        return format!("| {name} | {} | refused |{}\n", way.way, " |".repeat(4 + 2 * BEDS.len()));
    };
    let mut cells = vec![
        shown(Some(size as f64 / 1e6), 2),
        shown(way.dirty_bytes.map(|bytes| (bytes / PAGE) as f64), 0),
        shown(way.look_ups.map(|look_ups| look_ups as f64), 0),
        shown(of_bytes(&way.cycles).map(|cycles| cycles / 1e6), 1),
        shown(median(&way.hot).map(|seconds| seconds * 1e3), 1),
    ];
    for bed in &way.cold {
        cells.push(shown(median(&bed.seconds).map(|seconds| seconds * 1e3), 0));
        cells.push(shown(of_bytes(&bed.bytes).map(|bytes| bytes / 1e6), 2));
    }
    format!("| {name} | {} | {} |\n", way.way, cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::super::super::benchmark::Benchmark;
    use super::super::{OfBed, WAYS};
    use super::*;

    #[test]
    fn every_row_of_the_table_has_as_many_cells_as_its_head() {
        let way = |way: &str, size| OfWay {
            way: way.to_owned(),
            packing: None,
            size,
            look_ups: size.map(|_| 7),
            dirty_bytes: size.map(|_| 8192),
            cycles: vec![2_000_000, 4_000_000],
            hot: vec![0.001, 0.002],
            cold: BEDS.map(|kind| OfBed { bed: kind.name().into(), seconds: vec![1.0], bytes: vec![5_000_000] }).into(),
        };
        let ways = WAYS.map(|name| way(name, (name != "stub").then_some(60_000_000))).into();
        let file = OfFile { name: "libmergedlo".into(), size: 70_000_000, ways };
        let mut record = Record::begin(Benchmark::PackPasses, "2025-01-02", 2).unwrap();
        record.add("files", serde_json::to_value([file]).unwrap());
        let text = table(&record).unwrap();
        let cells: Vec<usize> = text.lines().map(|line| line.matches('|').count()).collect();
        assert_eq!(cells, [14; 2 + WAYS.len()], "{text}");
        assert!(text.contains("| libmergedlo | relr | 60.00 | 2 | 7 | 3.0 | 1.5 | 1000 | 5.00 |"), "{text}");
        assert!(text.contains("| libmergedlo | stub | refused |"), "{text}");
        let figures = figures(&record).unwrap();
        assert_eq!(figures.iter().map(Figure::is_met).collect::<Vec<_>>(), [Some(true), None]);
    }
}
