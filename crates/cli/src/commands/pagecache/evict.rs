//! `coldstart pagecache evict`: remove files from the page cache, and say what stayed and why.

use std::cmp::{Ordering, Reverse};
use std::path::PathBuf;

use coldstart_pagecache::{
    EvictOptions, Evicted, FileKey, Found, Holders, KnownPages, Residency, Stayed, find_holders,
};
use coldstart_profile::PAGE_SIZE;
use serde::Serialize;

use super::list::Shortlist;
use super::metadata::{self, JsonWay, Places};
use super::passage::{Passed, Untold, files, over_files};
use super::reasons::{JsonReason, sentence};
use super::show::{JsonResidency, TABLE_LIMIT};
use crate::args::pagecache::{EvictArgs, SortKey};
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::path::{JsonPath, fitted};
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::wrap::wrapped;
use crate::output::{self, json, note};

struct Row {
    path: PathBuf,
    evicted: Evicted,
}

#[derive(Default, Serialize)]
struct Total {
    files: u64,
    size: u64,
    resident_pages_before: u64,
    resident_pages_after: u64,
    /// Files of which something is known to have stayed.
    stayed_files: u64,
    /// Files of which the kernel does not tell what stayed; not in the numbers of pages.
    unknown_files: u64,
    #[serde(skip)]
    untold: Untold,
}

impl Total {
    fn add(&mut self, evicted: &Evicted) {
        self.files += 1;
        self.size = self.size.saturating_add(evicted.after.size);
        match (evicted.before.resident_pages(), evicted.after.resident_pages()) {
            (Some(before), Some(after)) => {
                self.resident_pages_before = self.resident_pages_before.saturating_add(before);
                self.resident_pages_after = self.resident_pages_after.saturating_add(after);
                self.stayed_files += u64::from(after > 0);
            }
            _ => self.unknown_files += 1,
        }
        self.untold.add(&evicted.after);
    }
}

pub(super) fn run(args: &EvictArgs) -> Result<Exit, CliError> {
    let options = EvictOptions { write_first: args.sync };
    let mut total = Total::default();
    let limit = args.list.limit.unwrap_or(if args.list.json { 0 } else { TABLE_LIMIT });
    let mut rows = Shortlist::new(limit, |left: &Row, right: &Row| compare(args.list.sort, left, right));
    let mut complaints = Complaints::default();
    let mut places = Places::default();
    let passed = over_files(
        &args.files,
        &mut complaints,
        |file| file.evict(options),
        |Found { path, .. }, evicted| {
            total.add(&evicted);
            if args.metadata {
                places.add(&path);
            }
            rows.push(Row { path, evicted });
        },
    );
    let (rows, omitted) = rows.finish();
    let reasons = explain(&rows);
    let ways = args.metadata.then(|| places.evict());
    if args.list.json {
        print_json(&rows, &reasons, omitted, &total, passed, complaints.count(), ways.as_deref())?;
    } else if total.files > 0 {
        let metadata = ways.as_deref().map(metadata::report).unwrap_or_default();
        output::print(&format!("{}{}{metadata}", table(&rows, omitted, &total), reason_list(&rows, &reasons)))?;
    }
    if !args.list.json {
        passed.tell();
        if total.untold.count() > 0 {
            note("files marked unknown were asked to go, and nobody tells us whether they did");
        }
        total.untold.tell();
    }
    let is_partial = ways.as_deref().is_some_and(metadata::is_partial);
    let gone = if total.stayed_files + total.unknown_files > 0 || is_partial { Exit::No } else { Exit::Done };
    Ok(complaints.finish().worse(gone))
}

/// Files of which something stayed come first, unless another order is asked for: they are the news.
fn compare(sort: Option<SortKey>, left: &Row, right: &Row) -> Ordering {
    let by_path = || left.path.as_os_str().cmp(right.path.as_os_str());
    let descending = |key: fn(&Row) -> u64| Reverse(key(left)).cmp(&Reverse(key(right))).then_with(by_path);
    match sort {
        None => left.evicted.is_gone().cmp(&right.evicted.is_gone()),
        Some(SortKey::Path) => by_path(),
        Some(SortKey::Size) => descending(|row| row.evicted.after.size),
        Some(SortKey::Resident) => descending(|row| row.evicted.after.resident_pages().unwrap_or(0)),
    }
}

/// The reasons for each row. Processes are looked through once, for the listed files together.
fn explain(rows: &[Row]) -> Vec<Vec<Stayed>> {
    let key = |row: &Row| match row.evicted.after.known() {
        Some(KnownPages { resident_pages: 1.., .. }) => FileKey::of(&row.path).ok(),
        _ => None,
    };
    let keys: Vec<Option<FileKey>> = rows.iter().map(key).collect();
    let holders: Holders = find_holders(&keys.iter().flatten().cloned().collect::<Vec<_>>());
    let reasons = |(row, key): (&Row, &Option<FileKey>)| {
        let of_file = key.as_ref().map_or(&[][..], |key| holders.of(key));
        row.evicted.reasons(of_file, holders.unreadable_processes)
    };
    rows.iter().zip(&keys).map(reasons).collect()
}

fn table(rows: &[Row], omitted: u64, total: &Total) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("pages before", Align::Right),
        ("after", Align::Right),
        ("stayed", Align::Right),
        ("file", Align::Left),
    ]);
    let pages = |residency: &Residency| residency.resident_pages().map_or("unknown".to_owned(), grouped);
    for Row { evicted, .. } in rows {
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

/// What stayed of which file, and why.
fn reason_list(rows: &[Row], reasons: &[Vec<Stayed>]) -> String {
    let mut text = String::new();
    // What is unknown is said once for all files.
    let has_reasons = |reasons: &[Stayed]| !matches!(reasons, [] | [Stayed::NotTold(_)]);
    for (row, reasons) in rows.iter().zip(reasons).filter(|(_, reasons)| has_reasons(reasons)) {
        text.push_str(&format!("\nstayed of {}\n", fitted(&row.path, MAX_WIDTH - "stayed of ".len())));
        for reason in reasons {
            text.push_str(&wrapped(&sentence(reason), 2));
        }
    }
    text
}

fn print_json(
    rows: &[Row],
    reasons: &[Vec<Stayed>],
    omitted: u64,
    total: &Total,
    passed: Passed,
    errors: u64,
    metadata: Option<&[JsonWay]>,
) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct File {
        #[serde(flatten)]
        path: JsonPath,
        /// `null` when the kernel does not tell.
        gone: Option<bool>,
        before: JsonResidency,
        after: JsonResidency,
        stayed: Vec<JsonReason>,
    }
    #[derive(Serialize)]
    struct Body<'a> {
        page_size: u64,
        files: Vec<File>,
        files_omitted: u64,
        total: &'a Total,
        passed_over: Passed,
        errors: u64,
        /// With --metadata.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<&'a [JsonWay]>,
    }
    let file = |(row, reasons): (&Row, &Vec<Stayed>)| File {
        path: JsonPath::new(&row.path),
        gone: row.evicted.after.resident_pages().map(|pages| pages == 0),
        before: (&row.evicted.before).into(),
        after: (&row.evicted.after).into(),
        stayed: reasons.iter().map(JsonReason::from).collect(),
    };
    let files = rows.iter().zip(reasons).map(file).collect();
    let body =
        Body { page_size: PAGE_SIZE, files, files_omitted: omitted, total, passed_over: passed, errors, metadata };
    json::print("coldstart.pagecache.evict/1", &body)
}
