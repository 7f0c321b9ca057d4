//! Names that were not found, by directory.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use coldstart_profile::trace::Trace;
use serde::Serialize;

use crate::page::words;

/// Of one directory.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct MissingHead {
    directory: String,
    count: u64,
    first: String,
}

/// Directories, those first where most was missed.
pub(super) fn directories(trace: &Trace) -> Vec<MissingHead> {
    let mut directories: BTreeMap<&Path, (u64, &Path)> = BTreeMap::new();
    for lookup in trace.lookups.iter().filter(|lookup| lookup.failed) {
        let directory = lookup.path.parent().unwrap_or(&lookup.path);
        directories.entry(directory).or_insert((0, &lookup.path)).0 += 1;
    }
    let mut directories: Vec<(&Path, u64, &Path)> =
        directories.into_iter().map(|(directory, (count, first))| (directory, count, first)).collect();
    directories.sort_by_key(|(_, count, _)| Reverse(*count));
    let heads = directories.into_iter().map(|(directory, count, first)| MissingHead {
        directory: words::path(directory),
        count,
        first: words::path(first.file_name().map_or(first, Path::new)),
    });
    heads.collect()
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::{Lookup, LookupKind, Moment};

    use super::*;

    #[test]
    fn directories_where_most_was_missed_come_first() {
        let lookup = |path: &str, failed| Lookup {
            at: Moment(0),
            process: None,
            path: path.into(),
            kind: LookupKind::Ask,
            file: None,
            failed,
        };
        let names = [("/a/x", true), ("/b/y", true), ("/b/z", true), ("/b", false), ("/", true)];
        let lookups = names.map(|(path, failed)| lookup(path, failed)).into();
        let found = directories(&Trace { lookups, ..Trace::default() });
        let rows: Vec<_> = found.iter().map(|row| (row.directory.as_str(), row.count, row.first.as_str())).collect();
        assert_eq!(rows, [("/b", 2, "y"), ("/", 1, "/"), ("/a", 1, "x")]);
    }
}
