//! `search-synthetic`: a start that is nearly all search, plain and bound.

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::State;
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::workshop::Workshop;
use super::binding::Mode;
use super::calls::processor_directories;
use super::start::Start;
use super::variants::{Limits, figures_of_calls, figures_of_times, prepare};
use super::world::synthetic::{COUNT, build};

/// Calls of the plain program, all and failed, when such a world was first measured.
const SEEN: (f64, f64) = (15_738.0, 14_326.0);
/// The loader tries a number of subdirectories in a directory that depends on the processor; in the directory of links it finds
/// everything in the first one.
const LIMITS: Limits =
    Limits { name: "soname", total: Some(1440.0), failed: Some(22.0), library_probes: Some(0.0), ratio: Some(0.30) };
/// Subdirectories that the loader tried when such a world was first measured.
const PROCESSOR_DIRECTORIES: f64 = 10.0;

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "search-synthetic")?;
    let world = build(&workshop.runner, &directory)?;
    let plain = Start::new(&world.program);
    let first = world.directories.first().context("a world without directories")?;
    record.add("processor_folders", processor_directories(workshop, &plain, first)?.into());
    let mut variants = prepare(workshop, &plain, &Mode::ALL)?;
    variants.add_patchelf(workshop)?;
    variants.count(workshop, record)?;
    variants.time(workshop, record, "hot")?;
    let mut about =
        vec![Value::from(format!("{COUNT} libraries, each in one of {} directories", world.directories.len()))];
    about.extend(variants.about());
    record.add("about", about.into());
    Ok(())
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let directories = record.part("processor_folders")?.as_f64().context("`processor_folders` is not a number")?;
    let what = "subfolders for processors that the loader tries in a folder";
    let seen = Asked::Seen(PROCESSOR_DIRECTORIES);
    let mut figures = vec![Figure::new(what, Unit::Count, seen, Some(directories))];
    figures.extend(figures_of_calls(record, LIMITS, Some(SEEN))?);
    figures.extend(figures_of_times(record, State::Hot, LIMITS)?);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::search::variants::tests::record;

    #[test]
    fn calls_and_times_are_judged() {
        let verdicts = |calls: u64| -> Vec<bool> {
            let mut record = record(Benchmark::SearchSynthetic, "soname", "hot", [calls, 1, 0]);
            record.add("processor_folders", 18.into());
            figures(&record).unwrap().iter().filter_map(Figure::is_met).collect()
        };
        assert_eq!(verdicts(1446), [false, true, true, true]);
        assert_eq!(verdicts(1409), [true, true, true, true]);
    }
}
