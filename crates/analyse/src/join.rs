//! Merges records and notes by time: addresses become file offsets.

use std::collections::{HashMap, VecDeque};
use std::path::Path;
use std::rc::Rc;

use coldstart_profile::trace::{FileId, Moment, PagesSeen, ProcessId, Touch};
use coldstart_sys::fault_recorder::{Fault, Mapped, PerfRecord, PerfRecordKind};

use super::files::{FileSeen, Files};
use super::joined::{CalledInitialiser, Joined, Stop, StopKind};
use super::mappings::{self, Mapper};
use super::placement::{Placement, PlacementId};
use super::processes::{Current, Processes, add_note};
use super::seen::{CodePlace, FirstTouches, Seen, touch};
use super::space::Held;
use crate::note::{Image, InitialiserTime, LinkedObject, Note, NoteKind};

/// The recorded data of a start. All times are `CLOCK_MONOTONIC`, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'all> {
    /// The kernel's records, in order of time; empty without permission.
    pub records: &'all [PerfRecord],
    /// The follower's notes, in order of time.
    pub notes: &'all [Note],
    /// The time of the launch, which becomes 0.
    pub launched_at: u64,
    /// Readiness: later data is dropped, except for initialisers that were called before and reported later.
    pub until: u64,
    /// Process id of the launched process. Its actions before `execve` are coldstart's own, and dropped.
    pub first: u32,
}

/// Joins records and notes as far as possible without reading files.
///
/// `file_of` asks the file system about a path reported by the loader; only for objects without a recorded mapping.
pub fn join(recorded: &Recorded<'_>, file_of: &dyn Fn(&Path) -> Option<FileSeen>) -> Joined {
    let Recorded { records, notes, first, .. } = *recorded;
    let executes =
        records.iter().any(|record| record.process == first && matches!(record.what, PerfRecordKind::Executed { .. }))
            || notes.iter().any(|note| note.process == first && matches!(note.what, NoteKind::Executed(_)));
    let mut joiner = Joiner {
        launched_at: recorded.launched_at,
        file_of,
        shares_memory: shares_memory(notes),
        processes: Processes::new(executes.then_some(first), !records.is_empty()),
        files: Files::default(),
        first_touches: FirstTouches::default(),
        exec_called: HashMap::new(),
        program: HashMap::new(),
        pages: HashMap::new(),
        initialisers: Vec::new(),
        joined: Joined { until: Moment(recorded.until.saturating_sub(recorded.launched_at)), ..Joined::default() },
    };
    let records = in_order(records, |record| record.at);
    let notes = in_order(notes, |note| note.at);
    let mut notes = notes.into_iter().peekable();
    for record in records {
        if record.at > recorded.until {
            break;
        }
        // Of simultaneous data, the kernel's records come first.
        while let Some(note) = notes.next_if(|note| note.at < record.at) {
            joiner.note(note, recorded.until);
        }
        joiner.record(record);
    }
    for note in notes {
        joiner.note(note, recorded.until);
    }
    joiner.finish()
}

/// References in order of time. The input is ordered; if not, the bug must not become a wrong trace.
fn in_order<T>(all: &[T], at: impl Fn(&T) -> u64) -> Vec<&T> {
    let mut all: Vec<&T> = all.iter().collect();
    if !all.is_sorted_by_key(|item| at(item)) {
        all.sort_by_key(|item| at(item));
    }
    all
}

/// By process number, when it was noted that it is new and whether it shares its maker's memory. The kernel tells of
/// a new process before the follower can, but not this.
fn shares_memory(notes: &[Note]) -> HashMap<u32, VecDeque<(u64, bool)>> {
    let mut all: HashMap<u32, VecDeque<(u64, bool)>> = HashMap::new();
    for note in in_order(notes, |note| note.at) {
        if let NoteKind::Forked { shares_memory, .. } = note.what {
            all.entry(note.process).or_default().push_back((note.at, shares_memory));
        }
    }
    all
}

struct Joiner<'all> {
    launched_at: u64,
    file_of: &'all dyn Fn(&Path) -> Option<FileSeen>,
    shares_memory: HashMap<u32, VecDeque<(u64, bool)>>,
    processes: Processes,
    files: Files,
    first_touches: FirstTouches,
    /// When a process called `execve` last.
    exec_called: HashMap<u32, Moment>,
    /// The program of each image.
    program: HashMap<ProcessId, PlacementId>,
    /// How completely pages were seen: the worst that was noted.
    pages: HashMap<ProcessId, PagesSeen>,
    /// Calls of initialisers, with the number of their process.
    initialisers: Vec<(u32, InitialiserTime)>,
    joined: Joined,
}

impl Joiner<'_> {
    fn moment(&self, at: u64) -> Moment {
        Moment(at.saturating_sub(self.launched_at))
    }

    fn record(&mut self, record: &PerfRecord) {
        let at = self.moment(record.at);
        match &record.what {
            PerfRecordKind::Fault(fault) => _ = self.fault(record, at, fault),
            PerfRecordKind::Mapped(mapped) => _ = self.mapped(record, at, mapped),
            PerfRecordKind::Began { parent, .. } => {
                let shares = self.shares_memory(record.process, record.at);
                self.processes.began(record.process, *parent, at, shares);
            }
            PerfRecordKind::Executed { .. } => self.processes.executed(record.process, at),
            PerfRecordKind::Ended => self.processes.thread_gone(record.process, at),
        }
    }

    /// Whether the follower noted of a process that is new now that it shares memory.
    fn shares_memory(&mut self, process: u32, at: u64) -> bool {
        let Some(noted) = self.shares_memory.get_mut(&process) else { return false };
        while noted.front().is_some_and(|&(noted_at, _)| noted_at < at) {
            noted.pop_front();
        }
        noted.front().is_some_and(|&(_, shares)| shares)
    }

    fn mapped(&mut self, record: &PerfRecord, at: Moment, mapped: &Mapped) -> Option<()> {
        let thread = self.processes.thread(record.process, record.thread, at)?;
        let file = self.files.of_mapping(mapped);
        let files = &self.files.list;
        self.processes.first_mapping(record.process, || Some(files.get(file?.0 as usize)?.path.clone()));
        let current = self.processes.at(record.process, at)?;
        let by = Mapper { process: current.id, thread, at };
        let mut space = current.space.borrow_mut();
        mappings::lay(Rc::make_mut(&mut space), &mut self.joined.placements, mapped, file, by);
        Some(())
    }

    fn fault(&mut self, record: &PerfRecord, at: Moment, fault: &Fault) -> Option<()> {
        let current = self.processes.at(record.process, at)?;
        let (file, page, touch, code) = {
            let space = current.space.borrow();
            let range = space.at(fault.address)?;
            let touch = touch(fault, range.executable);
            let (file, page, touch) = match range.held {
                Held::File { file, .. } => (file, range.file_offset(fault.address)? >> 12, touch),
                Held::Anonymous { of } => {
                    let placement = self.joined.placements.get(of?.0 as usize)?;
                    let pages = (fault.address >> 12).checked_sub(placement.lowest?.address >> 12)?;
                    (placement.file, pages, Touch { zero_filled: true, ..touch })
                }
            };
            let code = (!fault.by_kernel).then(|| place(current, fault.instruction)).flatten();
            (file, page, touch, code)
        };
        let mut touch = touch;
        if self.first_touches.admit(current.id, file, page, &mut touch) {
            let thread = self.processes.thread(record.process, record.thread, at)?;
            self.joined.seen.push(Seen { at, thread, file, page, touch, code });
        }
        Some(())
    }

    fn note(&mut self, note: &Note, until: u64) {
        let at = self.moment(note.at);
        if let NoteKind::Initialisers(times) = &note.what {
            // One note may tell of several images of a process, also of those that are still to come.
            let times = times.iter().filter(|time| time.at <= until);
            self.initialisers.extend(times.map(|&time| (note.process, time)));
            return;
        }
        if note.at > until {
            return;
        }
        match &note.what {
            NoteKind::Forked { parent, shares_memory } => {
                self.processes.forked(note.process, *parent, at, *shares_memory);
            }
            NoteKind::ExecCalled => {
                self.processes.calls_exec(note.process);
                self.exec_called.insert(note.process, at);
            }
            NoteKind::Executed(image) => {
                let Some(id) = self.processes.executed_image(note.process, at, image) else { return };
                let called = self.exec_called.remove(&note.process).filter(|&called| called <= at);
                self.stop(note, at, StopKind::Executed { image: Box::new(image.clone()), called });
                self.program(note, at, id, image);
            }
            NoteKind::Loader(state) => self.stop(note, at, StopKind::Loader(*state)),
            NoteKind::Linked(objects) => {
                let linked = objects.iter().filter_map(|object| self.linked(note, at, object)).collect();
                self.stop(note, at, StopKind::Linked(linked));
            }
            NoteKind::Protected { address, .. } => self.stop(note, at, StopKind::Protected { address: *address }),
            NoteKind::ProgramEntry => self.stop(note, at, StopKind::ProgramEntry),
            NoteKind::LibcStart => self.stop(note, at, StopKind::LibcStart),
            NoteKind::Main => self.stop(note, at, StopKind::Main),
            NoteKind::Function { address } => {
                let place = self.processes.at(note.process, at).and_then(|current| place(current, *address));
                self.stop(note, at, StopKind::Function { address: *address, place });
            }
            NoteKind::Initialisers(_) => {}
            NoteKind::Pages(seen, clause) => {
                let Some(id) = self.processes.at(note.process, at).map(|current| current.id) else { return };
                let worst = self.pages.entry(id).or_insert(*seen);
                *worst = (*worst).max(*seen);
                if let (Some(process), Some(clause)) = (self.processes.traced(id), clause) {
                    add_note(process, clause);
                }
            }
            NoteKind::Obstacle(clause) => {
                let id = self.processes.at(note.process, at).map(|current| current.id);
                if let Some(process) = id.and_then(|id| self.processes.traced(id)) {
                    add_note(process, clause);
                }
            }
            NoteKind::Ends { .. } => {
                self.stop(note, at, StopKind::Ends);
                self.processes.gone(note.process, at);
            }
        }
    }

    fn stop(&mut self, note: &Note, at: Moment, what: StopKind) {
        let Some(thread) = self.processes.thread(note.process, note.thread, at) else { return };
        let Some(process) = self.processes.at(note.process, at).map(|current| current.id) else { return };
        self.joined.stops.push(Stop { at, process, thread, what });
    }

    /// Finds or makes the placement of the program itself.
    fn program(&mut self, note: &Note, at: Moment, process: ProcessId, image: &Image) -> Option<()> {
        let thread = self.processes.thread(note.process, note.thread, at)?;
        let id = match placed(self.processes.at(note.process, at)?, image.entry) {
            Some(id) => id,
            None => {
                let path = Path::new(&image.program);
                let file = self.files.of_path(path, (self.file_of)(path))?;
                self.unmapped(Mapper { process, thread, at }, file)?
            }
        };
        let placement = self.joined.placements.get_mut(id.0 as usize)?;
        placement.entry = Some(image.entry);
        placement.as_object = true;
        self.program.insert(process, id);
        Some(())
    }

    /// A placement without a recorded mapping.
    fn unmapped(&mut self, by: Mapper, file: FileId) -> Option<PlacementId> {
        let id = PlacementId(u32::try_from(self.joined.placements.len()).ok()?);
        let Mapper { process, thread, at } = by;
        let (lowest, told_bias, entry, as_object) = (None, None, None, true);
        self.joined.placements.push(Placement { process, thread, file, at, lowest, told_bias, entry, as_object });
        Some(id)
    }

    /// Finds or makes the placement of an object of the loader's list.
    fn linked(&mut self, note: &Note, at: Moment, object: &LinkedObject) -> Option<PlacementId> {
        let thread = self.processes.thread(note.process, note.thread, at)?;
        let current = self.processes.at(note.process, at)?;
        let process = current.id;
        let id = match placed(current, object.dynamic) {
            Some(id) => id,
            None if object.name.is_empty() => *self.program.get(&process)?,
            // The kernel's own object (`linux-vdso.so.1`) has a name that is not a path.
            None if !Path::new(&object.name).is_absolute() => return None,
            None => {
                let path = Path::new(&object.name);
                let file = self.files.of_path(path, (self.file_of)(path))?;
                self.unmapped(Mapper { process, thread, at }, file)?
            }
        };
        let placement = self.joined.placements.get_mut(id.0 as usize)?;
        placement.told_bias = Some(object.bias);
        placement.as_object = true;
        Some(id)
    }

    fn finish(self) -> Joined {
        let launched_at = self.launched_at;
        let Self { processes, files, pages, initialisers, mut joined, .. } = self;
        let called = initialisers.into_iter().filter_map(|(number, time)| {
            let at = Moment(time.at.saturating_sub(launched_at));
            let process = processes.back_at(number, at)?;
            Some(CalledInitialiser { at, process, address: time.address, bias: time.bias })
        });
        joined.initialisers = called.collect();
        joined.initialisers.sort_by_key(|called| called.at);
        (joined.processes, joined.threads) = processes.finish(&pages);
        joined.files = files.list;
        joined.deleted = files.deleted;
        joined
    }
}

/// The object at an address.
fn placed(current: &Current, address: u64) -> Option<PlacementId> {
    match current.space.borrow().at(address)?.held {
        Held::File { placement, .. } => Some(placement),
        Held::Anonymous { of } => of,
    }
}

/// File and offset of an instruction.
fn place(current: &Current, instruction: u64) -> Option<CodePlace> {
    let space = current.space.borrow();
    let range = space.at(instruction)?;
    match range.held {
        Held::File { file, .. } => Some(CodePlace { file, offset: range.file_offset(instruction)? }),
        Held::Anonymous { .. } => None,
    }
}
