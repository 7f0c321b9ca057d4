//! Each process in a line.

use coldstart_profile::trace::figures::SumOf;
use coldstart_profile::trace::{Layer, PagesSeen, TracedProcess};

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::grouped;
use crate::output::table::{Align, Table};
use crate::output::text::{escaped, fact, fit, heading, table};

/// Processes in order of their begin; empty for a single process without notes.
pub(super) fn part(view: &View<'_>) -> String {
    let processes = &view.trace.processes;
    if processes.len() < 2 && processes.iter().all(|process| process.notes.is_empty()) {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("number", Align::Right),
        ("begins", Align::Right),
        ("ends", Align::Right),
        ("touches", Align::Right),
        ("functions", Align::Right),
        ("not found", Align::Right),
        ("threads", Align::Right),
        ("by", Align::Left),
        ("program", Align::Left),
    ]);
    let (has_files, basis) = (view.has(Layer::Files), &view.figures.basis);
    let (has_touches, has_functions) = (basis.has(SumOf::Touches), basis.has(SumOf::Functions));
    let shown = processes.len().min(view.limit);
    for (process, figures) in processes.iter().zip(&view.figures.processes).take(shown) {
        rows.row(vec![
            process.number.to_string(),
            words::time(process.began.0),
            process.ended.map_or_else(|| "-".to_owned(), |at| words::time(at.0)),
            words::if_known(has_touches, || grouped(figures.activity.touches.total().all)),
            words::if_known(has_functions, || grouped(figures.activity.functions.total())),
            words::if_known(has_files, || grouped(figures.failed_lookups)),
            grouped(figures.threads),
            if process.executed { "exec" } else { "fork" }.to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| processes.get(row).map_or_else(String::new, |process| fitted(&process.program, room)));
    let mut text = heading("Processes", "") + &table(&rows) + &words::omitted(shown, processes.len());
    for process in processes.iter().take(shown) {
        text.push_str(&unseen(view, process));
    }
    text
}

/// What was not recorded of it.
fn unseen(view: &View<'_>, process: &TracedProcess) -> String {
    let mut clauses: Vec<String> = process.notes.iter().map(|note| escaped(note)).collect();
    // The head of the report has the worst case; better processes need no note.
    if process.pages == PagesSeen::FaultAround && view.trace.run.pages != PagesSeen::FaultAround {
        clauses.push("some page touches are hidden by fault-around".to_owned());
    }
    if clauses.is_empty() {
        return String::new();
    }
    fact(&process.number.to_string(), &clauses.join("; "))
}
