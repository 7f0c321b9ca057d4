//! Failed lookups by directory.

use std::path::Path;

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::grouped;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, name, table};

/// The widest name of an example, in columns.
const EXAMPLE: usize = 30;

/// Directories, most failures first.
pub(super) fn part(view: &View<'_>) -> String {
    let directories = view.missing_names();
    if directories.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[("names", Align::Right), ("the first", Align::Left), ("directory", Align::Left)]);
    let shown = directories.len().min(view.limit);
    for missing in directories.iter().take(shown) {
        let first = missing.first.file_name().map_or(missing.first, Path::new);
        rows.row(vec![grouped(missing.count), name(&first.to_string_lossy(), EXAMPLE), String::new()]);
    }
    fit(&mut rows, |row, room| {
        directories.get(row).map_or_else(String::new, |missing| fitted(missing.directory, room))
    });
    let all: u64 = directories.iter().map(|missing| missing.count).sum();
    let summary = format!("{} of missing names", counted(all, "lookup"));
    heading("Not found", &summary) + &table(&rows) + &words::omitted(shown, directories.len())
}
