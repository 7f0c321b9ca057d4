//! Names used by the loader: libraries, search paths, versions.

use coldstart_inspect::layout::{LoaderNames, Versions};
use unicode_width::UnicodeWidthStr;

use super::text::{counted, escaped, fact, list, name, number};
use crate::output::table::MAX_WIDTH;

/// Maximum number of listed library names without `--all`.
const SOME_NAMES: usize = 24;
/// Maximum number of listed directories of a search path without `--all`.
const SOME_DIRECTORIES: usize = 6;
/// The widest name of a library or a version, in columns.
const NAME: usize = 60;
/// The widest name of the object itself and of its loader.
const PATH: usize = 400;

/// The object's soname, needed libraries and search path.
pub(super) fn names(names: &LoaderNames, all: bool) -> String {
    let mut text = String::new();
    let optional = |text: &Option<String>, columns| text.as_ref().map(|text| name(text, columns)).unwrap_or_default();
    text.push_str(&fact("soname", &optional(&names.soname, PATH)));
    if !names.needed.is_empty() {
        let limit = if all { usize::MAX } else { SOME_NAMES };
        let count = counted(names.needed.len() as u64, "library");
        let needed = some(&names.needed, limit, |needed| name(needed, NAME));
        text.push_str(&list("needs", &format!("{count}: {needed}")));
    }
    let path = |path: &Option<String>| path.as_ref().map(|path| search_path(path, all)).unwrap_or_default();
    text.push_str(&list("RUNPATH", &path(&names.runpath)));
    let ignored = if names.runpath.is_some() && names.rpath.is_some() { " (ignored beside RUNPATH)" } else { "" };
    if names.rpath.is_some() {
        text.push_str(&list("RPATH", &(path(&names.rpath) + ignored)));
    }
    text.push_str(&fact("loader", &optional(&names.interpreter, PATH)));
    text
}

/// A search path; if longer than a line, as a list of directories.
fn search_path(path: &str, all: bool) -> String {
    let shown = escaped(path);
    if shown.width() <= MAX_WIDTH - 20 {
        return shown;
    }
    let directories: Vec<&str> = path.split(':').collect();
    let limit = if all { usize::MAX } else { SOME_DIRECTORIES };
    let listed = some(&directories, limit, |directory| name(directory, NAME + NAME / 3));
    format!("{}: {listed}", counted(directories.len() as u64, "directory"))
}

/// Needed symbol versions, by library.
pub(super) fn versions(versions: &Versions, all: bool) -> String {
    let limit = if all { usize::MAX } else { SOME_NAMES };
    let mut parts = Vec::new();
    if versions.needed_count > 0 {
        let libraries = some(&versions.needed, limit, |needed| {
            format!("{} of {}", number(needed.versions.len() as u64), name(&needed.library, NAME))
        });
        parts.push(format!("{} needed ({libraries})", number(versions.needed_count)));
    }
    if versions.defined_count > 0 {
        parts.push(format!("{} defined", number(versions.defined_count)));
    }
    parts.join("; ")
}

/// The first of many items, and the number of the others.
fn some<T>(things: &[T], limit: usize, words: impl Fn(&T) -> String) -> String {
    let listed: Vec<String> = things.iter().take(limit).map(words).collect();
    match things.len().saturating_sub(limit) {
        0 => listed.join(", "),
        more => format!("{} and {} more", listed.join(", "), number(more as u64)),
    }
}
