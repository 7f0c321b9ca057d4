//! From kernel events and names to the pieces of a trace.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use coldstart_analyse::{Places, kernel_number};
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, FillCause, Lookup, LookupKind, Moment, ProcessId, ThreadId, TracedFile,
};

use super::known::KnownFiles;
use super::log::{DiskFill, DiskLog, FileKey};
use crate::{NameLog, SeenName, SeenRequest};

/// Facts about the run from elsewhere.
pub struct Setting<'run> {
    /// `CLOCK_MONOTONIC` at the launch.
    pub launched_at: Duration,
    /// Whose files are whose.
    pub places: &'run Places,
    /// Paths of the files that the kernel identifies by number.
    pub known: &'run KnownFiles,
    /// The thread of the trace that had a number at a moment.
    pub thread: &'run dyn Fn(u32, Moment) -> Option<ThreadId>,
    /// The process of the trace that had a number at a moment.
    pub process: &'run dyn Fn(u32, Moment) -> Option<ProcessId>,
}

impl std::fmt::Debug for Setting<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Setting").field("launched_at", &self.launched_at).finish_non_exhaustive()
    }
}

/// Pieces of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiskPieces {
    /// Files that were there before, then those that came to it in the order of first use. Numbers of files before stay.
    pub files: Vec<TracedFile>,
    /// Reads and fills in order of time.
    pub events: Vec<Event>,
    /// In order of time.
    pub lookups: Vec<Lookup>,
    /// What was left out, a sentence each.
    pub notes: Vec<String>,
}

/// Turns what was seen into pieces of a trace, whose list of files so far is `files`.
///
/// Fills by processes that are not of the program are kept where the program used the same file. Their thread, which is none of the
/// trace's, is given as the first of the trace; so are threads that `Setting::thread` does not know. Fills by the thread that looked
/// names up for us are counted as demanded by the thread whose name it was, which would have asked for them itself.
pub fn disk_pieces(log: &DiskLog, names: &NameLog, setting: &Setting<'_>, files: Vec<TracedFile>) -> DiskPieces {
    let mut list = FileList::new(setting, files);
    let mut pieces = DiskPieces::default();
    let moment = |at: Duration| {
        let since = at.saturating_sub(setting.launched_at).as_nanos();
        Moment(u64::try_from(since).unwrap_or(u64::MAX))
    };
    for name in names.names.iter().filter(|name| name.request != SeenRequest::Existence) {
        list.add_name(name);
    }
    let thread = |number, at| (setting.thread)(number, at).unwrap_or(ThreadId(0));
    let event = |at, number, kind, file, page, pages: u64| {
        let at = moment(at);
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        Event { at, thread: thread(number, at), kind, file: Some(file), page, pages, code: None }
    };
    for read in &log.reads {
        let file = list.id(read.file);
        pieces.events.push(event(read.at, read.thread, EventKind::Read, file, read.page, read.pages));
    }
    let fills: Vec<DiskFill> = log.fills.iter().map(|fill| on_whose_behalf(*fill, names)).collect();
    let (others, own): (Vec<&DiskFill>, Vec<&DiskFill>) =
        fills.iter().filter(|fill| fill.at >= setting.launched_at).partition(|fill| fill.cause == FillCause::Other);
    for fill in own {
        let file = list.id(fill.file);
        pieces.events.push(event(fill.at, fill.thread, EventKind::Fill(fill.cause), file, fill.page, fill.pages));
    }
    let mut left_out = 0u64;
    for fill in others {
        match list.known_id(fill.file) {
            Some(file) => {
                pieces.events.push(event(
                    fill.at,
                    fill.thread,
                    EventKind::Fill(fill.cause),
                    file,
                    fill.page,
                    fill.pages,
                ));
            }
            None => left_out = left_out.saturating_add(fill.pages),
        }
    }
    if left_out > 0 {
        pieces.notes.push(format!(
            "Other processes read {left_out} pages of 4 KiB meanwhile, of files that the program did not use; they are left out."
        ));
    }
    pieces.events.sort_by_key(|event| event.at);
    pieces.lookups = names.names.iter().map(|name| lookup(name, moment(name.at), setting, &list)).collect();
    pieces.lookups.sort_by_key(|lookup| lookup.at);
    pieces.files = list.files;
    pieces
}

/// Metadata read by our own look-ups counts as the program's, which would have read it: it is stopped until we are done.
fn on_whose_behalf(fill: DiskFill, names: &NameLog) -> DiskFill {
    if fill.cause != FillCause::Other || names.observer != Some(fill.thread) {
        return fill;
    }
    let behind = names.names.partition_point(|name| name.at <= fill.at);
    let name = behind.checked_sub(1).and_then(|last| names.names.get(last));
    DiskFill { cause: FillCause::Demand, thread: name.map_or(0, |name| name.thread), ..fill }
}

fn lookup(name: &SeenName, at: Moment, setting: &Setting<'_>, list: &FileList<'_>) -> Lookup {
    Lookup {
        at,
        process: name.process.and_then(|number| (setting.process)(number, at)),
        path: name.path.clone(),
        kind: match name.request {
            SeenRequest::Content => LookupKind::Open,
            SeenRequest::Entries => LookupKind::List,
            SeenRequest::Existence => LookupKind::Ask,
        },
        file: name
            .file
            .as_ref()
            .and_then(|file| list.known_id(FileKey { device: kernel_number(file.device), inode: file.inode })),
        failed: name.failed,
    }
}

/// The files of a trace, and the numbers that mean each.
struct FileList<'run> {
    setting: &'run Setting<'run>,
    files: Vec<TracedFile>,
    by_key: HashMap<FileKey, FileId>,
    by_path: HashMap<PathBuf, FileId>,
}

impl<'run> FileList<'run> {
    fn new(setting: &'run Setting<'run>, files: Vec<TracedFile>) -> Self {
        let (mut by_key, mut by_path) = (HashMap::new(), HashMap::new());
        for (file, number) in files.iter().zip(0u32..) {
            by_key.entry(FileKey { device: file.device, inode: file.inode }).or_insert(FileId(number));
            by_path.entry(file.path.clone()).or_insert(FileId(number));
        }
        Self { setting, files, by_key, by_path }
    }

    fn add_name(&mut self, name: &SeenName) {
        if let Some(file) = name.file.as_ref().filter(|file| file.is_regular || file.is_directory) {
            self.id(FileKey { device: kernel_number(file.device), inode: file.inode });
        }
    }

    /// The file's place, where it is in the list.
    fn known_id(&self, key: FileKey) -> Option<FileId> {
        self.by_key.get(&key).copied().or_else(|| {
            let (known, _) = self.setting.known.find(key)?;
            self.by_key.get(&known).copied()
        })
    }

    /// The file's place; it is added where it is not in the list.
    fn id(&mut self, key: FileKey) -> FileId {
        if let Some(id) = self.known_id(key) {
            return id;
        }
        let file = self.describe(key);
        let id = match self.by_path.get(&file.path) {
            Some(id) => *id,
            None => {
                let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
                self.by_path.insert(file.path.clone(), id);
                self.by_key.insert(FileKey { device: file.device, inode: file.inode }, id);
                self.files.push(file);
                id
            }
        };
        self.by_key.insert(key, id);
        id
    }

    fn describe(&self, key: FileKey) -> TracedFile {
        let known = self.setting.known;
        if let Some(path) = known.block_device(key) {
            let category = FileCategory::Metadata;
            return TracedFile {
                path: path.to_path_buf(),
                device: key.device,
                inode: key.inode,
                identity: None,
                category,
            };
        }
        match known.find(key) {
            Some((key, file)) => TracedFile {
                path: file.path.clone(),
                device: key.device,
                inode: key.inode,
                identity: file.identity,
                category: self.setting.places.category(&file.path, false),
            },
            None => {
                let (major, minor) = (key.device >> 20, key.device & 0xf_ffff);
                let path = PathBuf::from(format!("(unnamed inode {} of {major}:{minor})", key.inode));
                let category = self.setting.places.category(&path, false);
                TracedFile { path, device: key.device, inode: key.inode, identity: None, category }
            }
        }
    }
}

#[cfg(test)]
mod tests;
