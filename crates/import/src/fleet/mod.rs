//! From a fleet table, what the hosts of a fleet touched when they started one program, to the trace of a typical start here.
//!
//! An engine such as DuckDB or Spark makes the table (`docs/scale.md`); it has rows for each build of the program and of each file.
//! Not obvious: it is read on the host whose starts are to be faster, because only there can be told which builds are installed.
//! Modification times are not compared between hosts: they differ where an image was unpacked at another time.

mod error;
mod row;

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use coldstart_analyse::{Places, file_seen, identify, kernel_number};
use coldstart_profile::printable;
use coldstart_profile::trace::{
    Event, EventKind, FileCategory, FileId, Layer, Moment, PagesSeen, ProcessId, Run, RunEnd, ThreadId, Touch, Trace,
    TracedFile, TracedProcess, TracedThread,
};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::{NotUsable, open_regular};

pub use error::FleetError;
use row::{FleetRow, WrongLine, rows};

use crate::numbers::build_id_of;

/// The largest table that is read, in bytes: some millions of ranges.
const MOST_BYTES: u64 = 1 << 30;

/// Files that are named one by one in a note.
const NAMED: usize = 3;

/// A fleet table, as far as it is about the build of the program that is here.
#[derive(Debug)]
pub struct FleetTable {
    program: PathBuf,
    /// Hosts with this build.
    hosts: u64,
    /// The median start, microseconds.
    start_us: u64,
    /// By path, with the rows of the version that is here.
    files: BTreeMap<PathBuf, Vec<FleetRow>>,
    /// Files that differ here, and that are missing here.
    others: BTreeSet<PathBuf>,
    gone: BTreeSet<PathBuf>,
}

/// Whether a file begins as a fleet table does: with a JSON object.
pub fn is_fleet_table(start: &[u8]) -> bool {
    start.trim_ascii_start().first() == Some(&b'{')
}

impl FleetTable {
    /// Reads a table, and keeps the rows that are about the program and the files that are here.
    ///
    /// # Errors
    /// If it cannot be read, a line is not a row, it is of several programs, or nothing in it is about what is here.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let io = |source| FleetError::Io { path: path.to_owned(), source };
        let file = open_regular(path).map_err(io)?;
        if file.metadata().map_err(io)?.len() > MOST_BYTES {
            return Err(io(NotUsable::TooLarge { limit: MOST_BYTES }.into()));
        }
        let view = FileView::map(file).map_err(io)?;
        let rows = rows(view.bytes());
        if view.shrank() {
            return Err(FleetError::Shrank { path: path.to_owned() });
        }
        let to_path = path.to_owned();
        let rows =
            rows.map_err(|WrongLine { line, place, what }| FleetError::Line { path: to_path, line, place, what })?;
        Self::of(path, rows)
    }

    fn of(path: &Path, rows: Vec<FleetRow>) -> Result<Self, FleetError> {
        let first = rows.first().ok_or_else(|| FleetError::Empty { path: path.to_owned() })?;
        let program = first.program.clone();
        if let Some(other) = rows.iter().find(|row| row.program != program) {
            let (path, other) = (path.to_owned(), other.program.clone());
            return Err(FleetError::Programs { path, first: program, other });
        }
        let here = build_here(Path::new(&program));
        let there: BTreeSet<Option<String>> = rows.iter().map(|row| row.program_build_id.clone()).collect();
        let build = here.as_ref().ok().filter(|here| there.contains(*here));
        let Some(build) = build else {
            let (path, here) = (path.to_owned(), here.map_or_else(|reason| reason, |id| in_words(id.as_ref())));
            let there = there.iter().map(|id| in_words(id.as_ref())).collect::<Vec<_>>().join(", ");
            return Err(FleetError::Builds { path, program, here, there });
        };
        let mut table = Self {
            program: PathBuf::from(program),
            hosts: 0,
            start_us: 1,
            files: BTreeMap::new(),
            others: BTreeSet::new(),
            gone: BTreeSet::new(),
        };
        let mut by_path: BTreeMap<PathBuf, Vec<FleetRow>> = BTreeMap::new();
        for row in rows.into_iter().filter(|row| row.program_build_id == *build) {
            table.hosts = table.hosts.max(row.of_hosts);
            table.start_us = table.start_us.max(row.start_us);
            by_path.entry(PathBuf::from(&row.path)).or_default().push(row);
        }
        by_path.into_iter().for_each(|(path, rows)| table.add(path, rows));
        if table.files.is_empty() { Err(FleetError::NoFiles { path: path.to_owned() }) } else { Ok(table) }
    }

    /// Takes the rows of the version that is here.
    fn add(&mut self, path: PathBuf, mut rows: Vec<FleetRow>) {
        let Ok(metadata) = std::fs::metadata(&path) else {
            self.gone.insert(path);
            return;
        };
        rows.retain(|row| row.size == metadata.len());
        if rows.iter().any(|row| row.build_id.is_some()) {
            // A file that cannot be read has no build id, and cannot be prefetched either.
            let here = build_here(&path).unwrap_or_default();
            rows.retain(|row| row.build_id == here);
        }
        match rows.is_empty() {
            true => self.others.insert(path),
            false => self.files.insert(path, rows).is_some(),
        };
    }

    /// The trace of a start that touches the pages that at least `share` percent of the hosts touched, in the order of
    /// the hosts' medians.
    pub fn trace(&self, share: u8) -> Trace {
        let mut files = Vec::new();
        let mut events = Vec::new();
        for (path, rows) in &self.files {
            let file = FileId(u32::try_from(files.len()).unwrap_or(u32::MAX));
            let known = events.len();
            events.extend(rows.iter().filter(|row| row.reaches(share)).map(|row| touch(file, row)));
            if let Some(traced) = traced(path).filter(|_| events.len() > known) {
                files.push(traced);
            } else {
                events.truncate(known);
            }
        }
        events.sort_by_key(|event| (event.at, event.file, event.page));
        let places = Places::here(&self.program);
        identify(&mut files, &|path| file_seen(path, None), &|path| places.category(path, false));
        let process = TracedProcess {
            number: 1,
            program: self.program.clone(),
            arguments: vec![self.program.clone().into()],
            executed: true,
            pages: PagesSeen::Each,
            ..TracedProcess::default()
        };
        Trace {
            run: self.run(share),
            processes: vec![process],
            threads: vec![TracedThread { number: 1, process: ProcessId(0) }],
            files,
            events,
            ..Trace::default()
        }
    }

    fn run(&self, share: u8) -> Run {
        let end = Moment(self.start_us.saturating_mul(1000));
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Run {
            command: vec![self.program.clone().into()],
            // Files that changed until now are files as they are.
            started: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            layers: vec![Layer::Pages, Layer::Files],
            pages: PagesSeen::Each,
            ready_at: Some(end),
            ended_at: end,
            end: RunEnd::EndedWhenReady,
            readiness: "its end".to_owned(),
            complete: true,
            notes: self.notes(share),
            ..Run::default()
        }
    }

    /// Where the trace comes from and what it lacks, a sentence each.
    pub fn notes(&self, share: u8) -> Vec<String> {
        let mut notes = vec![format!(
            "It is no single start: it was merged from the starts of {} hosts with this build of the program, and has what at \
             least {share} % of them touched. Names that they looked up are not in it.",
            self.hosts
        )];
        let others = (&self.others, "here in another version than on all those hosts");
        for (paths, how) in [others, (&self.gone, "not here")] {
            let named: Vec<String> = paths.iter().take(NAMED).map(|path| format!("`{}`", printable(path))).collect();
            if !named.is_empty() {
                let more = if paths.len() > NAMED { ", ..." } else { "" };
                notes.push(format!(
                    "Files left out because they are {how}: {} ({}{more}).",
                    paths.len(),
                    named.join(", ")
                ));
            }
        }
        notes
    }

    /// Hosts with the build of the program that is here.
    pub fn hosts(&self) -> u64 {
        self.hosts
    }

    /// Bytes of the files that are here that fewer than `share` percent of the hosts touched.
    pub fn left_out_bytes(&self, share: u8) -> u64 {
        let rows = self.files.values().flatten().filter(|row| !row.reaches(share));
        rows.map(|row| row.pages.saturating_mul(coldstart_profile::PAGE_SIZE)).fold(0, u64::saturating_add)
    }

    /// Files that are here in another version, in order.
    pub fn others(&self) -> impl Iterator<Item = &Path> {
        self.others.iter().map(PathBuf::as_path)
    }
}

fn touch(file: FileId, row: &FleetRow) -> Event {
    Event {
        at: Moment(row.first_use_us.saturating_mul(1000)),
        thread: ThreadId(0),
        kind: EventKind::Touch(Touch { first_of_run: true, ..Touch::default() }),
        file: Some(file),
        page: row.page,
        // Checked when it was read.
        pages: u32::try_from(row.pages).unwrap_or(u32::MAX),
        code: None,
    }
}

/// A file as it is here.
fn traced(path: &Path) -> Option<TracedFile> {
    let metadata = std::fs::metadata(path).ok()?;
    Some(TracedFile {
        path: path.to_owned(),
        device: kernel_number(metadata.dev()),
        inode: metadata.ino(),
        identity: None,
        category: FileCategory::System,
    })
}

/// The build id of a local file, in hexadecimal; or why it cannot be told, a clause.
fn build_here(path: &Path) -> Result<Option<String>, String> {
    open_regular(path).map_err(|error| error.to_string())?;
    Ok(build_id_of(path).map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()))
}

fn in_words(build_id: Option<&String>) -> String {
    build_id.cloned().unwrap_or_else(|| "no build id".to_owned())
}
