//! `coldstart pagecache show`: how much of files is resident, and where in them.

use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;

use coldstart_pagecache::{Backing, Cached, Detail, Found, Residency};
use coldstart_profile::{PAGE_SIZE, PageRange};
use serde::Serialize;

use super::list::Shortlist;
use super::passage::{Passed, Untold, files, over_files};
use super::strip::{CELLS, strip};
use crate::args::pagecache::{ShowArgs, SortKey};
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::{JsonPath, fitted};
use crate::output::size::{bytes, grouped, percent};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::{self, json, note};

/// Files listed in a table, unless another number is asked for.
pub(super) const TABLE_LIMIT: usize = 40;

struct Row {
    path: PathBuf,
    strip: String,
    /// Without its ranges, unless they are to be printed: there may be very many.
    residency: Residency,
}

impl Row {
    fn new(path: PathBuf, mut residency: Residency, keep_ranges: bool) -> Self {
        let mut drawn = String::new();
        if let Cached::Known(known) = &mut residency.cached {
            drawn = strip(known.ranges.as_deref().unwrap_or_default(), residency.file_pages);
            if !keep_ranges {
                known.ranges = None;
            }
        }
        Self { path, strip: drawn, residency }
    }
}

#[derive(Default, Serialize)]
struct Total {
    files: u64,
    size: u64,
    file_pages: u64,
    resident_pages: u64,
    resident_bytes: u64,
    /// Files of which the kernel does not tell; their pages are in `file_pages` and not in `resident_pages`.
    unknown_files: u64,
    #[serde(skip)]
    untold: Untold,
    #[serde(skip)]
    in_memory_files: u64,
    #[serde(skip)]
    known_pages: u64,
}

impl Total {
    /// Whether anything is known of any file.
    fn is_told(&self) -> bool {
        self.unknown_files < self.files
    }

    fn add(&mut self, residency: &Residency) {
        self.files += 1;
        // Sizes of sparse files can add up to anything.
        self.size = self.size.saturating_add(residency.size);
        self.file_pages = self.file_pages.saturating_add(residency.file_pages);
        match residency.resident_pages() {
            Some(pages) => {
                self.known_pages = self.known_pages.saturating_add(residency.file_pages);
                self.resident_pages = self.resident_pages.saturating_add(pages);
                self.resident_bytes = self.resident_pages.saturating_mul(PAGE_SIZE);
            }
            None => self.unknown_files += 1,
        }
        self.untold.add(residency);
        if residency.backing == Backing::Memory {
            self.in_memory_files += 1;
        }
    }
}

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let mut total = Total::default();
    let limit = args.list.limit.unwrap_or(if args.list.json { 0 } else { TABLE_LIMIT });
    let mut rows = Shortlist::new(limit, |left: &Row, right: &Row| compare(args.list.sort, left, right));
    let mut complaints = Complaints::default();
    // JSON shows no strip, so that finding ranges would be wasted.
    let detail = if args.ranges || !args.list.json { Detail::Ranges } else { Detail::Counts };
    let passed = over_files(
        &args.files,
        &mut complaints,
        |file| file.residency(detail),
        |Found { path, .. }, residency| {
            total.add(&residency);
            rows.push(Row::new(path, residency, args.ranges));
        },
    );
    let (rows, omitted) = rows.finish();
    if args.list.json {
        print_json(&rows, omitted, &total, passed, complaints.count())?;
    } else {
        if total.files > 0 {
            output::print(&table(&rows, omitted, &total))?;
        }
        if args.ranges {
            output::print(&range_list(&rows))?;
        }
        passed.tell();
        tell(&total);
    }
    let told = if total.unknown_files > 0 { Exit::No } else { Exit::Done };
    Ok(complaints.finish().worse(told))
}

fn compare(sort: Option<SortKey>, left: &Row, right: &Row) -> Ordering {
    let by_path = || left.path.as_os_str().cmp(right.path.as_os_str());
    let descending = |key: fn(&Row) -> u64| Reverse(key(left)).cmp(&Reverse(key(right))).then_with(by_path);
    match sort {
        None => Ordering::Equal,
        Some(SortKey::Path) => by_path(),
        Some(SortKey::Size) => descending(|row| row.residency.size),
        Some(SortKey::Resident) => descending(|row| row.residency.resident_pages().unwrap_or(0)),
    }
}

fn table(rows: &[Row], omitted: u64, total: &Total) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("pages", Align::Right),
        ("resident", Align::Right),
        ("bytes", Align::Right),
        ("share", Align::Right),
        ("where in the file", Align::Left),
        ("file", Align::Left),
    ]);
    for Row { strip, residency, .. } in rows {
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
            strip.clone(),
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
fn range_list(rows: &[Row]) -> String {
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

/// What the table cannot say.
fn tell(total: &Total) {
    total.untold.tell();
    if total.in_memory_files > 0 {
        note(&format!(
            "{} on a file system that lives in memory (tmpfs): what is written there stays resident and cannot be evicted",
            if total.in_memory_files == 1 {
                "1 file is".to_owned()
            } else {
                format!("{} are", files(total.in_memory_files))
            }
        ));
    }
}

/// A file in JSON. Pages are of 4096 bytes.
#[derive(Serialize)]
pub(super) struct JsonResidency {
    size: u64,
    file_pages: u64,
    resident_pages: Option<u64>,
    resident_bytes: Option<u64>,
    dirty_pages: Option<u64>,
    writeback_pages: Option<u64>,
    /// "storage", "memory" or "layered".
    backing: &'static str,
    /// "cachestat", "mincore" or "empty".
    method: Option<&'static str>,
    /// Why nothing is known: "not-permitted", "unsupported", "too-large".
    unknown: Option<&'static str>,
    /// Pairs of first page and number of pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Vec<(u64, u64)>>,
}

impl From<&Residency> for JsonResidency {
    fn from(residency: &Residency) -> Self {
        let known = residency.known();
        let pair = |range: &PageRange| (range.start.0, range.count);
        Self {
            size: residency.size,
            file_pages: residency.file_pages,
            resident_pages: residency.resident_pages(),
            resident_bytes: residency.resident_pages().map(|pages| pages.saturating_mul(PAGE_SIZE)),
            dirty_pages: known.and_then(|known| known.dirty_pages),
            writeback_pages: known.and_then(|known| known.writeback_pages),
            backing: match residency.backing {
                Backing::Storage => "storage",
                Backing::Memory => "memory",
                Backing::Layered => "layered",
            },
            method: known.map(|known| known.method.name()),
            unknown: match residency.cached {
                Cached::Unknown(unknown) => Some(unknown.name()),
                Cached::Known(_) => None,
            },
            ranges: known.and_then(|known| known.ranges.as_ref()).map(|ranges| ranges.iter().map(pair).collect()),
        }
    }
}

fn print_json(rows: &[Row], omitted: u64, total: &Total, passed: Passed, errors: u64) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct File {
        #[serde(flatten)]
        path: JsonPath,
        #[serde(flatten)]
        residency: JsonResidency,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        page_size: u64,
        files: Vec<File>,
        files_omitted: u64,
        total: &'a Total,
        passed_over: Passed,
        errors: u64,
    }
    let file = |row: &Row| File { path: JsonPath::new(&row.path), residency: (&row.residency).into() };
    let files = rows.iter().map(file).collect();
    let body = Body { page_size: PAGE_SIZE, files, files_omitted: omitted, total, passed_over: passed, errors };
    json::print("coldstart.pagecache.show/1", &body)
}
