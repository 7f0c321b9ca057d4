//! The columns of events.

use coldstart_profile::trace::{Event, Trace};

use super::varint::{Deltas, varint};
use super::{Columns, Symbols};

/// Events by file, in order of time.
pub(in crate::page) struct EventGroups {
    /// Places in [`Trace::events`], group by group.
    order: Vec<u32>,
    /// Of each file, and of those without one: the first row and the number of rows.
    groups: Vec<(usize, usize)>,
}

impl EventGroups {
    /// Of a trace.
    pub(in crate::page) fn of(trace: &Trace) -> Self {
        let without_file = trace.files.len();
        let group = |event: &Event| {
            let file = event.file.and_then(|file| usize::try_from(file.0).ok());
            file.filter(|file| *file < without_file).unwrap_or(without_file)
        };
        // 2^32 events would take 200 gigabytes before they come here.
        let mut order: Vec<u32> = (0u32..).zip(&trace.events).map(|(place, _)| place).collect();
        let at = |place: u32| usize::try_from(place).ok().and_then(|place| trace.events.get(place));
        // Stable: what happened in the same nanosecond stays in its order.
        order.sort_by_key(|place| at(*place).map(|event| (group(event), event.at)));
        let mut groups = vec![(0, 0); without_file + 1];
        for event in order.iter().filter_map(|place| at(*place)) {
            if let Some((_, count)) = groups.get_mut(group(event)) {
                *count += 1;
            }
        }
        let mut behind = 0;
        for (first, count) in &mut groups {
            *first = behind;
            behind += *count;
        }
        Self { order, groups }
    }

    /// The first row and the number of rows of a file.
    pub(in crate::page) fn of_file(&self, file: usize) -> (usize, usize) {
        self.groups.get(file).copied().unwrap_or_default()
    }

    fn rows<'a>(&'a self, trace: &'a Trace) -> impl Iterator<Item = impl Iterator<Item = &'a Event>> {
        self.groups.iter().map(|&(first, count)| {
            let order = self.order.get(first..first.saturating_add(count)).unwrap_or_default();
            order.iter().filter_map(|place| trace.events.get(usize::try_from(*place).ok()?))
        })
    }
}

/// Writes the columns of all events.
pub(super) fn write(trace: &Trace, groups: &EventGroups, symbols: &Symbols<'_>, columns: &mut Columns) {
    let rows = groups.order.len();
    let mut at = Vec::with_capacity(rows.saturating_mul(2));
    let mut page = Vec::with_capacity(rows.saturating_mul(2));
    let [mut pages, mut kind, mut thread, mut code] = [const { Vec::new() }; 4];
    for group in groups.rows(trace) {
        let (mut moments, mut places) = (Deltas::default(), Deltas::default());
        for event in group {
            moments.ascending(event.at.0, &mut at);
            places.either_way(event.page, &mut page);
            varint(event.pages.into(), &mut pages);
            kind.push(event.kind.number());
            varint(event.thread.0.into(), &mut thread);
            let row = event.code.and_then(|code| symbols.row_at(code));
            varint(row.map_or(0, |row| (row as u64).saturating_add(1)), &mut code);
        }
    }
    let named = ["event.at", "event.page", "event.pages", "event.kind", "event.thread", "event.code"];
    for (name, bytes) in named.into_iter().zip([at, page, pages, kind, thread, code]) {
        columns.push(name, rows, bytes);
    }
}
