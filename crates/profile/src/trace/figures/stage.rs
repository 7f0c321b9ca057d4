//! Stages: a process's time divided into disjoint intervals, so that counts per stage add up.
//!
//! Phases nest (an initialiser may call `dlopen`, which relocates), stages do not: each moment belongs to the
//! innermost phase that holds it, except that all of a `dlopen` is one stage, and one that an initialiser calls is
//! part of the initialisers.

use std::ops::{AddAssign, Index, IndexMut};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::trace::{Moment, Phase, PhaseKind, ProcessId, Trace};

/// A part of a start. Ordered as they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Up to the program's entry point: the kernel's and the loader's work without relocation.
    Loading,
    /// Words are relocated, symbols looked up.
    Relocation,
    /// Functions before `main`, with what they open.
    Initialisers,
    /// From the program's entry point to `main`, without initialisers.
    Runtime,
    /// From `main` on, without `dlopen`.
    Main,
    /// `dlopen` after `main` has begun: with its mapping, relocation and initialisers.
    Dlopen,
    /// In no phase: processes that only fork, and what was not seen.
    Other,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Self; 7] =
        [Self::Loading, Self::Relocation, Self::Initialisers, Self::Runtime, Self::Main, Self::Dlopen, Self::Other];

    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Relocation => "relocation",
            Self::Initialisers => "initialisers",
            Self::Runtime => "runtime",
            Self::Main => "main",
            Self::Dlopen => "dlopen",
            Self::Other => "other",
        }
    }

    /// Whether it comes before or after `main`; `None` where that is not known.
    pub fn half(self) -> Option<Half> {
        match self {
            Self::Loading | Self::Relocation | Self::Initialisers | Self::Runtime => Some(Half::BeforeMain),
            Self::Main | Self::Dlopen => Some(Half::AfterMain),
            Self::Other => None,
        }
    }
}

/// Initialisation, or what comes after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Half {
    /// Up to `main`.
    BeforeMain,
    /// From `main` on.
    AfterMain,
}

/// Something for each stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByStage<T>([T; Stage::ALL.len()]);

impl<T: Copy + Default + AddAssign> ByStage<T> {
    /// Of all stages together.
    pub fn total(&self) -> T {
        self.sum_of(|_| true)
    }

    /// Of the stages of one half.
    pub fn of_half(&self, half: Half) -> T {
        self.sum_of(|stage| stage.half() == Some(half))
    }

    fn sum_of(&self, is_meant: impl Fn(Stage) -> bool) -> T {
        let mut sum = T::default();
        for (stage, value) in Stage::ALL.into_iter().zip(self.0) {
            if is_meant(stage) {
                sum += value;
            }
        }
        sum
    }
}

impl<T> Index<Stage> for ByStage<T> {
    type Output = T;

    fn index(&self, stage: Stage) -> &T {
        // As many places as stages.
        &self.0[stage as usize]
    }
}

impl<T> IndexMut<Stage> for ByStage<T> {
    fn index_mut(&mut self, stage: Stage) -> &mut T {
        &mut self.0[stage as usize]
    }
}

impl<T: Copy + AddAssign> AddAssign for ByStage<T> {
    fn add_assign(&mut self, other: Self) {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            *mine += other;
        }
    }
}

/// A map from the stage's name.
impl<T: Serialize> Serialize for ByStage<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (stage, value) in Stage::ALL.iter().zip(&self.0) {
            map.serialize_entry(stage, value)?;
        }
        map.end()
    }
}

/// Which stage each process was in, at each moment.
#[derive(Clone, Debug, Default)]
pub struct Stages {
    /// By process: ascending moments from which on a stage holds.
    by_process: Vec<Vec<(Moment, Stage)>>,
}

impl Stages {
    /// From a trace's phases.
    pub fn of(trace: &Trace) -> Self {
        let mut sweeps: Vec<Sweep> = trace.processes.iter().map(|_| Sweep::default()).collect();
        let stages = stages_of(&trace.phases);
        let mut order: Vec<(&Phase, Stage)> = trace.phases.iter().zip(stages).collect();
        // They should be in order already; that of equal beginnings must stay, as the holding one stands first.
        order.sort_by_key(|(phase, _)| phase.begin);
        for (phase, stage) in order {
            if let Some(sweep) = usize::try_from(phase.process.0).ok().and_then(|place| sweeps.get_mut(place)) {
                sweep.enter(phase, stage);
            }
        }
        Self { by_process: sweeps.into_iter().map(Sweep::finish).collect() }
    }

    /// Where a process was at a moment.
    pub fn at(&self, process: ProcessId, moment: Moment) -> Stage {
        let line = usize::try_from(process.0).ok().and_then(|place| self.by_process.get(place));
        let line = line.map_or(&[][..], Vec::as_slice);
        let behind = line.partition_point(|(from, _)| *from <= moment);
        behind.checked_sub(1).and_then(|place| line.get(place)).map_or(Stage::Other, |(_, stage)| *stage)
    }
}

/// The stage that each phase belongs to.
fn stages_of(phases: &[Phase]) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::with_capacity(phases.len());
    // Whether all that a phase holds is of its stage, too.
    let mut is_one: Vec<bool> = Vec::with_capacity(phases.len());
    for phase in phases {
        let holder = phase.parent.and_then(|parent| usize::try_from(parent.0).ok());
        let holder = holder.filter(|&place| phases.get(place).is_some_and(|holder| holder.process == phase.process));
        // Only what is in front of it can hold it.
        let outer = holder.and_then(|place| Some((*stages.get(place)?, *is_one.get(place)?)));
        let (stage, one) = match (outer, phase.kind) {
            (Some((stage, true)), _) => (stage, true),
            (Some((stage, _)), PhaseKind::Dlopen) if stage.half() == Some(Half::BeforeMain) => (stage, true),
            (_, PhaseKind::Dlopen) => (Stage::Dlopen, true),
            (Some((stage, _)), PhaseKind::Dlclose) => (stage, true),
            (None, PhaseKind::Dlclose) => (Stage::Main, true),
            (_, PhaseKind::Exec | PhaseKind::LoaderStart | PhaseKind::Mapping | PhaseKind::Zeroing) => {
                (Stage::Loading, false)
            }
            (_, PhaseKind::Relocation) => (Stage::Relocation, false),
            (_, PhaseKind::Initialisers | PhaseKind::Initialiser) => (Stage::Initialisers, false),
            (_, PhaseKind::Runtime) => (Stage::Runtime, false),
            (_, PhaseKind::Main) => (Stage::Main, false),
        };
        stages.push(stage);
        is_one.push(one);
    }
    stages
}

/// Goes along a process's phases.
#[derive(Default)]
struct Sweep {
    line: Vec<(Moment, Stage)>,
    /// Phases that have begun and not ended, the innermost last.
    open: Vec<(Moment, Stage)>,
}

impl Sweep {
    fn enter(&mut self, phase: &Phase, stage: Stage) {
        if phase.end <= phase.begin {
            return;
        }
        self.leave_until(phase.begin);
        self.mark(phase.begin, stage);
        self.open.push((phase.end, stage));
    }

    fn leave_until(&mut self, moment: Moment) {
        while let Some((end, _)) = self.open.pop_if(|(end, _)| *end <= moment) {
            // An end that is known "at most" may reach beyond that of the phase around it.
            while self.open.pop_if(|(outer, _)| *outer <= end).is_some() {}
            let outer = self.open.last().map_or(Stage::Other, |(_, stage)| *stage);
            self.mark(end, outer);
        }
    }

    fn mark(&mut self, from: Moment, stage: Stage) {
        self.line.pop_if(|(before, _)| *before == from);
        self.line.push((from, stage));
    }

    fn finish(mut self) -> Vec<(Moment, Stage)> {
        self.leave_until(Moment(u64::MAX));
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Builder, phase};
    use super::*;

    fn at(trace: &Trace, moments: &[u64]) -> Vec<Stage> {
        let stages = Stages::of(trace);
        moments.iter().map(|&at| stages.at(ProcessId(0), Moment(at))).collect()
    }

    #[test]
    fn the_innermost_phase_counts() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![
            phase(PhaseKind::LoaderStart, 10, 20),
            phase(PhaseKind::Initialisers, 20, 50),
            Phase { parent: Some(crate::trace::PhaseId(1)), ..phase(PhaseKind::Initialiser, 25, 30) },
            phase(PhaseKind::Main, 50, 100),
            Phase { parent: Some(crate::trace::PhaseId(3)), ..phase(PhaseKind::Dlopen, 60, 70) },
            Phase { parent: Some(crate::trace::PhaseId(4)), ..phase(PhaseKind::Relocation, 62, 64) },
        ];
        use Stage::{Dlopen, Initialisers, Loading, Main, Other};
        let found = at(&trace, &[0, 10, 19, 20, 27, 30, 49, 50, 60, 63, 69, 70, 99, 100]);
        let expected = [
            Other,
            Loading,
            Loading,
            Initialisers,
            Initialisers,
            Initialisers,
            Initialisers,
            Main,
            Dlopen,
            Dlopen,
            Dlopen,
            Main,
            Main,
            Other,
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_an_initialiser_opens_is_part_of_it() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![
            phase(PhaseKind::Initialisers, 0, 50),
            Phase { parent: Some(crate::trace::PhaseId(0)), ..phase(PhaseKind::Dlopen, 10, 20) },
            Phase { parent: Some(crate::trace::PhaseId(1)), ..phase(PhaseKind::Relocation, 12, 15) },
        ];
        assert_eq!(at(&trace, &[11, 13, 21]), [Stage::Initialisers; 3]);
    }

    #[test]
    fn ends_that_overlap_and_holders_that_cannot_be_do_no_harm() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![
            phase(PhaseKind::Relocation, 0, 10),
            Phase { parent: Some(crate::trace::PhaseId(9)), ..phase(PhaseKind::Main, 5, 15) },
            Phase { parent: Some(crate::trace::PhaseId(2)), ..phase(PhaseKind::Runtime, 7, 7) },
            Phase { process: ProcessId(7), ..phase(PhaseKind::Main, 8, 9) },
        ];
        assert_eq!(at(&trace, &[4, 5, 12, 15]), [Stage::Relocation, Stage::Main, Stage::Main, Stage::Other]);
    }
}
