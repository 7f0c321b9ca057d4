//! What the matrix says at its end.

use std::collections::BTreeMap;

use super::cell::{Cell, Outcome};
use super::toolchain::{Linker, Machine};

/// Prints a row per feature with a column per linker, and what was refused.
pub(crate) fn print(machine: Machine, outcomes: &[(Cell, Outcome)]) {
    let mut rows: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    let mut refused: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut broken: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (cell, outcome) in outcomes {
        let column = Linker::ALL.iter().position(|linker| *linker == cell.linker).unwrap();
        rows.entry(cell.feature.name).or_default()[column] += outcome.runs;
        for code in &outcome.refused {
            *refused.entry((code, cell.linker.name())).or_default() += 1;
        }
        for treatment in &outcome.broken_by_tool {
            *broken.entry((treatment, cell.linker.name())).or_default() += 1;
        }
    }
    eprintln!("{:<28}{:>8}{:>8}{:>8}{:>8}", format!("runs, {}", machine.name()), "bfd", "gold", "lld", "mold");
    for (name, runs) in &rows {
        eprintln!("{name:<28}{:>8}{:>8}{:>8}{:>8}", runs[0], runs[1], runs[2], runs[3]);
    }
    let runs: usize = outcomes.iter().map(|(_, outcome)| outcome.runs).sum();
    eprintln!("{} cells, {runs} runs; refused at first: {refused:?}", outcomes.len());
    if !broken.is_empty() {
        eprintln!("not tried, as the tool breaks the original: {broken:?}");
    }
}

/// The failures of a cell, each with its name.
pub(crate) fn failures(cell: &Cell, outcome: &Outcome) -> Vec<String> {
    outcome.failures.iter().map(|failure| format!("[{}] {}", cell.name(), failure.trim_end())).collect()
}
