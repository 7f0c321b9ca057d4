//! `pagecache save`: write the state of the page cache to a file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_output::{Inputs, OutputTarget};
use coldstart_pagecache::{SaveNotes, SavedError, SavedFile, SavedPageCache};
use coldstart_profile::{JsonPath, PAGE_SIZE, printable};
use serde::{Serialize, Serializer};

use crate::error::{AppError, HintExt};
use crate::kinds;
use crate::observer::Observer;
use crate::writing::{try_out, write_file};

/// The name and version of the JSON schema.
pub const SAVE_SCHEMA: &str = "coldstart.pagecache.save/1";

/// What to save, and where to.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// The file to write.
    pub file: PathBuf,
    /// Files or directories to walk; none for every file system on storage.
    pub paths: Vec<PathBuf>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
    /// Whether to replace a file that is not a saved state.
    pub force: bool,
}

/// A state that was saved.
#[derive(Debug)]
pub struct Saved {
    /// The file that was written.
    pub file: PathBuf,
    /// What is in it.
    pub state: SavedPageCache,
    /// What is missing in it.
    pub notes: SaveNotes,
}

/// How saving ended.
#[derive(Debug)]
pub enum Saving {
    /// The state was written.
    Saved(Box<Saved>),
    /// A signal came, and nothing was written.
    Stopped,
}

/// Saves which pages are resident. The file is written when all is known; a signal that `interrupt` notes ends the walk.
///
/// # Errors
/// If the file cannot be written, or the residency is unknown.
pub fn save(options: &SaveOptions, interrupt: &Interrupt, observer: &dyn Observer) -> Result<Saving, AppError> {
    let place = place(options).hint(|| "the first argument, FILE, is the output; name the trees to save after it")?;
    let what = coldstart_pagecache::SaveOptions {
        paths: options.paths.clone(),
        one_file_system: options.one_file_system,
        leave_out: vec![options.file.clone()],
    };
    observer.begin(None);
    let step = |files: u64| {
        (0..files).for_each(|_| observer.step());
        if interrupt.signal().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let saved = SavedPageCache::save(&what, &step);
    observer.end();
    let (state, notes) = match saved {
        Ok(saved) => saved,
        Err(SavedError::Stopped) => return Ok(Saving::Stopped),
        Err(error) => return Err(error.into()),
    };
    let contents = state.to_bytes()?;
    if interrupt.signal().is_some() {
        return Ok(Saving::Stopped);
    }
    write_file(&place, &contents)?;
    Ok(Saving::Saved(Box::new(Saved { file: options.file.clone(), state, notes })))
}

/// The output file, checked to be writable.
fn place(options: &SaveOptions) -> Result<OutputTarget, AppError> {
    let inputs = options
        .paths
        .iter()
        .fold(Inputs::default(), |inputs, path| inputs.with(format!("the saved tree `{}`", printable(path)), path));
    let place = OutputTarget::new(&options.file, kinds::SAVED_PAGE_CACHE, options.force)?.not_over(inputs);
    try_out([&place])?;
    Ok(place)
}

/// Pages of all these files.
pub fn pages_of(files: &[SavedFile]) -> u64 {
    files.iter().map(SavedFile::pages).fold(0, u64::saturating_add)
}

impl Serialize for Saved {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (saved, notes) = (&self.state, &self.notes);
        let refused =
            |path: &Path, error: &std::io::Error| Refused { path: JsonPath::new(path), reason: error.to_string() };
        let paths = |paths: &[PathBuf]| paths.iter().map(|path| JsonPath::new(path)).collect();
        let body = Body {
            file: JsonPath::new(&self.file),
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
        body.serialize(serializer)
    }
}

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
