//! Phases of processes as lanes: a line for each process, time on the x-axis.

use std::collections::BTreeSet;

use anstyle::AnsiColor;
use coldstart_profile::trace::{PhaseKind, ProcessId, Trace};

use super::sheet::{Ink, Sheet, width};
use crate::map::words::{counted, file_name};
use crate::map::{time_step, time_tick};

/// Lanes that are shown, of the processes that live longest; the others are counted.
const SHOWN: usize = 6;

/// The first processes that have phases.
pub(super) fn draw(sheet: &mut Sheet, trace: &Trace, end: u64) {
    let has_phases: BTreeSet<ProcessId> = trace.phases.iter().map(|phase| phase.process).collect();
    if has_phases.is_empty() {
        return;
    }
    // The longest are what a reader looks for; a shell's helpers are over in a moment.
    let mut longest: Vec<(u64, ProcessId)> = has_phases
        .iter()
        .filter_map(|id| {
            let process = trace.process(*id)?;
            let until = process.ended.map_or(end, |at| at.0);
            Some((until.saturating_sub(process.began.0), *id))
        })
        .collect();
    longest.sort_by_key(|(time, id)| (std::cmp::Reverse(*time), *id));
    longest.truncate(SHOWN);
    let mut shown: Vec<ProcessId> = longest.into_iter().map(|(_, id)| id).collect();
    shown.sort_unstable();
    sheet.line("");
    sheet.styled("Phases", Ink::Bold);
    let left = left(sheet);
    let mut used = BTreeSet::new();
    for process in &shown {
        used.extend(lane(sheet, trace, *process, left, end));
    }
    axis(sheet, left, sheet.width(), 0, end);
    let key: Vec<String> =
        used.into_iter().filter_map(|kind: PhaseKind| Some(format!("{} {}", letter(kind)?, label(kind)))).collect();
    let more = has_phases.len().saturating_sub(shown.len()) as u64;
    let more = if more > 0 { format!("; {} not shown", counted(more, "shorter lane")) } else { String::new() };
    sheet.prose(&format!("{}{more}", key.join(", ")), Ink::Muted);
}

/// Columns before the lanes.
pub(super) fn left(sheet: &Sheet) -> u16 {
    match sheet.width() {
        0..60 => 12,
        60..100 => 16,
        _ => 24,
    }
}

/// One process; the kinds that are in it.
fn lane(sheet: &mut Sheet, trace: &Trace, process: ProcessId, left: u16, end: u64) -> Vec<PhaseKind> {
    let y = sheet.grow(1);
    if let Some(process) = trace.process(process) {
        let name = format!("{} {}", file_name(&process.program), process.number);
        sheet.put(0, y, &name, left - 1, Ink::Plain);
    }
    let columns = usize::from(sheet.width().saturating_sub(left));
    let mut cells: Vec<Option<PhaseKind>> = vec![None; columns];
    let column = |at: u64| (at.min(end) as f64 / end as f64 * columns as f64) as usize;
    let phases = trace.phases.iter().filter(|phase| phase.process == process && letter(phase.kind).is_some());
    for phase in phases {
        let is_inside = phase.parent.is_some();
        if is_inside && !matches!(phase.kind, PhaseKind::Dlopen | PhaseKind::Dlclose) {
            continue;
        }
        let (from, to) = (column(phase.begin.0), column(phase.end.0).min(columns));
        // Inside others only what fills columns of its own is seen.
        let to = if is_inside { to } else { to.max(from + 1).min(columns) };
        for cell in cells.get_mut(from..to).unwrap_or_default() {
            // A column belongs to the first that begins in it.
            if is_inside || cell.is_none() {
                *cell = Some(phase.kind);
            }
        }
    }
    let mut at = 0;
    while let Some(kind) = cells.get(at) {
        let run = cells.iter().skip(at).take_while(|cell| *cell == kind).count().max(1);
        if let Some(kind) = kind {
            put_run(sheet, (left + at as u16, y), run, *kind);
        }
        at += run;
    }
    cells.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

/// A phase: its letter in each column, its name where there is room.
fn put_run(sheet: &mut Sheet, (x, y): (u16, u16), columns: usize, kind: PhaseKind) {
    let Some(letter) = letter(kind) else { return };
    let name = label(kind);
    let text = match columns.checked_sub(width(name) + 4) {
        Some(rest) => format!("{letter}{letter} {name} {}", letter.to_string().repeat(rest)),
        None => letter.to_string().repeat(columns),
    };
    sheet.put(x, y, &text, columns as u16, Ink::Coloured(colour(kind)));
}

/// A line of round moments.
pub(super) fn axis(sheet: &mut Sheet, left: u16, right: u16, from: u64, end: u64) {
    let y = sheet.grow(1);
    let columns = right.saturating_sub(left);
    let (ticks, step) = time_step(from, end, u32::from(columns / 12).max(1));
    for tick in ticks {
        let across = tick.saturating_sub(from) as f64 / end.saturating_sub(from).max(1) as f64;
        let label = time_tick(tick, step, end);
        let x = left + (across * f64::from(columns.saturating_sub(1))) as u16;
        let mark = if sheet.is_ascii() { "|" } else { "╵" };
        sheet.put(x, y, mark, 1, Ink::Muted);
        if usize::from(x) + 1 + width(&label) <= usize::from(right) {
            sheet.put(x + 1, y, &label, right - x - 1, Ink::Muted);
        } else {
            sheet.put_end(x, y, &label, Ink::Muted);
        }
    }
}

fn label(kind: PhaseKind) -> &'static str {
    crate::palette::Palette::get().phase(kind.name()).map_or(kind.name(), |swatch| &swatch.label)
}

/// `None`: too short for a lane, or shown with what holds it.
fn letter(kind: PhaseKind) -> Option<char> {
    Some(match kind {
        PhaseKind::Exec => 'e',
        PhaseKind::LoaderStart => 'l',
        PhaseKind::Mapping => 'm',
        PhaseKind::Relocation => 'r',
        PhaseKind::Initialisers => 'i',
        PhaseKind::Runtime => 't',
        PhaseKind::Main => '-',
        PhaseKind::Dlopen => 'd',
        PhaseKind::Dlclose => 'c',
        PhaseKind::Zeroing | PhaseKind::Initialiser => return None,
    })
}

fn colour(kind: PhaseKind) -> AnsiColor {
    match kind {
        PhaseKind::Exec | PhaseKind::Zeroing | PhaseKind::Dlclose => AnsiColor::BrightBlack,
        PhaseKind::LoaderStart => AnsiColor::Magenta,
        PhaseKind::Mapping => AnsiColor::Blue,
        PhaseKind::Relocation => AnsiColor::Red,
        PhaseKind::Initialisers | PhaseKind::Initialiser => AnsiColor::Green,
        PhaseKind::Runtime => AnsiColor::Yellow,
        PhaseKind::Main => AnsiColor::Cyan,
        PhaseKind::Dlopen => AnsiColor::BrightMagenta,
    }
}
