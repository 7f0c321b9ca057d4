//! Activity in other files than the one on the map.

use std::collections::BTreeMap;

use coldstart_profile::trace::{EventKind, FileCategory, FileId, ThreadId, Trace};

/// Nanoseconds. A disk answers within that; a thread that uses no new page for longer is not waiting for files but
/// computing, and that time is nobody's.
const LONGEST_SILENCE: u64 = 10_000_000;

/// Times that went into files of one category.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// Whose files.
    pub category: FileCategory,
    /// In order, with gaps between them.
    pub stretches: Vec<Stretch>,
}

/// From one moment to another, both included, in nanoseconds since the launch. A single event makes a stretch without
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stretch {
    /// First event.
    pub from: u64,
    /// Last event.
    pub to: u64,
}

/// By category, in the order of [`FileCategory::ALL`]; those without any are left out. A stretch is a run of a
/// thread's page touches, reads and fills that are all in files of one category, none of them the one on the map.
pub(super) fn of(trace: &Trace, file: FileId, (from, to): (u64, u64)) -> Vec<Elsewhere> {
    let mut found: BTreeMap<FileCategory, Vec<Stretch>> = BTreeMap::new();
    let mut current: BTreeMap<ThreadId, (FileCategory, Stretch)> = BTreeMap::new();
    let mut keep = |(category, stretch): (FileCategory, Stretch)| found.entry(category).or_default().push(stretch);
    for event in trace.events.iter().filter(|event| (from..=to).contains(&event.at.0)) {
        if event.kind == EventKind::Function {
            continue;
        }
        let other = event.file.filter(|id| *id != file).and_then(|id| trace.file(id)).map(|file| file.category);
        let Some(category) = other else {
            current.remove(&event.thread).map(&mut keep);
            continue;
        };
        let at = event.at.0;
        match current.get_mut(&event.thread) {
            Some((known, stretch)) if *known == category && at.saturating_sub(stretch.to) <= LONGEST_SILENCE => {
                stretch.to = stretch.to.max(at);
            }
            _ => {
                let before = current.insert(event.thread, (category, Stretch { from: at, to: at }));
                before.map(&mut keep);
            }
        }
    }
    current.into_values().for_each(keep);
    found.into_iter().map(|(category, stretches)| Elsewhere { category, stretches: merged(stretches) }).collect()
}

/// Sorted, and those that overlap as one.
fn merged(mut stretches: Vec<Stretch>) -> Vec<Stretch> {
    stretches.sort_unstable();
    let mut merged: Vec<Stretch> = Vec::new();
    for stretch in stretches {
        match merged.last_mut() {
            Some(last) if stretch.from <= last.to => last.to = last.to.max(stretch.to),
            _ => merged.push(stretch),
        }
    }
    merged
}
