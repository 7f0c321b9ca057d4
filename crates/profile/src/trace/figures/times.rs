//! Times: phases by kind and by object.
//!
//! A phase's own time is what is left of it without the phases that it holds directly. Own times of all phases of a
//! process add up without counting anything twice; totals of kinds do not, as one kind may hold another.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::Serialize;

use crate::trace::{FileId, Phase, PhaseId, PhaseKind, ProcessId, Trace};

/// How many of the longest are kept.
const LONGEST: usize = 32;

/// Times of phases, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Times {
    /// By process and kind, in the order of both.
    pub kinds: Vec<KindTime>,
    /// By process and object, in the order of both.
    pub objects: Vec<ObjectTime>,
    /// Own time of each phase, as in [`Trace::phases`].
    #[serde(skip)]
    pub own: Vec<u64>,
    /// The initialisers with the most own time, the longest first; 32 at most.
    pub longest_initialisers: Vec<PhaseId>,
    /// The relocations of one object with the most own time, the longest first; 32 at most.
    pub longest_relocations: Vec<PhaseId>,
}

/// All phases of a kind in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KindTime {
    /// The process.
    pub process: ProcessId,
    /// The kind.
    pub kind: PhaseKind,
    /// How many.
    pub count: u64,
    /// From beginnings to ends, of those that no other of the same kind holds.
    pub total: u64,
    /// Without what they hold.
    pub own: u64,
}

/// What an object took in a process, as own times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectTime {
    /// The process.
    pub process: ProcessId,
    /// The object.
    pub file: FileId,
    /// Relocating it.
    pub relocation: u64,
    /// Running its initialisers.
    pub initialisers: u64,
    /// All other phases that are for it alone.
    pub other: u64,
}

impl ObjectTime {
    /// All together.
    pub fn total(&self) -> u64 {
        self.relocation.saturating_add(self.initialisers).saturating_add(self.other)
    }
}

impl Times {
    pub(super) fn of(trace: &Trace) -> Self {
        let phases = &trace.phases;
        let own = own_times(phases);
        let longest = |kind| longest(phases, &own, kind);
        let (longest_initialisers, longest_relocations) =
            (longest(PhaseKind::Initialiser), longest(PhaseKind::Relocation));
        Self {
            kinds: kinds(phases, &own),
            objects: objects(phases, &own),
            own,
            longest_initialisers,
            longest_relocations,
        }
    }

    /// Own time of a phase, in nanoseconds.
    pub fn own_of(&self, phase: PhaseId) -> u64 {
        usize::try_from(phase.0).ok().and_then(|place| self.own.get(place)).copied().unwrap_or(0)
    }
}

fn length(phase: &Phase) -> u64 {
    phase.end.0.saturating_sub(phase.begin.0)
}

/// The phase that holds another; it is in front of it and is of the same process, or it does not count.
fn holder(phases: &[Phase], place: usize) -> Option<usize> {
    let phase = phases.get(place)?;
    let holder = usize::try_from(phase.parent?.0).ok()?;
    (holder < place && phases.get(holder)?.process == phase.process).then_some(holder)
}

fn own_times(phases: &[Phase]) -> Vec<u64> {
    let mut own: Vec<u64> = phases.iter().map(length).collect();
    for (place, phase) in phases.iter().enumerate() {
        let Some(holder) = holder(phases, place) else { continue };
        let Some(outer) = phases.get(holder) else { continue };
        // What reaches beyond its holder is not taken from it.
        let shared = phase.end.min(outer.end).0.saturating_sub(phase.begin.max(outer.begin).0);
        if let Some(left) = own.get_mut(holder) {
            *left = left.saturating_sub(shared);
        }
    }
    own
}

fn kinds(phases: &[Phase], own: &[u64]) -> Vec<KindTime> {
    let mut kinds: BTreeMap<(ProcessId, PhaseKind), KindTime> = BTreeMap::new();
    // The kinds of a phase and of all that hold it, a bit each.
    let mut held_by: Vec<u16> = Vec::with_capacity(phases.len());
    for (place, phase) in phases.iter().enumerate() {
        let outer = holder(phases, place).and_then(|holder| held_by.get(holder)).copied().unwrap_or(0);
        let bit = 1u16 << (phase.kind as u16);
        held_by.push(outer | bit);
        let none = KindTime { process: phase.process, kind: phase.kind, count: 0, total: 0, own: 0 };
        let time = kinds.entry((phase.process, phase.kind)).or_insert(none);
        time.count += 1;
        time.own = time.own.saturating_add(own.get(place).copied().unwrap_or(0));
        if outer & bit == 0 {
            time.total = time.total.saturating_add(length(phase));
        }
    }
    kinds.into_values().collect()
}

fn objects(phases: &[Phase], own: &[u64]) -> Vec<ObjectTime> {
    let mut objects: BTreeMap<(ProcessId, FileId), ObjectTime> = BTreeMap::new();
    for (phase, own) in phases.iter().zip(own) {
        let Some(file) = phase.file else { continue };
        let none = ObjectTime { process: phase.process, file, relocation: 0, initialisers: 0, other: 0 };
        let time = objects.entry((phase.process, file)).or_insert(none);
        let part = match phase.kind {
            PhaseKind::Relocation => &mut time.relocation,
            PhaseKind::Initialisers | PhaseKind::Initialiser => &mut time.initialisers,
            _ => &mut time.other,
        };
        *part = part.saturating_add(*own);
    }
    objects.into_values().collect()
}

fn longest(phases: &[Phase], own: &[u64], kind: PhaseKind) -> Vec<PhaseId> {
    let wanted = phases.iter().zip(own).enumerate();
    let wanted = wanted.filter(|(_, (phase, _))| phase.kind == kind && phase.file.is_some());
    let mut wanted: Vec<(Reverse<u64>, u32)> =
        wanted.filter_map(|(place, (_, own))| Some((Reverse(*own), u32::try_from(place).ok()?))).collect();
    wanted.sort_unstable();
    wanted.truncate(LONGEST);
    wanted.into_iter().map(|(_, place)| PhaseId(place)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Builder, phase};
    use super::*;

    fn inside(parent: u32, file: u32, phase: Phase) -> Phase {
        Phase { parent: Some(PhaseId(parent)), file: Some(FileId(file)), ..phase }
    }

    #[test]
    fn own_times_add_up_and_nothing_counts_twice() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![
            phase(PhaseKind::Main, 0, 100),
            Phase { parent: Some(PhaseId(0)), ..phase(PhaseKind::Dlopen, 10, 60) },
            inside(1, 3, phase(PhaseKind::Relocation, 12, 20)),
            inside(1, 3, phase(PhaseKind::Initialiser, 20, 50)),
            Phase { parent: Some(PhaseId(3)), ..phase(PhaseKind::Dlopen, 25, 45) },
            inside(4, 4, phase(PhaseKind::Initialiser, 30, 40)),
        ];
        let times = Times::of(&trace);
        assert_eq!(times.own, [50, 12, 8, 10, 10, 10]);
        assert_eq!(times.own.iter().sum::<u64>(), 100);
        let of = |kind| times.kinds.iter().find(|time| time.kind == kind).unwrap();
        assert_eq!((of(PhaseKind::Dlopen).count, of(PhaseKind::Dlopen).total, of(PhaseKind::Dlopen).own), (2, 50, 22));
        // The inner initialiser runs while the outer one waits: 30 in all.
        assert_eq!((of(PhaseKind::Initialiser).total, of(PhaseKind::Initialiser).own), (30, 20));
        let rows: Vec<_> = times.objects.iter().map(|time| (time.file.0, time.relocation, time.initialisers)).collect();
        assert_eq!(rows, [(3, 8, 10), (4, 0, 10)]);
        assert_eq!(times.longest_initialisers, [PhaseId(3), PhaseId(5)]);
        assert_eq!(times.longest_relocations, [PhaseId(2)]);
    }

    #[test]
    fn what_holds_itself_or_another_process_holds_nothing() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![
            inside(0, 0, phase(PhaseKind::Main, 0, 10)),
            Phase { process: ProcessId(1), ..inside(0, 0, phase(PhaseKind::Main, 2, 5)) },
            inside(0, 0, phase(PhaseKind::Dlopen, 8, 14)),
        ];
        assert_eq!(Times::of(&trace).own, [8, 3, 6]);
    }
}
