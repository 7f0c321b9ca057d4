//! Computed tables: figures, initialisers in order, and changes between two traces.

use std::os::unix::ffi::OsStrExt;

use coldstart_profile::trace::{FileId, Phase, PhaseId};
use coldstart_view::comparison::Comparison;
use coldstart_view::figures::{Figure, FileNumbers, Unit, figure_groups};

use super::source::Source;
use super::tables::{Rows, bytes_in_words};
use crate::error::AppError;

const FIGURES: [&str; 5] = ["group", "key", "figure", "unit", "value"];
const TWO_FIGURES: [&str; 7] = ["group", "key", "figure", "unit", "value", "other_value", "change"];
const INITIALISERS: [&str; 10] =
    ["process", "pid", "path", "nth", "symbol", "address", "begin_ms", "itself_ms", "jump", "known"];

/// A row for each figure.
pub(super) fn figures(source: &Source, table: &mut Rows<'_>) -> Result<(), AppError> {
    table.columns(&FIGURES)?;
    for group in figure_groups(&source.trace, &source.figures) {
        for figure in &group.figures {
            table.row(named(&group.title, figure).into_iter().chain([optional(figure.value)]))?;
        }
    }
    Ok(())
}

/// A row for each figure of two traces, with the difference.
pub(super) fn two_figures(first: &Source, second: &Source, table: &mut Rows<'_>) -> Result<(), AppError> {
    table.columns(&TWO_FIGURES)?;
    let groups = figure_groups(&first.trace, &first.figures);
    let others = figure_groups(&second.trace, &second.figures);
    let of_key = |key: &str| others.iter().flat_map(|group| &group.figures).find(|figure| figure.key == key);
    for group in &groups {
        for figure in &group.figures {
            let other = of_key(&figure.key).and_then(|other| other.value);
            let change = figure.value.zip(other).map(|(value, other)| i128::from(other) - i128::from(value));
            let cells = [optional(figure.value), optional(other), optional(change)];
            table.row(named(&group.title, figure).into_iter().chain(cells))?;
        }
    }
    Ok(())
}

fn named(group: &str, figure: &Figure) -> [String; 4] {
    let unit = match figure.unit {
        Unit::Count => "count",
        Unit::Bytes => "bytes",
        Unit::Nanoseconds => "nanoseconds",
        Unit::Pages => "pages",
    };
    [group.to_owned(), figure.key.clone(), figure.label.clone(), unit.to_owned()]
}

/// A row for each initialiser, in the order of execution by process and object.
pub(super) fn initialisers(source: &Source, table: &mut Rows<'_>) -> Result<(), AppError> {
    table.columns(&INITIALISERS)?;
    let trace = &source.trace;
    for order in &source.figures.initialisers {
        let pid = trace.process(order.process).map(|process| process.number);
        let object = trace.object(order.file);
        let mut before: Option<u64> = None;
        for (nth, id) in (1u64..).zip(&order.phases) {
            let Some(phase) = phase(source, *id) else { continue };
            let symbol = phase.address.and_then(|address| object?.symbol_at(address));
            let jump = before.zip(phase.address).map(|(before, address)| i128::from(address) - i128::from(before));
            before = phase.address.or(before);
            table.row([
                order.process.0.to_string(),
                optional(pid),
                path(source, Some(order.file)),
                nth.to_string(),
                symbol.map_or_else(String::new, |symbol| symbol.name.clone()),
                optional(phase.address),
                milliseconds(phase.begin.0),
                milliseconds(source.figures.times.own_of(*id)),
                optional(jump),
                phase.known.name().to_owned(),
            ])?;
        }
    }
    Ok(())
}

fn phase(source: &Source, id: PhaseId) -> Option<&Phase> {
    source.trace.phases.get(usize::try_from(id.0).ok()?)
}

/// Selects one figure of a file.
type Count = fn(&FileNumbers) -> Option<u64>;

/// The compared figures of each file.
const COUNTED: [(&str, Count); 7] = [
    ("touches", |file| file.touches),
    ("major_touches", |file| file.major_touches),
    ("functions", |file| file.functions),
    ("pages_touched", |file| file.pages_touched),
    ("pages_read", |file| file.pages_read),
    ("pages_filled", |file| file.pages_filled),
    ("pages_wasted", |file| file.pages_wasted),
];

/// Columns of [`changes`].
fn changes_columns() -> Vec<String> {
    let counted = COUNTED.iter().flat_map(|(name, _)| [(*name).to_owned(), format!("other_{name}")]);
    ["path", "other_path", "there"].map(str::to_owned).into_iter().chain(counted).collect()
}

/// The header lines of the tables of this module.
pub(super) fn headers() -> [Vec<String>; 4] {
    let owned = |columns: &[&str]| columns.iter().map(|column| (*column).to_owned()).collect();
    [owned(&FIGURES), owned(&TWO_FIGURES), owned(&INITIALISERS), changes_columns()]
}

/// A row for each file of either trace.
pub(super) fn changes(first: &Source, second: &Source, table: &mut Rows<'_>) -> Result<(), AppError> {
    table.columns(&changes_columns().iter().map(String::as_str).collect::<Vec<_>>())?;
    let partners = Comparison::of(&first.as_trace(), &second.as_trace()).partners;
    let mut has_partner = vec![false; second.trace.files.len()];
    let files = (0..).map(FileId).take(first.trace.files.len());
    for (file, partner) in files.zip(partners) {
        if let Some(seen) = partner.and_then(|partner| has_partner.get_mut(usize::try_from(partner.0).ok()?)) {
            *seen = true;
        }
        change(first, second, Some(file), partner, table)?;
    }
    for (file, has_partner) in (0..).map(FileId).zip(has_partner) {
        if !has_partner {
            change(first, second, None, Some(file), table)?;
        }
    }
    Ok(())
}

fn change(
    first: &Source,
    second: &Source,
    before: Option<FileId>,
    after: Option<FileId>,
    table: &mut Rows<'_>,
) -> Result<(), AppError> {
    let there = match (before, after) {
        (Some(_), Some(_)) => "both",
        (Some(_), None) => "first",
        _ => "other",
    };
    // A missing file has empty cells, like an unrecorded figure.
    let numbers = |source: &Source, file: Option<FileId>| {
        file.map(|file| FileNumbers::of(file, &source.figures)).unwrap_or_default()
    };
    let (of_first, of_second) = (numbers(first, before), numbers(second, after));
    let counted = COUNTED.iter().flat_map(|(_, count)| [optional(count(&of_first)), optional(count(&of_second))]);
    table.row([path(first, before), path(second, after), there.to_owned()].into_iter().chain(counted))
}

fn path(source: &Source, file: Option<FileId>) -> String {
    let Some(file) = file.and_then(|file| source.trace.file(file)) else { return String::new() };
    file.path.to_str().map_or_else(|| bytes_in_words(file.path.as_os_str().as_bytes()), str::to_owned)
}

fn milliseconds(nanoseconds: u64) -> String {
    (nanoseconds as f64 / 1e6).to_string()
}

fn optional(number: Option<impl ToString>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}
