//! `coldstart pagecache evict`: remove files from the page cache, and report what remained and why.

use coldstart_app::pagecache::{EVICT_SCHEMA, EvictOptions, EvictTotal, EvictedFile, evict};
use coldstart_pagecache::{Residency, Stayed};
use coldstart_profile::PAGE_SIZE;

use super::reasons::sentence;
use super::words::{files, tell_passed, tell_untold};
use super::{files_options, list_options, metadata};
use crate::args::pagecache::EvictArgs;
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::wrap::wrapped;
use crate::output::{self, json, note};

pub(super) fn run(args: &EvictArgs) -> Result<Exit, CliError> {
    let options = EvictOptions {
        files: files_options(&args.files),
        list: list_options(&args.list),
        write_first: args.sync,
        metadata: args.metadata,
    };
    let console = Console::default();
    let evictions = evict(&options, &console);
    let total = &evictions.total;
    if args.list.json {
        json::print(EVICT_SCHEMA, &evictions)?;
    } else {
        if total.files > 0 {
            let metadata = evictions.metadata.as_deref().map(metadata::report).unwrap_or_default();
            let table = table(&evictions.files, evictions.files_omitted, total);
            output::print(&format!("{table}{}{metadata}", reason_list(&evictions.files)))?;
        }
        tell_passed(&evictions.passed_over);
        if total.untold.count() > 0 {
            note("files marked unknown were evicted, but the result cannot be checked");
        }
        tell_untold(&total.untold);
    }
    let gone = if evictions.is_complete() { Exit::Done } else { Exit::No };
    Ok(console.into_complaints().finish().worse(gone))
}

fn table(rows: &[EvictedFile], omitted: u64, total: &EvictTotal) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("pages before", Align::Right),
        ("after", Align::Right),
        ("stayed", Align::Right),
        ("file", Align::Left),
    ]);
    let pages = |residency: &Residency| residency.resident_pages().map_or("unknown".to_owned(), grouped);
    for EvictedFile { evicted, .. } in rows {
        let stayed =
            evicted.after.resident_pages().map_or("-".to_owned(), |pages| bytes(pages.saturating_mul(PAGE_SIZE)));
        table.row(vec![
            bytes(evicted.after.size),
            pages(&evicted.before),
            pages(&evicted.after),
            stayed,
            String::new(),
        ]);
    }
    let listed_of = if omitted > 0 { format!(", {} listed", grouped(rows.len() as u64)) } else { String::new() };
    let is_told = total.unknown_files < total.files;
    let told = |text: String, otherwise: &str| if is_told { text } else { otherwise.to_owned() };
    let total_label = format!("total of {}{listed_of}", files(total.files));
    table.row(vec![
        bytes(total.size),
        told(grouped(total.resident_pages_before), "unknown"),
        told(grouped(total.resident_pages_after), "unknown"),
        told(bytes(total.resident_pages_after.saturating_mul(PAGE_SIZE)), "-"),
        String::new(),
    ]);
    table.fit_last_column(|row, room| match rows.get(row) {
        Some(row) => fitted(&row.path, room),
        None => total_label.clone(),
    });
    table.render()
}

/// The remaining pages of each file, and why.
fn reason_list(rows: &[EvictedFile]) -> String {
    let mut text = String::new();
    // Unknown residency is reported once for all files.
    let has_reasons = |reasons: &[Stayed]| !matches!(reasons, [] | [Stayed::NotTold(_)]);
    for row in rows.iter().filter(|row| has_reasons(&row.stayed)) {
        text.push_str(&format!("\nstayed of {}\n", fitted(&row.path, MAX_WIDTH - "stayed of ".len())));
        for reason in &row.stayed {
            text.push_str(&wrapped(&sentence(reason), 2));
        }
    }
    text
}
