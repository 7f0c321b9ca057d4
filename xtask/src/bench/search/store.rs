//! `search-store`: a real program in a store of packages, plain and bound.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::measurement::State;
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::words;
use super::super::statistics::{median, range};
use super::super::workshop::Workshop;
use super::binding::Mode;
use super::cycles::{self, Cycles};
use super::start::Start;
use super::variants::{Limits, Variants, figures_of_calls, figures_of_times, names, prepare};
use super::world::store::{Store, build};

/// A GTK program with 138 libraries that needs no display to tell its version.
pub(super) const PROGRAM: &str = "/usr/bin/inkscape";

const LIMITS: Limits =
    Limits { name: "soname", total: None, failed: None, library_probes: Some(0.0), ratio: Some(0.78) };
/// Relocation may take so much longer than in the plain program.
const OF_PLAIN_RELOCATION: f64 = 1.03;

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "search-store")?;
    let store = build(workshop, Path::new(PROGRAM), &directory, &directory)?;
    let mut variants = prepare(workshop, &start(&store), &Mode::ALL)?;
    variants.add_patchelf(workshop)?;
    variants.count(workshop, record)?;
    variants.time(workshop, record, "hot")?;
    let rounds: Vec<Vec<Cycles>> =
        (0..record.runs).map(|round| cycles_of(workshop, &variants, round)).collect::<Result<_>>()?;
    record.add("cycles", serde_json::to_value(rounds)?);
    let mut about = vec![Value::from(described(&store))];
    about.extend(variants.about());
    record.add("about", about.into());
    Ok(())
}

/// How the program of a store is started.
pub(super) fn start(store: &Store) -> Start {
    let mut start = Start::new(&store.program);
    start.arguments = words(["--version"]);
    start
}

/// What a store holds, on one line.
pub(super) fn described(store: &Store) -> String {
    format!(
        "{PROGRAM} --version with {} libraries; {} objects in {} directories, {} entries of RUNPATH",
        store.loaded, store.objects, store.directories, store.runpath_entries
    )
}

/// The cycles of each variant, in their order; the order of starting changes by round.
fn cycles_of(workshop: &Workshop, variants: &Variants, round: u32) -> Result<Vec<Cycles>> {
    let count = variants.all.len();
    let mut cycles = vec![Cycles::default(); count];
    for step in 0..count {
        let forwards = (round as usize).is_multiple_of(2);
        let place = (round as usize / 2 + if forwards { step } else { count - 1 - step }) % count;
        if let (Some(variant), Some(cycles)) = (variants.all.get(place), cycles.get_mut(place)) {
            *cycles = cycles::of(workshop, &variant.start)?;
        }
    }
    Ok(cycles)
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = figures_of_calls(record, LIMITS, None)?;
    figures.extend(figures_of_times(record, State::Hot, LIMITS)?);
    figures.extend(figures_of_cycles(record)?);
    Ok(figures)
}

/// Medians, for a start beside which something else ran takes many more cycles.
fn figures_of_cycles(record: &Record) -> Result<Vec<Figure>> {
    let rounds = Vec::<Vec<Cycles>>::deserialize(record.part("cycles")?).context("`cycles` holds no cycles")?;
    let relocation = |place: usize| -> Vec<f64> {
        rounds.iter().filter_map(|round| round.get(place)).map(|cycles| cycles.relocation as f64).collect()
    };
    let plain = median(&relocation(0));
    let mut figures = Vec::new();
    for (place, name) in names(record)?.iter().enumerate() {
        let cycles = relocation(place);
        let value = median(&cycles);
        figures.push(Figure {
            count: cycles.len(),
            range: range(&cycles),
            ..Figure::new(format!("{name}: cycles of relocation"), Unit::Count, Asked::Nothing, value)
        });
        if place > 0 {
            let asked = if name == LIMITS.name { Asked::AtMost(OF_PLAIN_RELOCATION) } else { Asked::Nothing };
            let ratio = value.zip(plain).map(|(value, plain)| value / plain);
            let what = format!("{name} / plain: cycles of relocation, medians");
            figures.push(Figure { count: cycles.len(), ..Figure::new(what, Unit::Times, asked, ratio) });
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::search::variants::tests::record as bound;
    use serde_json::json;

    #[test]
    fn probes_ratio_and_relocation_are_judged() {
        let mut record = bound(Benchmark::SearchStore, "soname", "hot", [2635, 300, 0]);
        let round =
            |plain: u64, bound: u64| json!([{"total": 9, "relocation": plain}, {"total": 9, "relocation": bound}]);
        record.add("cycles", json!([round(100, 102), round(100, 500), round(101, 103)]));
        let figures = figures(&record).unwrap();
        assert_eq!(figures.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [true, true, true]);
        assert_eq!(figures.last().unwrap().value, Some(1.03));
    }
}
