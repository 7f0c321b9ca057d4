//! Phases above the map: those of the process, and those of this object.

use std::collections::BTreeMap;

use coldstart_profile::trace::{EventKind, FileId, Phase, PhaseKind, ProcessId, Trace};

use super::words::file_name;

/// A row of phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseRow {
    /// Whose: the process and its number, or the object; or what was done.
    pub name: String,
    /// In order of their beginnings.
    pub bars: Vec<PhaseBar>,
}

/// A phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseBar {
    /// What was done.
    pub kind: PhaseKind,
    /// Nanoseconds since the launch.
    pub begin: u64,
    /// Nanoseconds since the launch, not before `begin`.
    pub end: u64,
    /// The name of the file that it concerns, harmless; `None` for what concerns all.
    pub of: Option<String>,
}

impl PhaseBar {
    fn of(trace: &Trace, phase: &Phase) -> Self {
        let file = phase.file.and_then(|file| trace.file(file)).map(|file| file_name(&file.path));
        Self { kind: phase.kind, begin: phase.begin.0, end: phase.end.0.max(phase.begin.0), of: file }
    }
}

/// The phases of the process that touched most of a file's pages: those of the whole process, what it opened later,
/// and those of the file.
pub(super) fn of(trace: &Trace, file: FileId, (from, to): (u64, u64)) -> Vec<PhaseRow> {
    let main = main_process(trace, file);
    let shown = |phase: &&Phase| phase.process == main && phase.begin.0 <= to && phase.end.0 >= from;
    let mut of_process = Vec::new();
    let mut opened = Vec::new();
    let mut of_file = Vec::new();
    for phase in trace.phases.iter().filter(shown) {
        if phase.kind == PhaseKind::Zeroing {
            continue;
        }
        if phase.parent.is_none() {
            of_process.push(PhaseBar::of(trace, phase));
        } else if matches!(phase.kind, PhaseKind::Dlopen | PhaseKind::Dlclose) {
            opened.push(PhaseBar::of(trace, phase));
        }
        // Single initialisers are inside `Initialisers`, and there may be thousands.
        if phase.file == Some(file)
            && !matches!(phase.kind, PhaseKind::Initialiser | PhaseKind::Dlopen | PhaseKind::Dlclose)
        {
            of_file.push(PhaseBar::of(trace, phase));
        }
    }
    let process = trace.process(main);
    let process = process.map(|process| format!("{} {}", file_name(&process.program), process.number));
    let object = trace.file(file).map(|file| file_name(&file.path));
    let rows = [(process, of_process), (Some("dlopen, dlclose".to_owned()), opened), (object, of_file)];
    let rows = rows.into_iter().filter(|(_, bars)| !bars.is_empty());
    rows.map(|(name, bars)| PhaseRow { name: name.unwrap_or_default(), bars }).collect()
}

/// The first process where none touched the file.
fn main_process(trace: &Trace, file: FileId) -> ProcessId {
    let mut touches: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for event in trace.events.iter().filter(|event| event.file == Some(file)) {
        if let (EventKind::Touch(_), Some(process)) = (event.kind, trace.process_of(event)) {
            *touches.entry(process).or_default() += 1;
        }
    }
    // Of equals the first.
    let most = touches.into_iter().max_by_key(|(process, count)| (*count, std::cmp::Reverse(*process)));
    most.map_or(ProcessId(0), |(process, _)| process)
}
