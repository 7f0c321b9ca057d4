//! Counts other than those of events.

use std::collections::HashSet;
use std::path::Path;

use serde::Serialize;

use crate::trace::{LookupKind, PhaseKind, Trace};

/// How many there were of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Processes, the first included; one that executes another program is still one.
    pub processes: u64,
    /// Programs executed, the first included.
    pub executed: u64,
    /// Threads.
    pub threads: u64,
    /// Files that something happened to, or that were asked for and are there.
    pub files: u64,
    /// Of all files, ELF objects.
    pub objects: u64,
    /// Questions about names.
    pub lookups: u64,
    /// Of these, about names that are not there.
    pub failed_lookups: u64,
    /// Directories whose entries were listed, each once.
    pub listed_directories: u64,
    /// Calls of `dlopen` that mapped something.
    pub dlopens: u64,
    /// Calls of `dlclose` that unmapped something.
    pub dlcloses: u64,
    /// Initialisers seen one by one.
    pub initialisers: u64,
    /// Events that were lost.
    pub lost_events: u64,
}

impl Counts {
    pub(super) fn of(trace: &Trace) -> Self {
        let processes = trace.processes.iter().filter(|process| {
            let parent = process.parent.and_then(|parent| trace.process(parent));
            parent.is_none_or(|parent| parent.number != process.number)
        });
        let phases = |kind| trace.phases.iter().filter(|phase| phase.kind == kind).count() as u64;
        let listed = trace.lookups.iter().filter(|lookup| lookup.kind == LookupKind::List && !lookup.failed);
        let listed: HashSet<&Path> = listed.map(|lookup| lookup.path.as_path()).collect();
        Self {
            processes: processes.count() as u64,
            executed: trace.processes.iter().filter(|process| process.executed).count() as u64,
            threads: trace.threads.len() as u64,
            files: trace.files.len() as u64,
            objects: trace.objects.len() as u64,
            lookups: trace.lookups.len() as u64,
            failed_lookups: trace.lookups.iter().filter(|lookup| lookup.failed).count() as u64,
            listed_directories: listed.len() as u64,
            dlopens: phases(PhaseKind::Dlopen),
            dlcloses: phases(PhaseKind::Dlclose),
            initialisers: phases(PhaseKind::Initialiser),
            lost_events: trace.run.lost_events,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Builder;
    use super::*;
    use crate::trace::{Lookup, Moment, ProcessId, TracedProcess};

    #[test]
    fn a_process_that_executes_is_one_and_a_directory_listed_twice_is_one() {
        let mut trace = Builder::default().process().trace;
        let first = TracedProcess { number: 7, executed: true, ..TracedProcess::default() };
        let next = TracedProcess { parent: Some(ProcessId(0)), ..first.clone() };
        let fork = TracedProcess { number: 8, executed: false, parent: Some(ProcessId(1)), ..first.clone() };
        trace.processes = vec![first, next, fork];
        let lookup = |path: &str, kind, failed| Lookup {
            at: Moment(0),
            process: None,
            path: path.into(),
            kind,
            file: None,
            failed,
        };
        trace.lookups = vec![
            lookup("/a", LookupKind::List, false),
            lookup("/a", LookupKind::List, false),
            lookup("/b", LookupKind::List, true),
            lookup("/c", LookupKind::Open, true),
        ];
        let counts = Counts::of(&trace);
        assert_eq!((counts.processes, counts.executed), (2, 2));
        assert_eq!((counts.lookups, counts.failed_lookups, counts.listed_directories), (4, 2, 1));
    }
}
