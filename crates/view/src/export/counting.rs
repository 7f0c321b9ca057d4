//! Sums of events for counters, sampled so that a million events do not make a million points.
//!
//! The points of a start are in [`STEPS`] equal stretches of time, at the last event of each; the last point is the
//! whole.

use std::collections::BTreeMap;

use coldstart_profile::PAGE_SIZE;
use coldstart_profile::trace::{Event, EventKind, FillCause, ProcessId, Trace};

/// Stretches of time that the run is divided into.
pub(super) const STEPS: u64 = 1000;

/// What is added up, of each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sum {
    /// Bytes of pages that the process touched first.
    Touched,
    /// Of these, bytes whose touch waited for the disk.
    Waited,
    /// Bytes that came from the disk for it.
    FromDisk,
    /// Bytes that it read with system calls.
    Read,
}

impl Sum {
    /// As it is shown, without the unit, which is bytes.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Touched => "touched first",
            Self::Waited => "touches waited for the disk",
            Self::FromDisk => "from the disk",
            Self::Read => "read",
        }
    }
}

/// A point of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Point {
    /// Nanoseconds since the launch.
    pub(super) at: u64,
    /// The sum so far.
    pub(super) value: u64,
}

/// All points, by process and sum, each ascending in time. Events without a process count nowhere.
pub(super) fn counters(trace: &Trace) -> BTreeMap<(ProcessId, Sum), Vec<Point>> {
    let length = trace.events.last().map_or(0, |event| event.at.0) / STEPS;
    let mut counters: BTreeMap<(ProcessId, Sum), Vec<Point>> = BTreeMap::new();
    for event in &trace.events {
        let Some(process) = trace.process_of(event) else { continue };
        for sum in sums(event).into_iter().flatten() {
            let points = counters.entry((process, sum)).or_insert_with(|| vec![Point { at: 0, value: 0 }]);
            let Some(last) = points.last().copied() else { continue };
            let point = Point {
                at: event.at.0,
                value: last.value.saturating_add(u64::from(event.pages).saturating_mul(PAGE_SIZE)),
            };
            let is_same_step = last.at.checked_div(length) == event.at.0.checked_div(length);
            match points.last_mut().filter(|_| is_same_step && last.value > 0) {
                Some(last) => *last = point,
                None => points.push(point),
            }
        }
    }
    counters
}

fn sums(event: &Event) -> [Option<Sum>; 2] {
    match event.kind {
        EventKind::Touch(touch) => [Some(Sum::Touched), touch.major.then_some(Sum::Waited)],
        EventKind::Read => [Some(Sum::Read), None],
        // What another program has read was read for it.
        EventKind::Fill(FillCause::Other) | EventKind::Function => [None, None],
        EventKind::Fill(_) => [Some(Sum::FromDisk), None],
    }
}

#[cfg(test)]
mod tests {
    use coldstart_profile::trace::Touch;

    use super::super::testing::{object, touch_of, trace_of};
    use super::*;

    #[test]
    fn many_events_make_few_points_and_the_last_is_the_sum() {
        let mut trace = trace_of(object(0));
        trace.events = (0..20_000).map(|page| touch_of(page, Touch { major: page == 7, ..Touch::default() })).collect();
        let counters = counters(&trace);
        let points = &counters[&(ProcessId(0), Sum::Touched)];
        assert!(points.len() <= 1003, "{}", points.len());
        assert_eq!(points.last(), Some(&Point { at: 19_999_000, value: 20_000 * PAGE_SIZE }));
        assert!(points.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].value < pair[1].value));
        assert_eq!(counters[&(ProcessId(0), Sum::Waited)].len(), 2);
    }

    #[test]
    fn odd_traces_are_counted_all_the_same() {
        assert!(counters(&Trace::default()).is_empty());
        let mut trace = trace_of(object(0));
        trace.events = vec![Event { pages: u32::MAX, ..touch_of(0, Touch::default()) }; 3];
        assert_eq!(
            counters(&trace)[&(ProcessId(0), Sum::Touched)].last().map(|point| point.value),
            Some(3 * 4096 * 0xffff_ffff)
        );
    }
}
