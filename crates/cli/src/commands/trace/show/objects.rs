//! The cost of each object: relocation, initialisers, touches.

use coldstart_profile::page_count;
use coldstart_profile::trace::Layer;
use coldstart_profile::trace::figures::SumOf;

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::grouped;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, table};

/// Objects, sorted by the loader's time.
pub(super) fn part(view: &View<'_>) -> String {
    let files = view.object_sums();
    if files.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("relocation", Align::Right),
        ("initialisers", Align::Right),
        ("functions", Align::Right),
        ("touches", Align::Right),
        ("pages", Align::Right),
        ("share", Align::Right),
        ("object", Align::Left),
    ]);
    let (has_phases, basis) = (view.has(Layer::Phases), &view.figures.basis);
    let (has_touches, has_functions) = (basis.has(SumOf::Touches), basis.has(SumOf::Functions));
    let shown = files.len().min(view.limit);
    for (file, time) in files.iter().take(shown) {
        let size = view.trace.file(file.file).and_then(|file| file.identity).map(|identity| identity.size);
        rows.row(vec![
            words::if_known(has_phases, || words::time(time.relocation)),
            words::if_known(has_phases, || words::time(time.initialisers)),
            words::if_known(has_functions, || grouped(file.activity.functions.total())),
            words::if_known(has_touches, || grouped(file.activity.touches.total().all)),
            words::if_known(has_touches, || grouped(file.pages.touched)),
            match size {
                Some(size) if has_touches => words::percent(file.pages.touched, page_count(size)),
                _ => "-".to_owned(),
            },
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| files.get(row).map_or_else(String::new, |(file, _)| fitted(view.path(file.file), room)));
    let summary =
        format!("{}; times of all processes, touched pages of the file", counted(files.len() as u64, "object"));
    heading("Objects", &summary) + &table(&rows) + &words::omitted(shown, files.len())
}
