//! The order of initialisers.

use coldstart_profile::trace::figures::{Direction, Figures, InitialiserOrder};
use coldstart_profile::trace::{FileId, PhaseId, ProcessId, Trace};
use serde::Serialize;

/// Initialisers of one object in one process.
#[derive(Serialize)]
pub(super) struct InitialiserOrderHead<'a> {
    process: ProcessId,
    file: FileId,
    direction: Direction,
    forward: u64,
    backward: u64,
    time: u64,
    phases: &'a [PhaseId],
}

/// The orders of all objects that the trace has a file of.
pub(super) fn orders<'a>(trace: &Trace, figures: &'a Figures) -> Vec<InitialiserOrderHead<'a>> {
    let orders = figures.initialisers.iter().filter(|order| trace.file(order.file).is_some());
    orders.map(order).collect()
}

fn order(order: &InitialiserOrder) -> InitialiserOrderHead<'_> {
    InitialiserOrderHead {
        process: order.process,
        file: order.file,
        direction: order.direction,
        forward: order.seeks.forward,
        backward: order.seeks.backward,
        time: order.time,
        phases: &order.phases,
    }
}
