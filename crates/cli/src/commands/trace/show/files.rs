//! Per file: touched, read, read from disk, and unused bytes.

use coldstart_profile::trace::PagesSeen;
use coldstart_profile::trace::figures::PageCounts;

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::bytes;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, table};

/// Files, most bytes read from disk or used first.
pub(super) fn part(view: &View<'_>) -> String {
    let files = view.files_in_use();
    if files.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("touched", Align::Right),
        ("read", Align::Right),
        ("from disk", Align::Right),
        ("wasted", Align::Right),
        ("kind", Align::Left),
        ("file", Align::Left),
    ]);
    let (basis, seen) = (&view.figures.basis, view.figures.files_seen);
    let if_seen = |is_seen: bool, count| words::if_known(is_seen, || bytes(PageCounts::bytes(count)));
    // Pages with unrecorded touches would count as wasted.
    let tells_waste = seen.fills && basis.pages == PagesSeen::Each;
    let shown = files.len().min(view.limit);
    for file in files.iter().take(shown) {
        rows.row(vec![
            if_seen(basis.pages != PagesSeen::None, file.pages.touched),
            if_seen(seen.reads, file.pages.read),
            if_seen(seen.fills, file.pages.filled),
            if_seen(tells_waste, file.pages.wasted),
            view.trace.file(file.file).map_or("", |file| file.category.name()).to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| files.get(row).map_or_else(String::new, |file| fitted(view.path(file.file), room)));
    let summary = format!("{} in use, in bytes of whole pages", counted(files.len() as u64, "file"));
    heading("Files", &summary) + &table(&rows) + &words::omitted(shown, files.len())
}
