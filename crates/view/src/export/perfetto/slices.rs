//! Phases as slices that nest.
//!
//! Viewers build a tree from times alone and throw away slices that overlap without one holding the other. Phases of
//! two threads may do so, and a hostile trace will. So each goes onto the first lane where it fits; one that fits
//! nowhere is cut, and says so.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use coldstart_profile::trace::{CodeAddress, Phase, PhaseKind};

use super::super::names::Names;
use super::record::{Arguments, Record, Records, microseconds};
use super::tracks::{LANES, Tracks};

/// A phase's place in the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Placed {
    lane: u64,
    /// Where it is drawn to end, in nanoseconds.
    end: u64,
}

/// Ends of the phases that are open, of each lane of one process, the innermost last.
#[derive(Default)]
struct Lanes([Vec<u64>; LANES as usize]);

impl Lanes {
    /// Phases come in the order of their beginnings, the longest first.
    fn place(&mut self, begin: u64, end: u64) -> Placed {
        for lane in &mut self.0 {
            while lane.last().is_some_and(|open| *open <= begin) {
                lane.pop();
            }
        }
        for (number, lane) in (0..).zip(&mut self.0) {
            if lane.last().is_none_or(|open| *open >= end) {
                lane.push(end);
                return Placed { lane: number, end };
            }
        }
        let [first, ..] = &mut self.0;
        let open = first.last().copied().unwrap_or(end);
        first.push(open);
        Placed { lane: 0, end: open }
    }
}

pub(super) fn write(names: &Names<'_>, tracks: &Tracks, records: &mut Records<'_>) -> io::Result<()> {
    let mut order: Vec<&Phase> = names.trace.phases.iter().collect();
    // Of equals the first is outside: it is the parent. The sort is stable.
    order.sort_by_key(|phase| (phase.begin, std::cmp::Reverse(phase.end)));
    let mut lanes: BTreeMap<u64, Lanes> = BTreeMap::new();
    let mut named: BTreeSet<(u64, u64)> = BTreeSet::new();
    for phase in order {
        let process = tracks.main_thread(phase.process).process;
        let placed = lanes.entry(process).or_default().place(phase.begin.0, phase.end.0.max(phase.begin.0));
        if placed.lane > 0 && named.insert((process, placed.lane)) {
            tracks.name_lane(phase.process, placed.lane, records)?;
        }
        write_one(names, tracks, phase, placed, records)?;
    }
    Ok(())
}

fn write_one(
    names: &Names<'_>,
    tracks: &Tracks,
    phase: &Phase,
    placed: Placed,
    records: &mut Records<'_>,
) -> io::Result<()> {
    let path = phase.file.map(|file| names.path(Some(file)));
    let code = phase.file.zip(phase.address).map(|(file, address)| CodeAddress { file, address });
    let symbol = code.map(|code| names.code(code));
    let name = name(names, phase, symbol.as_deref());
    let arguments = Arguments {
        file: path.as_deref(),
        symbol: symbol.as_deref(),
        address: phase.address.map(|address| format!("{address:#x}")),
        known: Some(phase.known.name()),
        really_ends: (placed.end < phase.end.0).then(|| microseconds(phase.end.0)),
        ..Arguments::default()
    };
    let begin = Record::instant(&name, category(phase.kind), phase.begin.0, tracks.lane(phase.process, placed.lane));
    let duration = Some(microseconds(placed.end.saturating_sub(phase.begin.0)));
    records.write(&Record { phase: "X", scope: None, duration, arguments, ..begin })
}

fn name(names: &Names<'_>, phase: &Phase, symbol: Option<&str>) -> String {
    let what = phase.kind.words();
    match (phase.file, symbol) {
        (_, Some(symbol)) => format!("{what} {symbol}"),
        (Some(_), None) => format!("{what} {}", names.file_name(phase.file)),
        (None, None) if phase.kind == PhaseKind::Exec => format!("{what} {}", names.program(phase.process)),
        (None, None) => what.to_owned(),
    }
}

fn category(kind: PhaseKind) -> &'static str {
    match kind {
        PhaseKind::Initialiser => "initialiser",
        _ => "phase",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_all(phases: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let mut lanes = Lanes::default();
        let placed = phases.iter().map(|(begin, end)| lanes.place(*begin, *end));
        placed.map(|placed| (placed.lane, placed.end)).collect()
    }

    #[test]
    fn what_nests_stays_on_one_lane() {
        let phases = [(0, 100), (0, 40), (10, 20), (20, 40), (40, 100), (100, 120), (100, 100)];
        assert!(place_all(&phases).iter().all(|(lane, _)| *lane == 0));
    }

    #[test]
    fn what_overlaps_gets_another_lane_and_at_last_is_cut() {
        assert_eq!(place_all(&[(0, 10), (5, 15), (8, 12), (11, 20)]), [(0, 10), (1, 15), (1, 12), (0, 20)]);
        let overlapping: Vec<(u64, u64)> = (0..12).map(|nth| (nth, 100 + nth)).collect();
        let placed = place_all(&overlapping);
        assert_eq!(placed[7], (7, 107));
        assert_eq!(&placed[8..], [(0, 100); 4]);
    }
}
