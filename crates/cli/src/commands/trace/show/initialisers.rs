//! In which order initialisers ran, and the longest of them.

use std::cmp::Reverse;

use coldstart_profile::trace::figures::{Direction, InitialiserOrder};

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, table};

/// By object, and one by one those that took longest.
pub(super) fn part(view: &View<'_>) -> String {
    let mut orders: Vec<&InitialiserOrder> =
        view.figures.initialisers.iter().filter(|order| view.wants(order.file)).collect();
    if orders.is_empty() {
        return String::new();
    }
    orders.sort_by_key(|order| Reverse(order.time));
    let count: u64 = orders.iter().map(|order| order.phases.len() as u64).sum();
    let summary = format!("{}; jumps from each to the next of the same object", counted(count, "function"));
    heading("Initialisers", &summary) + &by_object(view, &orders) + &longest(view)
}

fn by_object(view: &View<'_>, orders: &[&InitialiserOrder]) -> String {
    let mut rows = Table::new(&[
        ("time", Align::Right),
        ("functions", Align::Right),
        ("forward", Align::Right),
        ("back", Align::Right),
        ("order", Align::Left),
        ("object", Align::Left),
    ]);
    let shown = orders.len().min(view.limit);
    for order in orders.iter().take(shown) {
        let direction = if order.direction == Direction::None { "-" } else { order.direction.name() };
        rows.row(vec![
            words::time(order.time),
            grouped(order.phases.len() as u64),
            bytes(order.seeks.forward),
            bytes(order.seeks.backward),
            direction.to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| orders.get(row).map_or_else(String::new, |order| fitted(view.path(order.file), room)));
    table(&rows) + &words::omitted(shown, orders.len())
}

fn longest(view: &View<'_>) -> String {
    let phase = |id: &coldstart_profile::trace::PhaseId| {
        let place = usize::try_from(id.0).ok()?;
        let phase = view.trace.phases.get(place)?;
        Some((phase, view.figures.times.own_of(*id), phase.file?, phase.address?))
    };
    let longest = view.figures.times.longest_initialisers.iter().filter_map(phase);
    let longest: Vec<_> = longest.filter(|(_, _, file, _)| view.wants(*file)).take(view.limit).collect();
    if longest.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("begins", Align::Right),
        ("itself", Align::Right),
        ("object", Align::Left),
        ("longest initialisers", Align::Left),
    ]);
    for (phase, own, file, _) in &longest {
        let time = format!("{}{}", words::time(*own), words::known(phase.known));
        rows.row(vec![words::time(phase.begin.0), time, words::file_name(view, *file, 30), String::new()]);
    }
    fit(&mut rows, |row, room| {
        longest.get(row).map_or_else(String::new, |(_, _, file, address)| words::function(view, *file, *address, room))
    });
    table(&rows)
}
