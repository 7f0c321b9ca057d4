//! `coldstart pagecache restore`: restore a saved state, and report how close the result is.

use coldstart_app::pagecache::{RESTORE_SCHEMA, restore};
use coldstart_pagecache::{Missing, Origin, Restored};

use crate::args::pagecache::RestoreArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::{counted, escaped, plain};
use crate::output::{self, json, note};

/// Maximum number of listed missing items; JSON has all.
const MISSING_LISTED: usize = 20;

pub(super) fn run(args: &RestoreArgs) -> Result<Exit, CliError> {
    let restoration = restore(&args.file, !args.add)?;
    let restored = &restoration.restored;
    if args.json {
        json::print(RESTORE_SCHEMA, &restoration)?;
    } else {
        output::print(&table(restored))?;
        output::print(&list(&restored.missing))?;
        tell(restoration.saved.origin(), restored);
    }
    Ok(if restored.is_close() { Exit::Done } else { Exit::No })
}

fn table(restored: &Restored) -> String {
    let mut table = Table::new(&[
        ("", Align::Left),
        ("asked", Align::Right),
        ("back", Align::Right),
        ("missing", Align::Right),
        ("extra", Align::Right),
    ]);
    let mut row = |name: &str, asked: u64, back: u64, extra: Option<u64>| {
        table.row(vec![
            name.to_owned(),
            grouped(asked),
            grouped(back),
            grouped(asked.saturating_sub(back)),
            extra.map_or("-".to_owned(), grouped),
        ]);
    };
    row("pages of files", restored.files.asked, restored.files.back, Some(restored.files.extra));
    row("pages of block devices", restored.devices.asked, restored.devices.back, Some(restored.devices.extra));
    row("directories", restored.directories.asked, restored.directories.back, None);
    row("symbolic links", restored.links.asked, restored.links.back, None);
    table.render()
}

fn list(missing: &[Missing]) -> String {
    let mut text = String::new();
    for missing in missing.iter().take(MISSING_LISTED) {
        let what = if missing.pages == 0 { String::new() } else { format!("{} of ", counted(missing.pages, "page")) };
        let reason = missing.reason.to_string();
        let room = MAX_WIDTH.saturating_sub(what.len() + reason.len() + 6).max(20);
        text.push_str(&format!("  {what}{}: {reason}\n", fitted(&missing.path, room)));
    }
    let more = missing.len().saturating_sub(MISSING_LISTED);
    if more > 0 {
        text.push_str(&format!("  {} more; --json lists all\n", grouped(more as u64)));
    }
    if text.is_empty() { text } else { plain(&format!("\nmissing\n{text}")) }
}

/// Notes in addition to the table.
fn tell(origin: &Origin, restored: &Restored) {
    if restored.files.asked == 0 {
        note("the saved page cache has no pages of files");
    }
    if restored.read_twice > 0 {
        note(&plain(&format!(
            "{} were evicted again before the check and were read again: this kernel reclaims unused pages, or \
             memory is short",
            counted(restored.read_twice, "page")
        )));
    }
    if restored.files.extra > 0 {
        note(
            "extra pages are in the recorded files but were not saved: running programs map them, or another process read them",
        );
    }
    if let Some(elsewhere) = restored.elsewhere().filter(|_| restored.dropped) {
        note(&format!(
            "the page cache also holds {}: pages that could not be dropped (mapped by running programs, not yet written), \
             metadata, and what others read meanwhile",
            bytes(elsewhere)
        ));
    }
    if origin.hidden_files > 0 {
        note(&plain(&format!("the pages of {} were hidden when it was saved", counted(origin.hidden_files, "file"))));
    }
    if !origin.kernel.is_empty() && origin.kernel != Origin::here().kernel {
        note(&format!("it was saved under Linux {}", escaped(&String::from_utf8_lossy(&origin.kernel))));
    }
}
