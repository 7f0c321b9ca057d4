//! What one start touched: pages of files, for merging the starts of many hosts.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::figures::Stages;
use coldstart_profile::trace::{EventKind, FileCategory, FileId, Moment, PagesSeen, Trace, TracedFile};

use crate::column::row;

row! {
    /// One page of one file that one start touched, mapped or by `read`, until it was ready.
    TouchRow in "touches" {
        /// The host, as it was named.
        host: String,
        /// The program.
        program: String,
        /// Its build id in hexadecimal: hosts with different ones have different versions.
        program_build_id: Option<String>,
        /// The file, without symbolic links.
        path: String,
        /// Its build id.
        build_id: Option<String>,
        /// Its size in bytes; absent if it was removed during the start.
        size: Option<u64>,
        /// The page: the offset in the file divided by 4096.
        page: u64,
        /// When it was touched first, by any process of the start: nanoseconds since the launch.
        at_ns: u64,
        /// When the program was ready, or ended: nanoseconds since the launch.
        start_ns: u64,
        /// The part of the start in which it was touched, such as `loading` or `main`; `other` without phases.
        stage: &'static str,
        /// Whether each page's first touch was seen; otherwise the kernel mapped up to 16 pages around a touch unseen.
        is_each_page_seen: bool,
    }
}

row! {
    /// One file that one start used.
    TracedFileRow in "files" {
        /// The host, as it was named.
        host: String,
        /// The program.
        program: String,
        /// Its build id.
        program_build_id: Option<String>,
        /// The file, without symbolic links.
        path: String,
        /// Its build id.
        build_id: Option<String>,
        /// Its size in bytes; absent if it was removed during the start.
        size: Option<u64>,
        /// Whose it is: `program`, `system`, `profile`, `data`, `metadata` (of the file system) or `memory`.
        category: &'static str,
        /// Its pages in `touches`.
        touched_pages: u64,
    }
}

/// More pages than any start touches: 64 GiB.
const MOST_PAGES: u64 = 16 << 20;

/// The tables of one trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Touched {
    /// In order of time.
    pub touches: Vec<TouchRow>,
    /// In order of first use.
    pub files: Vec<TracedFileRow>,
}

/// Why a trace has no tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTouched {
    /// It was recorded without page touches.
    NoPages,
    /// The program that was named is no file of it.
    NoProgram,
    /// It has too many pages for any start.
    TooManyPages,
}

impl Touched {
    /// What a start touched. `program` is the program's file; `None` for what the first process became.
    ///
    /// # Errors
    /// If the trace has no page touches, or does not have the program.
    pub fn of(trace: &Trace, host: &str, program: Option<&Path>) -> Result<Self, NotTouched> {
        if trace.run.pages == PagesSeen::None {
            return Err(NotTouched::NoPages);
        }
        let build_ids: HashMap<FileId, &str> =
            trace.objects.iter().filter_map(|object| Some((object.file, object.build_id.as_deref()?))).collect();
        let build_id = |file: FileId| build_ids.get(&file).map(|id| (*id).to_owned());
        let numbered = || (0u32..).map(FileId).zip(&trace.files);
        let named = program.or_else(|| first_program(trace)).ok_or(NotTouched::NoProgram)?;
        let program_file = numbered().find(|(_, file)| file.path == named).map(|(id, _)| id);
        if program.is_some() && program_file.is_none() {
            return Err(NotTouched::NoProgram);
        }
        let (program, program_build_id) = (shown(named), program_file.and_then(build_id));

        let row = |touch: PageTouch<'_>| TouchRow {
            host: host.to_owned(),
            program: program.clone(),
            program_build_id: program_build_id.clone(),
            path: shown(&touch.file.path),
            build_id: build_id(touch.id),
            size: size_of(touch.file),
            page: touch.page,
            at_ns: touch.at.0,
            start_ns: ready_at(trace).0,
            stage: touch.stage,
            is_each_page_seen: touch.is_each_page_seen,
        };
        let touches: Vec<TouchRow> = touches(trace)?.into_iter().map(row).collect();
        let mut pages: HashMap<&str, u64> = HashMap::new();
        touches.iter().for_each(|row| *pages.entry(&row.path).or_default() += 1);
        let file = |(id, file): (FileId, &TracedFile)| {
            let path = shown(&file.path);
            TracedFileRow {
                host: host.to_owned(),
                program: program.clone(),
                program_build_id: program_build_id.clone(),
                build_id: build_id(id),
                size: size_of(file),
                category: file.category.name(),
                touched_pages: pages.get(path.as_str()).copied().unwrap_or(0),
                path,
            }
        };
        let files = numbered().map(file).collect();
        Ok(Self { touches, files })
    }
}

/// The first touch of a page.
struct PageTouch<'trace> {
    id: FileId,
    file: &'trace TracedFile,
    page: u64,
    at: Moment,
    stage: &'static str,
    is_each_page_seen: bool,
}

/// When the start was over.
fn ready_at(trace: &Trace) -> Moment {
    trace.run.ready_at.unwrap_or(trace.run.ended_at)
}

/// Each page once.
fn touches(trace: &Trace) -> Result<Vec<PageTouch<'_>>, NotTouched> {
    let ready = ready_at(trace);
    let stages = Stages::of(trace);
    let mut seen = HashSet::new();
    let mut rows = Vec::new();
    let mut left = MOST_PAGES;
    for event in trace.events.iter().filter(|event| event.at <= ready) {
        let is_use = match event.kind {
            EventKind::Touch(touch) => !touch.zero_filled,
            EventKind::Read => true,
            EventKind::Function | EventKind::Fill(_) => false,
        };
        let Some((id, file)) = event.file.filter(|_| is_use).and_then(|id| Some((id, trace.file(id)?))) else {
            continue;
        };
        if matches!(file.category, FileCategory::Memory | FileCategory::Metadata) {
            continue;
        }
        let limit = size_of(file).map_or(u64::MAX, |size| size.div_ceil(PAGE_SIZE));
        let end = event.page.saturating_add(u64::from(event.pages)).min(limit);
        left = left.checked_sub(end.saturating_sub(event.page)).ok_or(NotTouched::TooManyPages)?;
        let process = trace.process_of(event);
        let stage = process.map_or("other", |process| stages.at(process, event.at).name());
        let pages_seen = process.and_then(|process| trace.process(process)).map(|process| process.pages);
        for page in event.page..end {
            if seen.insert((id, page)) {
                let is_each_page_seen = event.kind == EventKind::Read || pages_seen == Some(PagesSeen::Each);
                rows.push(PageTouch { id, file, page, at: event.at, stage, is_each_page_seen });
            }
        }
    }
    Ok(rows)
}

/// What the first process became last: a script's interpreter executes the program itself at its end.
fn first_program(trace: &Trace) -> Option<&Path> {
    let first = trace.processes.first()?.number;
    let mut images = trace.processes.iter().filter(|process| process.number == first && process.executed);
    images.next_back().or(trace.processes.first()).map(|process| process.program.as_path())
}

fn size_of(file: &TracedFile) -> Option<u64> {
    file.identity.map(|identity| identity.size)
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_profile::FileIdentity;
    use coldstart_profile::trace::{Event, ProcessId, Run, ThreadId, Touch, TracedObject, TracedProcess, TracedThread};

    fn file(path: &str, size: u64, category: FileCategory) -> TracedFile {
        let identity = Some(FileIdentity { size, modified: 7 });
        TracedFile { path: path.into(), device: 1, inode: 2, identity, category }
    }

    fn event(at: u64, kind: EventKind, file: u32, page: u64, pages: u32) -> Event {
        Event { at: Moment(at), thread: ThreadId(0), kind, file: Some(FileId(file)), page, pages, code: None }
    }

    fn trace() -> Trace {
        let touch = EventKind::Touch(Touch::default());
        let zero = EventKind::Touch(Touch { zero_filled: true, ..Touch::default() });
        let process = |program: &str| TracedProcess {
            number: 9,
            program: program.into(),
            executed: true,
            pages: PagesSeen::Each,
            ..TracedProcess::default()
        };
        let object = TracedObject {
            file: FileId(0),
            soname: None,
            build_id: Some("ab".to_owned()),
            machine: 62,
            is_64_bit: true,
            entry: 0,
            segments: Vec::new(),
            sections: Vec::new(),
            symbols: Vec::new(),
            relocations: Vec::new(),
        };
        Trace {
            run: Run { pages: PagesSeen::Each, ready_at: Some(Moment(50)), ended_at: Moment(90), ..Run::default() },
            processes: vec![process("/bin/sh"), process("/app")],
            threads: vec![TracedThread { number: 9, process: ProcessId(1) }],
            files: vec![
                file("/app", 3 * 4096, FileCategory::Program),
                file("/data", 5000, FileCategory::Data),
                file("/memfd:x", 5000, FileCategory::Memory),
            ],
            objects: vec![object],
            events: vec![
                event(1, touch, 0, 1, 1),
                event(2, EventKind::Read, 1, 0, 1000),
                event(3, touch, 0, 1, 2),
                event(4, zero, 0, 2, 1),
                event(5, touch, 2, 0, 1),
                event(6, EventKind::Function, 0, 0, 1),
                event(60, touch, 0, 0, 1),
            ],
            ..Trace::default()
        }
    }

    #[test]
    fn each_page_is_a_row_once_until_the_start_is_over() {
        let touched = Touched::of(&trace(), "web1", None).unwrap();
        let rows: Vec<_> = touched.touches.iter().map(|row| (row.path.as_str(), row.page, row.at_ns)).collect();
        assert_eq!(rows, [("/app", 1, 1), ("/data", 0, 2), ("/data", 1, 2), ("/app", 2, 3)]);
        let first = touched.touches.first().unwrap();
        assert_eq!((first.host.as_str(), first.program.as_str(), first.start_ns), ("web1", "/app", 50));
        assert_eq!((first.program_build_id.as_deref(), first.build_id.as_deref()), (Some("ab"), Some("ab")));
        assert!(touched.touches.iter().all(|row| row.is_each_page_seen && row.stage == "other"));
        let files: Vec<_> = touched.files.iter().map(|row| (row.path.as_str(), row.touched_pages)).collect();
        assert_eq!(files, [("/app", 2), ("/data", 2), ("/memfd:x", 0)]);
    }

    #[test]
    fn the_program_can_be_named_and_a_trace_without_pages_has_no_tables() {
        let mut trace = trace();
        let named = Touched::of(&trace, "web1", Some(Path::new("/data"))).unwrap();
        assert_eq!(named.files[0].program_build_id, None);
        assert_eq!(Touched::of(&trace, "web1", Some(Path::new("/no"))), Err(NotTouched::NoProgram));
        trace.files[1].identity = None;
        trace.events[1].pages = u32::MAX;
        assert_eq!(Touched::of(&trace, "web1", None), Err(NotTouched::TooManyPages));
        trace.run.pages = PagesSeen::None;
        assert_eq!(Touched::of(&trace, "web1", None), Err(NotTouched::NoPages));
    }
}
