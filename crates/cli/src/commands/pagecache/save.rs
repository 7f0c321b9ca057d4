//! `coldstart pagecache save`: what the page cache holds, written to a file.

use std::ops::ControlFlow;
use std::path::Path;

use coldstart_app::kinds;
use coldstart_app::writing::{try_out, write_file};
use coldstart_launch::Interrupt;
use coldstart_output::{Inputs, OutputPlace};
use coldstart_pagecache::{SaveNotes, SaveOptions, SavedError, SavedFile, SavedPageCache};
use coldstart_profile::PAGE_SIZE;
use serde::Serialize;

use super::passage::files;
use crate::args::pagecache::SaveArgs;
use crate::commands::progress::Progress;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::{JsonPath, printable};
use crate::output::size::{bytes, grouped};
use crate::output::text::{counted, escaped, plain};
use crate::output::{self, hint, json, note};

/// Paths named in one note; more are only counted.
const PATHS_NAMED: usize = 3;

pub(super) fn run(args: &SaveArgs) -> Result<Exit, CliError> {
    let place = place(args).hint(|| "FILE, the first argument, is what is written; trees to save come behind it")?;
    let interrupt = Interrupt::listen()?;
    let options = SaveOptions {
        paths: args.paths.clone(),
        one_file_system: args.one_file_system,
        leave_out: vec![args.file.clone()],
    };
    let progress = Progress::new();
    let step = |files: u64| {
        (0..files).for_each(|_| progress.step());
        if interrupt.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let saved = SavedPageCache::save(&options, &step);
    progress.finish();
    let (saved, notes) = match saved {
        Ok(saved) => saved,
        Err(SavedError::Stopped) => return Ok(stopped()),
        Err(error) => return Err(error.into()),
    };
    let contents = saved.to_bytes()?;
    if interrupt.signal().is_some() {
        return Ok(stopped());
    }
    write_file(&place, &contents)?;
    if args.json {
        print_json(args, &saved, &notes)?;
    } else {
        output::print(&summary(&args.file, &saved))?;
        tell(&saved, &notes);
    }
    Ok(Exit::Done)
}

/// The file's place, tried out.
fn place(args: &SaveArgs) -> Result<OutputPlace, CliError> {
    let inputs = args.paths.iter().fold(Inputs::default(), |inputs, path| {
        inputs.with(format!("`{}`, whose pages are to be saved", printable(path)), path)
    });
    let place = OutputPlace::new(&args.file, kinds::SAVED_PAGE_CACHE, args.force.force)?.not_over(inputs);
    try_out([&place])?;
    Ok(place)
}

fn stopped() -> Exit {
    note("stopped by a signal: nothing was written");
    Exit::Interrupted
}

fn pages_of(files: &[SavedFile]) -> u64 {
    files.iter().map(SavedFile::pages).fold(0, u64::saturating_add)
}

fn summary(file: &Path, saved: &SavedPageCache) -> String {
    let pages = pages_of(saved.files());
    let mut text = format!(
        "saved {} ({}) of {} to `{}`\nwith {} and {} on the way to them",
        counted(pages, "page"),
        bytes(pages.saturating_mul(PAGE_SIZE)),
        files(saved.files().len() as u64),
        printable(file),
        match saved.directories().len() as u64 {
            1 => "1 directory".to_owned(),
            count => format!("{} directories", grouped(count)),
        },
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

/// What the state does not hold.
fn tell(saved: &SavedPageCache, notes: &SaveNotes) {
    if notes.hidden_files > 0 {
        note(&format!(
            "hidden from this user: {}, which may not be opened, or whose pages Linux shows only to the owner",
            files(notes.hidden_files)
        ));
        hint("run as root to see all");
    }
    if notes.failed_files > 0 {
        note(&format!("left out {} that the kernel or the disk failed on", files(notes.failed_files)));
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
            "metadata pages of `{}` cannot be seen: {}; directories and symbolic links stand in for them",
            printable(&device.path),
            escaped(&device.reason.to_string())
        ));
    }
    tell_mounts("on a server or served by a program, so left out unless named", &notes.network_mounts);
    tell_mounts("hidden by what is mounted over it, so out of reach", &notes.hidden_mounts);
    if notes.in_memory > 0 {
        note("nothing was saved of what lives in memory or shows kernel state: there is nothing to bring back");
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

fn print_json(args: &SaveArgs, saved: &SavedPageCache, notes: &SaveNotes) -> Result<(), CliError> {
    #[derive(Serialize)]
    struct Refused {
        #[serde(flatten)]
        path: JsonPath,
        reason: String,
    }
    #[derive(Serialize)]
    struct Body {
        file: JsonPath,
        page_size: u64,
        whole_system: bool,
        files: usize,
        pages: u64,
        devices: usize,
        device_pages: u64,
        directories: usize,
        symbolic_links: usize,
        looked_at: u64,
        hidden_files: u64,
        failed_files: u64,
        /// The first 20.
        unread: Vec<Refused>,
        unread_directories: u64,
        unseen_devices: Vec<Refused>,
        network_mounts: Vec<JsonPath>,
        hidden_mounts: Vec<JsonPath>,
        page_cache_bytes: Option<u64>,
    }
    let refused =
        |path: &Path, error: &std::io::Error| Refused { path: JsonPath::new(path), reason: error.to_string() };
    let paths = |paths: &[std::path::PathBuf]| paths.iter().map(|path| JsonPath::new(path)).collect();
    let body = Body {
        file: JsonPath::new(&args.file),
        page_size: PAGE_SIZE,
        whole_system: saved.origin().is_whole_system,
        files: saved.files().len(),
        pages: pages_of(saved.files()),
        devices: saved.devices().len(),
        device_pages: pages_of(saved.devices()),
        directories: saved.directories().len(),
        symbolic_links: saved.links().len(),
        looked_at: notes.looked_at,
        hidden_files: notes.hidden_files,
        failed_files: notes.failed_files,
        unread: notes.unread.iter().map(|(path, error)| refused(path, error)).collect(),
        unread_directories: notes.unread_directories,
        unseen_devices: notes.unseen_devices.iter().map(|device| refused(&device.path, &device.reason)).collect(),
        network_mounts: paths(&notes.network_mounts),
        hidden_mounts: paths(&notes.hidden_mounts),
        page_cache_bytes: notes.page_cache,
    };
    json::print("coldstart.pagecache.save/1", &body)
}
