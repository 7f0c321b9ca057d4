//! Counts of a whole trace in one pass over its events.
//!
//! SQL could count as well, but once per grouping; a million events are read only once here.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{Event, EventKind, FileId, Moment, Phase, PhaseId, ProcessId, Trace};

use crate::error::TraceFileError;
use crate::open::TraceFile;

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Touches.
    pub touches: u64,
    /// Touches that waited for the disk.
    pub major_faults: u64,
    /// Pages that the run had not touched before.
    pub pages_touched: u64,
    /// First calls of functions.
    pub functions: u64,
    /// Reads through `read(2)` and its kin.
    pub reads: u64,
    /// Pages that were read so.
    pub pages_read: u64,
    /// Pages that came from the disk.
    pub pages_filled: u64,
}

/// The distances of consecutive touches in a file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seeks {
    /// Sum of all steps towards the file's end; one to the very next page is none.
    pub forward: u64,
    /// Sum of all steps towards its beginning.
    pub backward: u64,
}

/// The summary of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Everything but events and lookups.
    pub head: Trace,
    /// Of all events.
    pub all: Counts,
    /// Of each file, in the order of the trace's list; what has no name is left out.
    pub files: Vec<(Counts, Seeks)>,
    /// Of each phase, in the order of the trace's list: what happened in it, and in no phase within it.
    pub phases: Vec<Counts>,
    /// Of what happened in no phase.
    pub outside: Counts,
}

impl TraceFile {
    /// Counts everything.
    ///
    /// # Errors
    /// [`TraceFileError::Damaged`].
    pub fn summary(&self) -> Result<Summary, TraceFileError> {
        let mut counting = Counting::new(self.head()?);
        self.events(|event| {
            counting.count(event);
            ControlFlow::Continue(())
        })?;
        Ok(counting.summary)
    }
}

struct Counting {
    summary: Summary,
    /// Behind the last page that was touched, of each file.
    positions: Vec<Option<u64>>,
    innermost: HashMap<ProcessId, Innermost>,
}

impl Counting {
    fn new(head: Trace) -> Self {
        let innermost = innermost(&head.phases);
        let summary = Summary {
            all: Counts::default(),
            files: vec![Default::default(); head.files.len()],
            phases: vec![Counts::default(); head.phases.len()],
            outside: Counts::default(),
            head,
        };
        Self { positions: vec![None; summary.files.len()], summary, innermost }
    }

    fn count(&mut self, event: &Event) {
        self.summary.all.add(event);
        let phase = self.summary.head.process_of(event).and_then(|process| self.innermost.get(&process)?.at(event.at));
        let phase = phase.and_then(|phase| self.summary.phases.get_mut(usize::try_from(phase.0).ok()?));
        phase.unwrap_or(&mut self.summary.outside).add(event);
        let Some(FileId(file)) = event.file else { return };
        let Ok(file) = usize::try_from(file) else { return };
        let (Some((counts, seeks)), Some(position)) = (self.summary.files.get_mut(file), self.positions.get_mut(file))
        else {
            return;
        };
        counts.add(event);
        if let EventKind::Touch(touch) = event.kind
            && !touch.zero_filled
        {
            let last = position.replace(event.page.saturating_add(event.pages.into())).unwrap_or(event.page);
            let bytes = event.page.abs_diff(last).saturating_mul(PAGE_SIZE);
            let sum = if event.page >= last { &mut seeks.forward } else { &mut seeks.backward };
            *sum = sum.saturating_add(bytes);
        }
    }
}

impl Counts {
    fn add(&mut self, event: &Event) {
        let pages = u64::from(event.pages);
        let (count, by) = match event.kind {
            EventKind::Touch(touch) => {
                self.major_faults += u64::from(touch.major);
                if touch.first_of_run {
                    self.pages_touched = self.pages_touched.saturating_add(pages);
                }
                (&mut self.touches, 1)
            }
            EventKind::Function => (&mut self.functions, 1),
            EventKind::Read => {
                self.reads += 1;
                (&mut self.pages_read, pages)
            }
            EventKind::Fill(_) => (&mut self.pages_filled, pages),
        };
        *count = count.saturating_add(by);
    }
}

/// Which phase is the innermost from which moment on, of one process; ascending.
#[derive(Default)]
struct Innermost(Vec<(Moment, Option<PhaseId>)>);

impl Innermost {
    fn at(&self, moment: Moment) -> Option<PhaseId> {
        let behind = self.0.partition_point(|(from, _)| *from <= moment);
        self.0.get(behind.checked_sub(1)?)?.1
    }
}

/// A phase is after the one that holds it: of those that run at a moment the last is the innermost.
fn innermost(phases: &[Phase]) -> HashMap<ProcessId, Innermost> {
    let mut ends: HashMap<ProcessId, Vec<(Moment, bool, PhaseId)>> = HashMap::new();
    for (number, phase) in (0..).zip(phases).filter(|(_, phase)| phase.begin < phase.end) {
        let of_process = ends.entry(phase.process).or_default();
        of_process.push((phase.begin, true, PhaseId(number)));
        of_process.push((phase.end, false, PhaseId(number)));
    }
    let flat = |mut ends: Vec<(Moment, bool, PhaseId)>| {
        ends.sort_unstable();
        let mut running = BTreeSet::new();
        let mut changes = Vec::with_capacity(ends.len());
        for (moment, begins, phase) in ends {
            if begins {
                running.insert(phase);
            } else {
                running.remove(&phase);
            }
            changes.push((moment, running.last().copied()));
        }
        Innermost(changes)
    };
    ends.into_iter().map(|(process, ends)| (process, flat(ends))).collect()
}
