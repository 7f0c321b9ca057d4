//! Where the time went: each process's phases as a tree, those of the same kind in one group.

use std::collections::{BTreeMap, HashMap};

use coldstart_profile::trace::{Known, Phase, PhaseKind, ProcessId};

use super::TraceView;

/// Deeper than `dlopen` in an initialiser in `dlopen` in `main`, nothing is told apart.
const DEEPEST: usize = 8;

/// Phases of the same kind that are held by phases of the same kind, and so on.
#[derive(Clone, Copy, Debug)]
pub struct PhaseGroup {
    /// What they are.
    pub kind: PhaseKind,
    /// How many groups hold it, one in the other.
    pub depth: usize,
    holder: Option<usize>,
    /// When the first begins, nanoseconds since the launch.
    pub begin: u64,
    /// Their lengths together, in nanoseconds.
    pub total: u64,
    /// Without what other phases within them take.
    pub own: u64,
    /// How many they are.
    pub count: u64,
    /// How well the least known of their times is known.
    pub known: Known,
}

impl TraceView<'_> {
    /// The phases of each process that has some: each group behind the one that holds it, in the order of their beginnings.
    pub fn phase_groups(&self) -> BTreeMap<ProcessId, Vec<PhaseGroup>> {
        let of_process = |places: &Vec<usize>| {
            let groups = groups(self, places);
            in_order(&groups).into_iter().filter_map(|place| groups.get(place).copied()).collect()
        };
        by_process(self).iter().map(|(process, places)| (*process, of_process(places))).collect()
    }
}

/// Places of each process's phases.
fn by_process(view: &TraceView<'_>) -> BTreeMap<ProcessId, Vec<usize>> {
    let mut processes: BTreeMap<ProcessId, Vec<usize>> = BTreeMap::new();
    for (place, phase) in view.trace.phases.iter().enumerate() {
        processes.entry(phase.process).or_default().push(place);
    }
    processes
}

fn groups(view: &TraceView<'_>, places: &[usize]) -> Vec<PhaseGroup> {
    let mut groups: Vec<PhaseGroup> = Vec::new();
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
                groups.push(PhaseGroup::new(phase, own, holder, depth));
            }
        }
    }
    groups
}

impl PhaseGroup {
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
fn in_order(groups: &[PhaseGroup]) -> Vec<usize> {
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
