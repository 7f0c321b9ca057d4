//! The owners of the relocated words.

use coldstart_inspect::{Owner, Owners};

use super::text::{counted, fact, fit, heading, name, number, omitted, plain, share, table};
use super::words;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};

/// Maximum number of listed pointer tables without `--all`.
const SOME_TABLES: usize = 5;

/// Owners of the relocated words, and the largest tables of pointers.
pub(super) fn owners(owners: &Owners, all: bool) -> String {
    let words_in_all = owners.counts.iter().map(|owner| owner.count).fold(0, u64::saturating_add);
    if words_in_all == 0 {
        return String::new();
    }
    let how_well = [(owners.inferred(), "are inferred from their shape"), (owners.untold.count, "are unknown")];
    let how_well: Vec<String> = how_well
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, how)| format!("{} {how}", share(count, words_in_all)))
        .collect();
    let mut text = heading("Relocated words by owner", &how_well.join(", "));
    let mut rows = Table::new(&[
        ("owner", Align::Left),
        ("words", Align::Right),
        ("share", Align::Right),
        ("with symbol", Align::Right),
        ("known from", Align::Left),
    ]);
    for owner in owners.counts.iter().filter(|owner| owner.count > 0) {
        rows.row(vec![
            words::owner(owner.owner).to_owned(),
            grouped(owner.count),
            plain(&share(owner.count, words_in_all)),
            grouped(owner.symbolic),
            words::told_by(owner.told_by).to_owned(),
        ]);
    }
    text.push_str(&table(&rows));
    text.push_str(&untold(owners));
    text.push_str(&largest(owners, all));
    text
}

fn untold(owners: &Owners) -> String {
    let untold = &owners.untold;
    if untold.count == 0 || owners.count_of(Owner::Untold) == 0 {
        return String::new();
    }
    let targets = [(untold.to_code, "code"), (untold.to_read_only, "constants"), (untold.to_writable, "variables")];
    let targets: Vec<String> = targets
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} to {what}", number(count)))
        .collect();
    if targets.is_empty() {
        return String::new();
    }
    format!("\n{}", fact("unknown", &format!("they point {}", targets.join(", "))))
}

fn largest(owners: &Owners, all: bool) -> String {
    if owners.largest_tables.is_empty() {
        return String::new();
    }
    let count = owners.largest_tables.len();
    let shown = if all { count } else { count.min(SOME_TABLES) };
    let mut rows = Table::new(&[
        ("words", Align::Right),
        ("bytes", Align::Right),
        ("at address", Align::Right),
        ("largest named table", Align::Left),
    ]);
    for table in owners.largest_tables.iter().take(shown) {
        rows.row(vec![
            grouped(table.count),
            if table.bytes == 0 { "-".to_owned() } else { bytes(table.bytes) },
            format!("{:#x}", table.address),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| {
        owners.largest_tables.get(row).map_or_else(String::new, |table| name(&table.name, room))
    });
    let mut text = table(&rows);
    text.push_str(&omitted(shown, count, &format!("the largest, of {}", counted(owners.named_tables, "named table"))));
    text
}
