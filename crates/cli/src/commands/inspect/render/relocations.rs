//! What relocation costs: tables, types, waste, packing, pages and lookups.

use coldstart_inspect::{Packing, References, Relocations, Waste};

use super::text::{counted, fact, heading, name, number, plain, share, size, table};
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};

/// Columns of a relocation type's name; the longest that is defined has 28.
const TYPE_COLUMNS: usize = 32;
/// Maximum number of listed types without `--all`.
const SOME_TYPES: usize = 8;

/// Minimum waste for a table, in bytes.
const WORTH_A_TABLE: u64 = 1000;

/// Everything about relocations.
pub(super) fn relocations(relocations: &Relocations, file_bytes: u64, all: bool) -> String {
    if relocations.count == 0 && relocations.bytes == 0 {
        return heading("Relocations", "none");
    }
    let summary = format!(
        "{} to relocate before the program starts; their tables take {}, {} of the file",
        counted(relocations.count, "word"),
        size(relocations.bytes),
        share(relocations.bytes, file_bytes)
    );
    let mut text = heading("Relocations", &summary);
    text.push_str(&tables(relocations, file_bytes));
    text.push_str(&by_type(relocations, all));
    text.push_str(&waste(&relocations.waste));
    text.push('\n');
    for (label, content) in [
        ("packing", packing(relocations)),
        ("order", order(relocations)),
        ("memory", memory(relocations)),
        ("reading", format!("the tables are in {} of the file", counted(relocations.table_pages, "page"))),
        ("symbols", symbols(&relocations.references)),
        ("own", own_symbols(&relocations.references)),
    ] {
        text.push_str(&fact(label, &content));
    }
    text
}

fn tables(relocations: &Relocations, file_bytes: u64) -> String {
    // Formats that only Android's loader knows have no table of records here.
    if relocations.packed.is_none() && relocations.tables.iter().all(|facts| facts.count == 0) {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("table", Align::Left),
        ("words", Align::Right),
        ("bytes", Align::Right),
        ("share of file", Align::Right),
        ("at offset", Align::Right),
        ("addends", Align::Left),
    ]);
    for facts in relocations.tables.iter().filter(|facts| facts.count > 0) {
        rows.row(vec![
            facts.name.to_owned(),
            grouped(facts.count),
            bytes(facts.bytes),
            plain(&share(facts.bytes, file_bytes)),
            format!("{:#x}", facts.file_offset),
            if facts.has_addends { "in the records" } else { "in the relocated words" }.to_owned(),
        ]);
    }
    if let Some(packed) = &relocations.packed {
        rows.row(vec![
            "DT_RELR".to_owned(),
            grouped(packed.count),
            bytes(packed.bytes),
            plain(&share(packed.bytes, file_bytes)),
            String::new(),
            "in the relocated words".to_owned(),
        ]);
    }
    table(&rows)
}

fn by_type(relocations: &Relocations, all: bool) -> String {
    let types = relocations.by_type.len();
    if types == 0 {
        return String::new();
    }
    let shown = if all { types } else { types.min(SOME_TYPES) };
    let records = relocations.by_type.iter().map(|kind| kind.count).fold(0, u64::saturating_add);
    let mut rows = Table::new(&[
        ("type", Align::Left),
        ("records", Align::Right),
        ("share", Align::Right),
        ("with symbol", Align::Right),
        ("without", Align::Right),
        ("bytes", Align::Right),
    ]);
    let mut row = |what: String, count: u64, with_symbol: u64, size: u64| {
        rows.row(vec![
            what,
            grouped(count),
            plain(&share(count, records)),
            grouped(with_symbol),
            grouped(count.saturating_sub(with_symbol)),
            bytes(size),
        ]);
    };
    for kind in relocations.by_type.iter().take(shown) {
        row(name(&kind.name, TYPE_COLUMNS), kind.count, kind.with_symbol, kind.bytes);
    }
    let rest = relocations.by_type.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let sum = |part: fn(&coldstart_inspect::KindCount) -> u64| rest.iter().map(part).fold(0, u64::saturating_add);
        row(
            plain(&counted(rest.len() as u64, "other type")),
            sum(|kind| kind.count),
            sum(|kind| kind.with_symbol),
            sum(|kind| kind.bytes),
        );
    }
    table(&rows)
}

/// Bytes wasted by the record format, and their share.
fn waste(waste: &Waste) -> String {
    if waste.bytes < WORTH_A_TABLE {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("waste in the records", Align::Left),
        ("bytes", Align::Right),
        ("share of records", Align::Right),
    ]);
    for (what, wasted) in [
        ("addends that fit in the relocated word", waste.addend_bytes),
        ("symbol fields of records without a symbol", waste.symbol_bytes),
        ("types in four bytes instead of one", waste.type_bytes),
        ("together", waste.bytes),
    ] {
        if wasted > 0 {
            rows.row(vec![what.to_owned(), bytes(wasted), plain(&share(wasted, waste.of_bytes))]);
        }
    }
    table(&rows)
}

fn packing(relocations: &Relocations) -> String {
    let packing: &Packing = &relocations.packing;
    let mut parts = Vec::new();
    if let Some(packed) = &relocations.packed {
        parts.push(format!("{} already packed, in {}", counted(packed.count, "word"), size(packed.bytes)));
    }
    if packing.packable_count > 0 {
        parts.push(format!(
            "{} take {}, and {} as RELR: {} less",
            counted(packing.relative_count, "relative record"),
            size(packing.relative_bytes),
            size(packing.packed_bytes),
            size(packing.saved_bytes)
        ));
    }
    for (count, reason) in [
        (packing.odd, "at odd addresses, which RELR cannot hold"),
        (packing.repeated, "of words that are relocated twice, which cannot be packed"),
        (packing.not_writable, "in memory that is not writable, which cannot be packed"),
        (packing.unexpected_in_place, "of words that are not empty"),
    ] {
        if count > 0 {
            parts.push(format!("{} {reason}", number(count)));
        }
    }
    parts.join("; ")
}

fn order(relocations: &Relocations) -> String {
    let runs = &relocations.runs;
    if runs.runs == 0 {
        return String::new();
    }
    let longest = counted(runs.longest_run, "word");
    let adjacent = match runs.adjacent_in_table {
        0 => String::new(),
        records => format!("; {} on the word right after the previous one", counted(records, "record")),
    };
    format!("{} without a gap, the longest of {longest}{adjacent}", counted(runs.runs, "run"))
}

fn memory(relocations: &Relocations) -> String {
    let dirtied = &relocations.dirtied_pages;
    if dirtied.pages == 0 {
        return String::new();
    }
    let mut parts = vec![format!(
        "private in each process: {} ({}), of {} that could be",
        counted(dirtied.pages, "page"),
        size(dirtied.bytes),
        number(dirtied.writable_file_pages.max(dirtied.pages))
    )];
    for (count, what) in [
        (dirtied.relro_pages, "read-only after relocation"),
        (dirtied.relative_only_pages, "changed by relative relocations only"),
    ] {
        if count > 0 {
            parts.push(format!("{} {what}", number(count)));
        }
    }
    parts.join("; ")
}

fn symbols(references: &References) -> String {
    let mut parts = Vec::new();
    if references.lookups_at_start > 0 {
        parts.push(format!(
            "{} at the start, of {}",
            counted(references.lookups_at_start, "lookup"),
            counted(references.distinct_symbols, "different symbol")
        ));
    }
    if references.lazy > 0 {
        parts.push(format!("{} of the PLT at the first call", counted(references.lazy, "lookup")));
    }
    if references.pure_virtual > 0 {
        parts.push(format!("{} to __cxa_pure_virtual", counted(references.pure_virtual, "reference")));
    }
    parts.join("; ")
}

fn own_symbols(references: &References) -> String {
    let own = [
        (references.own_words, "pointer"),
        (references.own_global_data, "GOT entry"),
        (references.own_calls, "PLT call"),
    ];
    let own: Vec<String> =
        own.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun)).collect();
    if own.is_empty() {
        return String::new();
    }
    format!("{} to its own exported symbols, which others can interpose", own.join(", "))
}
