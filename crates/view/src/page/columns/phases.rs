//! The columns of phases.

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{CodeAddress, Known, PhaseId, PhaseKind, Trace};

use super::varint::{Deltas, varint};
use super::{Columns, Symbols};

/// Writes the columns of all phases, in their order.
pub(super) fn write(trace: &Trace, figures: &Figures, symbols: &Symbols<'_>, columns: &mut Columns) {
    let [mut process, mut kind, mut file, mut address, mut symbol] = [const { Vec::new() }; 5];
    let [mut begin, mut end, mut own, mut parent, mut known] = [const { Vec::new() }; 5];
    let (mut begins, mut ends) = (Deltas::default(), Deltas::default());
    for (place, phase) in (0u32..).zip(&trace.phases) {
        varint(phase.process.0.into(), &mut process);
        kind.push(place_in(&PhaseKind::ALL, phase.kind));
        let traced = phase.file.filter(|file| trace.file(*file).is_some());
        varint(or_none(traced.map(|file| file.0.into())), &mut file);
        varint(or_none(phase.address), &mut address);
        let code = phase.file.zip(phase.address).map(|(file, address)| CodeAddress { file, address });
        let row = code.and_then(|code| symbols.row_at(code));
        varint(or_none(row.map(|row| row as u64)), &mut symbol);
        begins.either_way(phase.begin.0, &mut begin);
        ends.either_way(phase.end.0, &mut end);
        varint(figures.times.own_of(PhaseId(place)), &mut own);
        // Only an earlier phase can be its parent, so following parents terminates.
        let distance = phase.parent.and_then(|parent| place.checked_sub(parent.0));
        varint(distance.unwrap_or(0).into(), &mut parent);
        known.push(place_in(&Known::ALL, phase.known));
    }
    let rows = trace.phases.len();
    let times = [("phase.begin", begin), ("phase.end", end), ("phase.own", own)];
    let places = [("phase.process", process), ("phase.file", file), ("phase.parent", parent)];
    let code = [("phase.address", address), ("phase.symbol", symbol)];
    let kinds = [("phase.kind", kind), ("phase.known", known)];
    for (name, bytes) in times.into_iter().chain(places).chain(code).chain(kinds) {
        columns.push(name, rows, bytes);
    }
}

/// One more than a number; 0 where there is none.
fn or_none(number: Option<u64>) -> u64 {
    number.map_or(0, |number| number.saturating_add(1))
}

fn place_in<T: PartialEq>(all: &[T], one: T) -> u8 {
    let place = all.iter().position(|each| *each == one);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(u8::MAX)
}
