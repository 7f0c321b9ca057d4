//! Where the time went: a process's phases as a tree, those of the same kind in one line.

use std::collections::{BTreeMap, HashMap};

use coldstart_profile::trace::{Known, Phase, PhaseKind, ProcessId};

use super::{View, words};
use crate::output::table::{Align, Table};
use crate::output::text::{heading, table};

/// Deeper than `dlopen` in an initialiser in `dlopen` in `main`, nothing is told apart.
const DEEPEST: usize = 8;

/// Phases of the same kind that are held by phases of the same kind, and so on.
struct Group {
    kind: PhaseKind,
    depth: usize,
    holder: Option<usize>,
    begin: u64,
    total: u64,
    own: u64,
    count: u64,
    known: Known,
}

/// Of the process that matters most.
pub(super) fn of_main_process(view: &View<'_>) -> String {
    let process = view.figures.main_process();
    by_process(view).get(&process).map_or_else(String::new, |places| of_process(view, process, places))
}

/// Of each process that has phases.
pub(super) fn of_all_processes(view: &View<'_>) -> String {
    let processes = by_process(view);
    let shown = processes.len().min(view.limit);
    let texts = processes.iter().take(shown).map(|(process, places)| of_process(view, *process, places));
    texts.collect::<String>() + &words::omitted(shown, processes.len())
}

/// Places of each process's phases.
fn by_process(view: &View<'_>) -> BTreeMap<ProcessId, Vec<usize>> {
    let mut processes: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for (place, phase) in view.trace.phases.iter().enumerate() {
        processes.entry(phase.process).or_default().push(place);
    }
    processes
}

fn of_process(view: &View<'_>, process: ProcessId, places: &[usize]) -> String {
    let groups = groups(view, places);
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
    for place in in_order(&groups) {
        let Some(group) = groups.get(place) else { continue };
        let count = if group.count > 1 { format!(", {} times", group.count) } else { String::new() };
        let indent = "  ".repeat(group.depth);
        rows.row(vec![
            words::time(group.begin),
            words::time(group.total),
            words::time(group.own),
            words::share(group.own, whole),
            format!("{indent}{}{count}{}", group.kind.words(), words::known(group.known)),
        ]);
    }
    let title = format!("times of {}", words::process(view, process, 40));
    heading("Phases", &title) + &table(&rows)
}

fn groups(view: &View<'_>, places: &[usize]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<(Option<usize>, PhaseKind), usize> = HashMap::new();
    // Of each phase, its group.
    let mut group_of: HashMap<usize, usize> = HashMap::new();
    for &place in places {
        let Some(phase) = view.trace.phases.get(place) else { continue };
        let holder = phase.parent.and_then(|parent| usize::try_from(parent.0).ok());
        let holder = holder.and_then(|holder| group_of.get(&holder).copied());
        let holder = holder.filter(|holder| groups.get(*holder).is_some_and(|group| group.depth < DEEPEST));
        let group = *known.entry((holder, phase.kind)).or_insert(groups.len());
        group_of.insert(place, group);
        let own = view.figures.times.own.get(place).copied().unwrap_or(0);
        match groups.get_mut(group) {
            Some(group) => group.add(phase, own),
            None => {
                let depth = holder.and_then(|holder| groups.get(holder)).map_or(0, |group| group.depth + 1);
                groups.push(Group::new(phase, own, holder, depth));
            }
        }
    }
    groups
}

impl Group {
    fn new(phase: &Phase, own: u64, holder: Option<usize>, depth: usize) -> Self {
        let (begin, kind, known) = (phase.begin.0, phase.kind, phase.known);
        let total = phase.end.0.saturating_sub(begin);
        Self { kind, depth, holder, begin, total, own, count: 1, known }
    }

    fn add(&mut self, phase: &Phase, own: u64) {
        self.begin = self.begin.min(phase.begin.0);
        self.total = self.total.saturating_add(phase.end.0.saturating_sub(phase.begin.0));
        self.own = self.own.saturating_add(own);
        self.count += 1;
        self.known = self.known.max(phase.known);
    }
}

/// Each group behind the one that holds it, in the order of their beginnings.
fn in_order(groups: &[Group]) -> Vec<usize> {
    let mut order = Vec::with_capacity(groups.len());
    let mut below: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (place, group) in groups.iter().enumerate() {
        below.entry(group.holder).or_default().push(place);
    }
    for places in below.values_mut() {
        // The last is taken first.
        places.sort_by_key(|place| std::cmp::Reverse(groups.get(*place).map(|group| group.begin)));
    }
    let mut waiting = below.remove(&None).unwrap_or_default();
    while let Some(place) = waiting.pop() {
        order.push(place);
        waiting.append(&mut below.remove(&Some(place)).unwrap_or_default());
    }
    order
}
