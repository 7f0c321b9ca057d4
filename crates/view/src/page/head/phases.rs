//! Phases, and the order of initialisers.

use coldstart_profile::trace::figures::{Direction, Figures, InitialiserOrder};
use coldstart_profile::trace::{CodeAddress, FileId, Known, PhaseId, PhaseKind, ProcessId, Trace};
use serde::Serialize;

use crate::page::columns::Symbols;

/// A stretch of time of one process.
#[derive(Serialize)]
pub(super) struct PhaseHead<'a> {
    process: ProcessId,
    kind: PhaseKind,
    file: Option<FileId>,
    address: Option<u64>,
    name: Option<&'a str>,
    begin: u64,
    end: u64,
    own: u64,
    parent: Option<PhaseId>,
    known: Known,
}

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

/// All phases, in their order.
pub(super) fn phases<'a>(trace: &Trace, figures: &Figures, symbols: &Symbols<'a>) -> Vec<PhaseHead<'a>> {
    let phases = (0u32..).zip(&trace.phases).map(|(place, phase)| {
        let code = phase.file.zip(phase.address).map(|(file, address)| CodeAddress { file, address });
        PhaseHead {
            process: phase.process,
            kind: phase.kind,
            file: phase.file.filter(|file| trace.file(*file).is_some()),
            address: phase.address,
            name: code.and_then(|code| symbols.name_at(code)),
            begin: phase.begin.0,
            end: phase.end.0,
            own: figures.times.own_of(PhaseId(place)),
            // Only what stands in front of it can hold it: whoever follows parents comes to an end.
            parent: phase.parent.filter(|parent| parent.0 < place),
            known: phase.known,
        }
    });
    phases.collect()
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
