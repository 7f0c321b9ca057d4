//! Names that were not there, by the directory they were looked for in.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::grouped;
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, name, table};

/// The widest name of an example, in columns.
const EXAMPLE: usize = 30;

/// Directories, those first where most was missed.
pub(super) fn part(view: &View<'_>) -> String {
    let mut directories: BTreeMap<&Path, (u64, &Path)> = BTreeMap::new();
    let failed = view.trace.lookups.iter().filter(|lookup| lookup.failed);
    for lookup in failed {
        let directory = lookup.path.parent().unwrap_or(&lookup.path);
        directories.entry(directory).or_insert((0, &lookup.path)).0 += 1;
    }
    let mut directories: Vec<(&Path, u64, &Path)> =
        directories.into_iter().map(|(directory, (count, first))| (directory, count, first)).collect();
    if directories.is_empty() {
        return String::new();
    }
    directories.sort_by_key(|(_, count, _)| Reverse(*count));
    let mut rows = Table::new(&[("names", Align::Right), ("the first", Align::Left), ("directory", Align::Left)]);
    let shown = directories.len().min(view.limit);
    for (_, count, first) in directories.iter().take(shown) {
        let first = first.file_name().map_or(*first, Path::new);
        rows.row(vec![grouped(*count), name(&first.to_string_lossy(), EXAMPLE), String::new()]);
    }
    fit(&mut rows, |row, room| directories.get(row).map_or_else(String::new, |(path, ..)| fitted(path, room)));
    let all: u64 = directories.iter().map(|(_, count, _)| count).sum();
    let summary = format!("{} of names that are not there", counted(all, "lookup"));
    heading("Not found", &summary) + &table(&rows) + &words::omitted(shown, directories.len())
}
