//! What the loader reads of a file from a cold cache, by a model.

use coldstart_inspect::LoaderReads;

use super::text::{counted, cut_end, fit, heading, number, size, table};
use crate::output::size::grouped;
use crate::output::table::{Align, Table};

/// The model's reads, by step of the loader.
pub(super) fn reads(reads: &LoaderReads) -> String {
    if reads.steps.is_empty() {
        return String::new();
    }
    let readahead = reads.readahead_pages.saturating_mul(4);
    let summary = format!(
        "{} with {}, {} read; the loader touches {} of {} (a model, not a measurement: nothing cached, readahead \
         {}\u{a0}KiB)",
        counted(reads.requests, "request"),
        counted(reads.seeks, "seek"),
        size(reads.read_bytes),
        number(reads.useful_pages),
        counted(reads.read_pages, "page"),
        number(readahead)
    );
    let mut rows = Table::new(&[
        ("pages touched", Align::Right),
        ("new", Align::Right),
        ("requests", Align::Right),
        ("seeks", Align::Right),
        ("read", Align::Right),
        ("step of the loader", Align::Left),
    ]);
    // Steps without reads of their own are omitted.
    let steps: Vec<_> = reads.steps.iter().filter(|step| step.new_pages > 0 || step.requests > 0).collect();
    for step in &steps {
        let (first, last) = (grouped(step.first_page), grouped(step.last_page));
        rows.row(vec![
            if first == last { first } else { format!("{first} - {last}") },
            grouped(step.new_pages),
            grouped(step.requests),
            grouped(step.seeks),
            grouped(step.read_pages),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| steps.get(row).map_or_else(String::new, |step| cut_end(step.step.describe(), room)));
    let mut text = heading("What the loader reads from a cold cache", &summary);
    text.push_str(&table(&rows));
    text
}
