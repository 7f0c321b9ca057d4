//! `coldstart pagecache save`: write the state of the page cache to a file.

use std::path::Path;

use coldstart_app::pagecache::{SAVE_SCHEMA, SaveOptions, Saved, Saving, pages_of, save};
use coldstart_launch::Interrupt;
use coldstart_pagecache::{SaveNotes, SavedPageCache};
use coldstart_profile::PAGE_SIZE;

use super::words::files;
use crate::args::pagecache::SaveArgs;
use crate::commands::observer::Console;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::size::{bytes, grouped};
use crate::output::text::{counted, escaped, plain};
use crate::output::{self, hint, json, note};

/// Maximum number of paths in one note; more are only counted.
const PATHS_NAMED: usize = 3;

pub(super) fn run(args: &SaveArgs) -> Result<Exit, CliError> {
    let options = SaveOptions {
        file: args.file.clone(),
        paths: args.paths.clone(),
        one_file_system: args.one_file_system,
        force: args.force.force,
    };
    let saved = match save(&options, &Interrupt::listen()?, &Console::default())? {
        Saving::Saved(saved) => saved,
        Saving::Stopped => {
            note("stopped by a signal: nothing was written");
            return Ok(Exit::Interrupted);
        }
    };
    if args.json {
        json::print(SAVE_SCHEMA, &*saved)?;
    } else {
        let Saved { file, state, notes } = &*saved;
        output::print(&summary(file, state))?;
        tell(state, notes);
    }
    Ok(Exit::Done)
}

fn summary(file: &Path, saved: &SavedPageCache) -> String {
    let pages = pages_of(saved.files());
    let mut text = format!(
        "saved {} ({}) of {} to `{}`\nwith {} and {} on the way to them",
        counted(pages, "page"),
        bytes(pages.saturating_mul(PAGE_SIZE)),
        files(saved.files().len() as u64),
        printable(file),
        counted(saved.directories().len() as u64, "directory"),
        counted(saved.links().len() as u64, "symbolic link"),
    );
    for device in saved.devices() {
        let pages = device.pages();
        text.push_str(&format!(
            "\nand {} ({}) of `{}`",
            counted(pages, "page"),
            bytes(pages.saturating_mul(PAGE_SIZE)),
            printable(&device.path)
        ));
    }
    text.push('\n');
    plain(&text)
}

/// What is missing in the state.
fn tell(saved: &SavedPageCache, notes: &SaveNotes) {
    if notes.hidden_files > 0 {
        note(&format!(
            "hidden from this user: {} that cannot be opened, or have pages that Linux shows only to the owner",
            files(notes.hidden_files)
        ));
        hint("run as root to see all");
    }
    if notes.failed_files > 0 {
        note(&format!("left out {} because of kernel or disk errors", files(notes.failed_files)));
    }
    for (path, error) in notes.unread.iter().take(PATHS_NAMED) {
        note(&format!("cannot read the directory `{}`: {}", printable(path), escaped(&error.to_string())));
    }
    let more = notes.unread_directories.saturating_sub(notes.unread.len().min(PATHS_NAMED) as u64);
    if more > 0 {
        note(&plain(&format!("{} more directories cannot be read", grouped(more))));
    }
    for device in &notes.unseen_devices {
        note(&format!(
            "metadata pages of `{}` are hidden: {}; directories and symbolic links are recorded instead",
            printable(&device.path),
            escaped(&device.reason.to_string())
        ));
    }
    tell_mounts("on a network or FUSE file system, so left out unless named", &notes.network_mounts);
    tell_mounts("hidden by another mount", &notes.hidden_mounts);
    if notes.in_memory > 0 {
        note("nothing was saved from in-memory file systems and kernel state, which cannot be restored");
    }
    if let Some(cached) = notes.page_cache.filter(|_| saved.origin().is_whole_system) {
        let recorded = saved.pages().saturating_mul(PAGE_SIZE);
        note(&format!(
            "the page cache held {}, of which {} are recorded; the rest are deleted files, hidden files and metadata",
            bytes(cached),
            bytes(recorded.min(cached))
        ));
    }
}

fn tell_mounts(why: &str, mounts: &[std::path::PathBuf]) {
    let named: Vec<String> = mounts.iter().take(PATHS_NAMED).map(|mount| format!("`{}`", printable(mount))).collect();
    let more = mounts.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    if !named.is_empty() {
        note(&format!("{}{more}: {why}", named.join(", ")));
    }
}
