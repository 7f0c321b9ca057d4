//! The order of initialisers, and the slowest ones.

use coldstart_app::trace::{InitialiserSum, LongInitialiser};
use coldstart_profile::trace::FileId;
use coldstart_profile::trace::figures::Direction;

use super::{View, words};
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, Table};
use crate::output::text::{counted, fit, heading, table};

/// By object, and the slowest individually.
pub(super) fn part(view: &View<'_>) -> String {
    let objects = view.initialiser_sums();
    if objects.is_empty() {
        return String::new();
    }
    let calls: u64 = objects.iter().map(|(_, object)| object.calls).sum();
    let summary = format!("{}; jumps between consecutive ones of the same object in a process", counted(calls, "call"));
    heading("Initialisers", &summary) + &by_object(view, &objects) + &longest(view)
}

fn by_object(view: &View<'_>, objects: &[(FileId, InitialiserSum)]) -> String {
    let mut rows = Table::new(&[
        ("time", Align::Right),
        ("calls", Align::Right),
        ("processes", Align::Right),
        ("forward", Align::Right),
        ("back", Align::Right),
        ("order", Align::Left),
        ("object", Align::Left),
    ]);
    let shown = objects.len().min(view.limit);
    for (_, object) in objects.iter().take(shown) {
        let direction = match Direction::of(&object.seeks) {
            Direction::None => "-",
            direction => direction.name(),
        };
        rows.row(vec![
            words::time(object.time),
            grouped(object.calls),
            grouped(object.processes),
            bytes(object.seeks.forward),
            bytes(object.seeks.backward),
            direction.to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| objects.get(row).map_or_else(String::new, |(file, _)| fitted(view.path(*file), room)));
    table(&rows) + &words::omitted(shown, objects.len())
}

fn longest(view: &View<'_>) -> String {
    let longest = view.longest_initialisers();
    if longest.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("begins", Align::Right),
        ("itself", Align::Right),
        ("object", Align::Left),
        ("longest initialisers", Align::Left),
    ]);
    for LongInitialiser { phase, own, file, .. } in &longest {
        let time = format!("{}{}", words::time(*own), words::known(phase.known));
        rows.row(vec![words::time(phase.begin.0), time, words::file_name(view, *file, 30), String::new()]);
    }
    fit(&mut rows, |row, room| {
        longest.get(row).map_or_else(String::new, |long| words::function(view, long.file, long.address, room))
    });
    table(&rows)
}
