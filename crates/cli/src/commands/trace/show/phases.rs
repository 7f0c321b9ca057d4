//! Time by phase: a process's phases as a tree, one line for each kind.

use coldstart_app::trace::PhaseGroup;
use coldstart_profile::trace::ProcessId;

use super::{View, words};
use crate::output::table::{Align, Table};
use crate::output::text::{heading, table};

/// Of the main process.
pub(super) fn of_main_process(view: &View<'_>) -> String {
    let process = view.figures.main_process();
    view.phase_groups().get(&process).map_or_else(String::new, |groups| of_process(view, process, groups))
}

/// Of each process that has phases.
pub(super) fn of_all_processes(view: &View<'_>) -> String {
    let processes = view.phase_groups();
    let shown = processes.len().min(view.limit);
    let texts = processes.iter().take(shown).map(|(process, groups)| of_process(view, *process, groups));
    texts.collect::<String>() + &words::omitted(shown, processes.len())
}

fn of_process(view: &View<'_>, process: ProcessId, groups: &[PhaseGroup]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let mut rows = Table::new(&[
        ("begins", Align::Right),
        ("takes", Align::Right),
        ("itself", Align::Right),
        ("share", Align::Right),
        ("phase", Align::Left),
    ]);
    let whole: u64 = groups.iter().map(|group| group.own).fold(0, u64::saturating_add);
    for group in groups {
        let count = if group.count > 1 { format!(", {} times", group.count) } else { String::new() };
        let indent = "  ".repeat(group.depth);
        rows.row(vec![
            words::time(group.begin),
            words::time(group.total),
            words::time(group.own),
            words::percent(group.own, whole),
            format!("{indent}{}{count}{}", group.kind.words(), words::known(group.known)),
        ]);
    }
    let title = format!("times of {}", words::process(view, process, 40));
    heading("Phases", &title) + &table(&rows)
}
