//! `coldstart pagecache show`: how much of each file is resident, and where.

use coldstart_app::pagecache::{CELLS, SHOW_SCHEMA, ShowOptions, ShowTotal, ShownFile, show};
use coldstart_app::text::counted_are;
use coldstart_profile::PAGE_SIZE;

use super::strip::strip;
use super::words::{files, tell_passed, tell_untold};
use super::{files_options, list_options};
use crate::args::pagecache::ShowArgs;
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped, percent};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::plain;
use crate::output::{self, json, note};

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let options = ShowOptions {
        files: files_options(&args.files),
        list: list_options(&args.list),
        // JSON shows no strip.
        coverage: !args.list.json,
        ranges: args.ranges,
    };
    let console = Console::default();
    let shown = show(&options, &console);
    let total = &shown.total;
    if args.list.json {
        json::print(SHOW_SCHEMA, &shown)?;
    } else {
        if total.files > 0 {
            output::print(&table(&shown.files, shown.files_omitted, total))?;
        }
        if args.ranges {
            output::print(&range_list(&shown.files))?;
        }
        tell_passed(&shown.passed_over);
        tell(total);
    }
    let told = if total.unknown_files > 0 { Exit::No } else { Exit::Done };
    Ok(console.into_complaints().finish().worse(told))
}

fn table(rows: &[ShownFile], omitted: u64, total: &ShowTotal) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("pages", Align::Right),
        ("resident", Align::Right),
        ("bytes", Align::Right),
        ("share", Align::Right),
        ("where in the file", Align::Left),
        ("file", Align::Left),
    ]);
    for ShownFile { coverage, residency, .. } in rows {
        let (resident, resident_bytes, share) = match residency.resident_pages() {
            Some(pages) => {
                (grouped(pages), bytes(pages.saturating_mul(PAGE_SIZE)), percent(pages, residency.file_pages))
            }
            None => ("unknown".to_owned(), "-".to_owned(), "-".to_owned()),
        };
        table.row(vec![
            bytes(residency.size),
            grouped(residency.file_pages),
            resident,
            resident_bytes,
            share,
            strip(coverage),
            String::new(),
        ]);
    }
    let listed_of = if omitted > 0 { format!(", {} listed", grouped(rows.len() as u64)) } else { String::new() };
    let total_label = format!("total of {}{listed_of}", files(total.files));
    table.row(vec![
        bytes(total.size),
        grouped(total.file_pages),
        if total.is_told() { grouped(total.resident_pages) } else { "unknown".to_owned() },
        if total.is_told() { bytes(total.resident_bytes) } else { "-".to_owned() },
        percent(total.resident_pages, total.known_pages),
        " ".repeat(CELLS),
        String::new(),
    ]);
    table.fit_last_column(|row, room| match rows.get(row) {
        Some(row) => fitted(&row.path, room),
        None => total_label.clone(),
    });
    table.render()
}

/// The runs of each listed file, as numbers of pages and as bytes.
fn range_list(rows: &[ShownFile]) -> String {
    let mut text = String::new();
    for row in rows {
        let ranges = row.residency.known().and_then(|known| known.ranges.as_deref()).unwrap_or_default();
        if ranges.is_empty() {
            continue;
        }
        text.push_str(&format!("\nresident in {}\n", fitted(&row.path, MAX_WIDTH - "resident in ".len())));
        for range in ranges {
            let (first, last) = (range.start.0, range.end().0 - 1);
            let what = if range.count == 1 { format!("page {first}") } else { format!("pages {first}-{last}") };
            text.push_str(&format!("  {what}, {} from offset {:#x}\n", bytes(range.length()), range.offset()));
        }
    }
    text
}

/// Notes in addition to the table.
fn tell(total: &ShowTotal) {
    tell_untold(&total.untold);
    if total.in_memory_files > 0 {
        note(&format!(
            "{} on an in-memory file system (tmpfs): always resident, cannot be evicted",
            plain(&counted_are(total.in_memory_files, "file"))
        ));
    }
}
