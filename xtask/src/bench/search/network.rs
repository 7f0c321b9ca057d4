//! `search-store-network`: the store on a network disk, cold, plain and bound.
//!
//! Not obvious: the loader's failed probes are cheap once a directory's names are in memory. Cold, each
//! directory that is looked into costs a read of its own, one after the other, and a network takes its time over each.

use std::path::Path;

use anyhow::Result;
use fs_err as fs;
use serde_json::Value;

use super::super::bed::{Bed, BedKind, image_of, with_image};
use super::super::figure::Figure;
use super::super::measurement::State;
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::workshop::Workshop;
use super::binding::Mode;
use super::store::{PROGRAM, described, start};
use super::variants::{Limits, figures_of_calls, figures_of_times, prepare};
use super::world::store::{Store, build};

/// Expected when cold on a network: twice as fast.
const LIMITS: Limits =
    Limits { name: "soname", total: None, failed: None, library_probes: Some(0.0), ratio: Some(0.5) };

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_store(workshop, record, measure_on_bed)
}

/// Builds the store, makes it a network disk and does `work` there. The disk is gone afterwards, whatever happened.
pub(super) fn with_store(
    workshop: &Workshop,
    record: &mut Record,
    work: impl FnOnce(&Workshop, &mut Record, &Store, &Bed<'_>) -> Result<()>,
) -> Result<()> {
    let directory = empty_directory(workshop, "search-network")?;
    let root = workshop.bed_home().join("root");
    let staging = directory.join("image");
    let store = build(workshop, Path::new(PROGRAM), &staging.join("store"), &root.join("store"))?;
    let image = image_of(workshop, &staging)?;
    with_image(workshop, BedKind::Net, &image, |bed| {
        record.bed = Some(bed.status.clone());
        work(workshop, record, &store, bed)
    })?;
    Ok(fs::remove_dir_all(&directory)?)
}

fn measure_on_bed(workshop: &Workshop, record: &mut Record, store: &Store, bed: &Bed<'_>) -> Result<()> {
    let mut variants = prepare(workshop, &start(store), &[Mode::Soname, Mode::Absolute])?;
    variants.add_patchelf(workshop)?;
    variants.count(workshop, record)?;
    // What binding wrote would otherwise be written beside what is measured.
    bed.flush()?;
    variants.time(workshop, record, "cold")?;
    let mut about = vec![Value::from(described(store))];
    about.extend(variants.about());
    record.add("about", about.into());
    Ok(())
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = figures_of_calls(record, LIMITS, None)?;
    figures.extend(figures_of_times(record, State::Cold, LIMITS)?);
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::search::variants::tests::record;

    #[test]
    fn cold_starts_are_judged() {
        let figures = figures(&record(Benchmark::SearchStoreNetwork, "soname", "cold", [2635, 300, 0])).unwrap();
        assert_eq!(figures.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [true, true]);
        assert_eq!(figures.last().unwrap().what, "soname / plain, cold");
    }
}
