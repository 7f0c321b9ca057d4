//! Our reading of a file held against what `readelf` printed. What differs is told a line each.

mod dynamic;
mod headers;
mod relocations;
mod sections;
mod symbols;

use coldstart_elf::{VersionTable, build_id};
use coldstart_inspect::{InitialiserKind, Object, initialisers};
pub(crate) use sections::{remove_sections, tables};

use crate::printed::Printed;

/// Collects what differs.
#[derive(Debug, Default)]
pub(crate) struct Differences(pub(crate) Vec<String>);

impl Differences {
    /// Notes it if the two are not the same.
    pub(crate) fn hold<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: T, printed: T) {
        if ours != printed {
            self.0.push(format!("{what}: {ours:?}, but readelf says {printed:?}"));
        }
    }

    /// Notes the first pair of a row of pairs that are not the same, and their number if that differs.
    pub(crate) fn hold_all<T: PartialEq + std::fmt::Debug>(&mut self, what: &str, ours: &[T], printed: &[T]) {
        self.hold(&format!("number of {what}"), ours.len(), printed.len());
        let differing = ours.iter().zip(printed).enumerate().find(|(_, (ours, printed))| ours != printed);
        if let Some((index, (ours, printed))) = differing {
            self.hold(&format!("{what} {index}"), ours, printed);
        }
    }
}

/// Compares everything in a file that is loaded.
pub(crate) fn compare(object: &Object<'_>, printed: &Printed) -> Vec<String> {
    let mut differences = Differences::default();
    headers::compare(&object.file, printed, &mut differences);
    dynamic::compare(object, printed, &mut differences);
    relocations::compare(object, printed, &mut differences);
    match object.dynamic.as_ref().map(|dynamic| VersionTable::parse(&object.file, dynamic)) {
        Some(Ok(versions)) => {
            compare_versions(&versions, printed, &mut differences);
            symbols::compare(object, Some(&versions), printed, &mut differences);
        }
        Some(Err(problem)) => differences.0.push(format!("versions: {problem}")),
        None => symbols::compare(object, None, printed, &mut differences),
    }
    let id = build_id(&object.file).map(|id| id.to_string());
    differences.hold("build id", id.as_ref(), printed.build_ids.first());
    compare_initialisers(object, printed, &mut differences);
    differences.0
}

fn compare_versions(table: &VersionTable<'_>, printed: &Printed, differences: &mut Differences) {
    let text = |bytes| String::from_utf8_lossy(bytes);
    let mut lines = Vec::new();
    for version in table.defined() {
        lines.push(format!("defined {} {}", version.index, text(version.name)));
        lines.extend(version.parents.iter().map(|parent| format!("parent {}", text(parent))));
    }
    for file in table.needed() {
        lines.push(format!("file {}", text(file.file)));
        lines.extend(file.versions.iter().map(|version| format!("needed {} {}", version.index, text(version.name))));
    }
    // Sections come in the order of their addresses, and either table may be first.
    let sorted = |mut lines: Vec<String>| {
        lines.sort_by_key(|line| line.starts_with("file") || line.starts_with("needed"));
        lines
    };
    differences.hold("files of which versions are needed", table.needed().len() as u64, printed.needed_files);
    differences.hold("defined versions", table.defined().len() as u64, printed.defined_versions);
    differences.hold_all("versions", &sorted(lines), &sorted(printed.versions.clone()));
}

/// Every entry of the arrays is a function, or counted as empty or ignored.
fn compare_initialisers(object: &Object<'_>, printed: &Printed, differences: &mut Differences) {
    let ours = initialisers(object);
    let is_entry = |kind| matches!(kind, InitialiserKind::PreinitArray | InitialiserKind::InitArray);
    let functions = ours.functions.iter().filter(|function| is_entry(function.kind)).count() as u64;
    let size = |tag: &str| {
        let line = printed.entries.iter().find(|line| line.contains(tag));
        line.map_or(0, |line| crate::printed::number_before(line, " (bytes)").unwrap())
    };
    let in_sections = || {
        let rows = printed
            .sections
            .iter()
            .filter(|row| row.split_whitespace().nth(1).is_some_and(|kind| kind.ends_with("INIT_ARRAY")));
        rows.map(|row| u64::from_str_radix(row.split_whitespace().nth(4).unwrap(), 16).unwrap()).sum()
    };
    let bytes = match printed.dynamic {
        Some(_) => size("(INIT_ARRAYSZ)") + size("(PREINIT_ARRAYSZ)"),
        None => in_sections(),
    };
    let entries = functions + ours.empty_entries + ours.ignored_preinit_entries;
    differences.hold("entries of the arrays of initialisers", entries, bytes / object.file.encoding().word_size());
    differences.hold("problems of initialisers", ours.problems.as_slice(), &[]);
}
