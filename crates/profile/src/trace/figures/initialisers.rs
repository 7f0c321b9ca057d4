//! The order of an object's initialisers, and their distances.

use std::collections::BTreeMap;

use serde::Serialize;

use super::seeks::Seeks;
use crate::trace::{FileId, PhaseId, PhaseKind, ProcessId, Trace};

/// The initialisers of one object in one process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InitialiserOrder {
    /// The process.
    pub process: ProcessId,
    /// The object.
    pub file: FileId,
    /// Those whose address is known, in the order in which they ran.
    pub phases: Vec<PhaseId>,
    /// Between the addresses of one and the next; the same as in the file, as far as both are of one segment.
    pub seeks: Seeks,
    /// Which way they run through the file.
    pub direction: Direction,
    /// How long they took, all together, in nanoseconds.
    pub time: u64,
}

/// Which way places follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// There are not two different places.
    None,
    /// Each is after the one before it, or where it was.
    Ascending,
    /// Each is before the one before it, or where it was.
    Descending,
    /// Both ways.
    Mixed,
}

impl Direction {
    /// In one word.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::Mixed => "mixed",
        }
    }

    /// Of all these steps.
    pub fn of(seeks: &Seeks) -> Self {
        match (seeks.forward_steps, seeks.backward_steps) {
            (0, 0) => Self::None,
            (_, 0) => Self::Ascending,
            (0, _) => Self::Descending,
            _ => Self::Mixed,
        }
    }
}

/// Of each process and object that ran any, in the order of the first.
pub(super) fn orders(trace: &Trace) -> Vec<InitialiserOrder> {
    let mut places: BTreeMap<(ProcessId, FileId), usize> = BTreeMap::new();
    let mut orders: Vec<(InitialiserOrder, u64)> = Vec::new();
    let mut phases: Vec<_> = trace.phases.iter().enumerate().collect();
    phases.sort_by_key(|(_, phase)| phase.begin);
    for (place, phase) in phases {
        let (PhaseKind::Initialiser, Some(file), Some(address)) = (phase.kind, phase.file, phase.address) else {
            continue;
        };
        let Ok(id) = u32::try_from(place) else { continue };
        let time = phase.end.0.saturating_sub(phase.begin.0);
        let known = *places.entry((phase.process, file)).or_insert(orders.len());
        match orders.get_mut(known) {
            Some((order, before)) => {
                order.seeks += Seeks::step(*before, address);
                order.phases.push(PhaseId(id));
                order.time = order.time.saturating_add(time);
                *before = address;
            }
            None => orders.push((
                InitialiserOrder {
                    process: phase.process,
                    file,
                    phases: vec![PhaseId(id)],
                    seeks: Seeks::default(),
                    direction: Direction::None,
                    time,
                },
                address,
            )),
        }
    }
    let finished =
        orders.into_iter().map(|(order, _)| InitialiserOrder { direction: Direction::of(&order.seeks), ..order });
    finished.collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Builder, phase};
    use super::*;
    use crate::trace::Phase;

    fn called(file: u32, address: u64, begin: u64) -> Phase {
        Phase { file: Some(FileId(file)), address: Some(address), ..phase(PhaseKind::Initialiser, begin, begin + 5) }
    }

    #[test]
    fn each_object_has_an_order_of_its_own() {
        let mut trace = Builder::default().process().trace;
        trace.phases =
            vec![called(0, 100, 0), called(1, 900, 10), called(0, 300, 20), called(1, 700, 30), called(0, 200, 40)];
        let found = orders(&trace);
        let rows: Vec<_> = found
            .iter()
            .map(|order| (order.file.0, order.direction, order.seeks.forward, order.seeks.backward, order.time))
            .collect();
        assert_eq!(rows, [(0, Direction::Mixed, 200, 100, 15), (1, Direction::Descending, 0, 200, 10)]);
        assert_eq!(found[0].phases, [PhaseId(0), PhaseId(2), PhaseId(4)]);
    }

    #[test]
    fn one_alone_has_no_direction() {
        let mut trace = Builder::default().process().trace;
        trace.phases = vec![called(0, 7, 0), phase(PhaseKind::Initialiser, 6, 9)];
        assert_eq!(orders(&trace)[0].direction, Direction::None);
    }
}
