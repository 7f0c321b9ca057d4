//! Initialisers, in order of execution.

use coldstart_inspect::{Initialiser, Initialisers, ObjectKind};

use super::text::{counted, escaped, fact, fit, heading, name, number, omitted, size, table};
use super::words;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};

/// Maximum number of listed functions without `--all`.
const SOME: usize = 10;

/// Totals, and the functions in running order.
pub(super) fn initialisers(initialisers: &Initialisers, kind: ObjectKind, all: bool) -> String {
    let mut text = String::new();
    if !initialisers.functions.is_empty() {
        text.push_str(&heading("Initialisers", &summary(initialisers, kind)));
        text.push_str(&list(&initialisers.functions, all));
    } else if !initialisers.problems.is_empty() {
        text.push_str(&heading("Initialisers", "none can be read"));
    } else {
        return text;
    }
    if initialisers.ignored_preinit_entries > 0 {
        let entries = counted(initialisers.ignored_preinit_entries, "entry");
        text.push_str(&fact("ignored", &format!("{entries} of DT_PREINIT_ARRAY, which loaders ignore in libraries")));
    }
    if initialisers.empty_entries > 0 {
        text.push_str(&fact("empty", &format!("{} without a function", counted(initialisers.empty_entries, "entry"))));
    }
    for problem in &initialisers.problems {
        text.push_str(&fact("problem", &escaped(problem)));
    }
    text
}

fn summary(initialisers: &Initialisers, kind: ObjectKind) -> String {
    let totals = &initialisers.totals;
    let when = if kind == ObjectKind::SharedObject { "when it is loaded" } else { "before main" };
    let mut text = format!("{} {when}", counted(totals.count, "function"));
    if totals.code_pages > 0 {
        let bytes = if totals.code_bytes > 0 { size(totals.code_bytes) + " of " } else { String::new() };
        text.push_str(&format!(
            "; {bytes}code in {}, within {} of 128\u{a0}KiB",
            counted(totals.code_pages, "page"),
            counted(totals.readahead_windows, "window")
        ));
    }
    if totals.functions_of_unknown_size > 0 {
        text.push_str(&format!(" ({} of unknown size)", number(totals.functions_of_unknown_size)));
    }
    if totals.count > 1 {
        let back = match totals.backward_jumps {
            0 => "none".to_owned(),
            jumps => format!("{} over {}", number(jumps), size(totals.backward_jump_bytes)),
        };
        text.push_str(&format!("; {} forward to the next, jumps back: {back}", size(totals.forward_jump_bytes)));
    }
    text
}

fn list(functions: &[Initialiser], all: bool) -> String {
    let shown = if all { functions.len() } else { functions.len().min(SOME) };
    let mut rows = Table::new(&[
        ("", Align::Right),
        ("from", Align::Left),
        ("bytes", Align::Right),
        ("page", Align::Right),
        ("jump", Align::Right),
        ("function", Align::Left),
    ]);
    let mut before = None;
    for (index, function) in functions.iter().take(shown).enumerate() {
        rows.row(vec![
            (index + 1).to_string(),
            words::initialiser(function.kind).to_owned(),
            function.bytes.map_or_else(|| "-".to_owned(), grouped),
            function.page.map_or_else(|| "-".to_owned(), grouped),
            jump(before, function.file_offset),
            String::new(),
        ]);
        before = function.file_offset.or(before);
    }
    fit(&mut rows, |row, room| functions.get(row).map_or_else(String::new, |function| name(&called(function), room)));
    let mut text = table(&rows);
    text.push_str(&omitted(shown, functions.len(), "them"));
    text
}

/// The distance of the function after (+) or before (-) the previous one.
fn jump(before: Option<u64>, at: Option<u64>) -> String {
    match (before, at) {
        (Some(before), Some(at)) if at >= before => format!("+{}", bytes(at - before)),
        (Some(before), Some(at)) => format!("-{}", bytes(before - at)),
        _ => String::new(),
    }
}

/// Its name, or else its address.
fn called(function: &Initialiser) -> String {
    match (&function.name, function.address) {
        (Some(name), _) => name.clone(),
        (None, Some(address)) => format!("{address:#x}"),
        (None, None) => "in another object".to_owned(),
    }
}
