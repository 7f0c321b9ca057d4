//! Text for the content of a trace. Every name in it may be hostile, and is escaped here.

use std::path::Path;

use coldstart_profile::trace::{FileId, Known, ProcessId};

use super::View;
use crate::output::path::printable;
pub(super) use crate::output::size::percent;
use crate::output::text::{glued, name, prose};
use crate::output::time::seconds;

/// Human-readable nanoseconds.
pub(super) fn time(nanoseconds: u64) -> String {
    seconds(nanoseconds as f64 / 1e9)
}

/// The same, on one line when it is wrapped.
pub(super) fn glued_time(nanoseconds: u64) -> String {
    glued(&time(nanoseconds))
}

/// What was recorded, or that it was not.
pub(super) fn if_known(is_known: bool, text: impl FnOnce() -> String) -> String {
    if is_known { text() } else { "-".to_owned() }
}

/// The suffix of an inexact time.
pub(super) fn known(known: Known) -> &'static str {
    match known {
        Known::Exactly => "",
        Known::EndAtMost => " (at most)",
        Known::FromTouches => " (by page touches)",
    }
}

/// A file's name without its directory, cut to a number of columns.
pub(super) fn file_name(view: &View<'_>, file: FileId, columns: usize) -> String {
    let path = view.path(file);
    let last = path.file_name().map_or(path, Path::new);
    name(&last.to_string_lossy(), columns)
}

/// `soffice.bin (4711)`.
pub(super) fn process(view: &View<'_>, process: ProcessId, columns: usize) -> String {
    let Some(process) = view.trace.process(process) else { return "(unknown)".to_owned() };
    let program = process.program.file_name().map_or(process.program.as_path(), Path::new);
    format!("{} ({})", name(&program.to_string_lossy(), columns), process.number)
}

/// A command line, escaped.
pub(super) fn command(words: &[std::ffi::OsString]) -> String {
    let words: Vec<String> = words.iter().map(|word| printable(Path::new(word))).collect();
    words.join(" ")
}

/// The function at an address of a file: its name, or the address.
pub(super) fn function(view: &View<'_>, file: FileId, address: u64, columns: usize) -> String {
    let symbol = view.trace.object(file).and_then(|object| object.symbol_at(address));
    symbol.map_or_else(|| format!("{address:#x}"), |symbol| name(&symbol.name, columns))
}

/// `3 more; --limit 0 lists them` below a table that was cut.
pub(super) fn omitted(shown: usize, of: usize) -> String {
    match of.saturating_sub(shown) {
        0 => String::new(),
        more => prose(&format!("{more} more; --limit 0 lists all"), 2, 2),
    }
}
