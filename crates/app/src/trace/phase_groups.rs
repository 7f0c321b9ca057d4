//! Time by phase: each process's phases as a tree, grouped by kind.

use std::collections::{BTreeMap, HashMap};

use coldstart_profile::trace::{Known, Phase, PhaseKind, ProcessId};

use super::TraceView;

/// Maximum depth of groups. Deeper nesting than `dlopen` in an initialiser in `dlopen` in `main` is not separated.
const DEEPEST: usize = 8;

/// Phases of one kind whose chains of parents have the same kinds.
#[derive(Clone, Copy, Debug)]
pub struct PhaseGroup {
    /// Their kind.
    pub kind: PhaseKind,
    /// Nesting depth.
    pub depth: usize,
    holder: Option<usize>,
    /// When the first begins, nanoseconds since the launch.
    pub begin: u64,
    /// Sum of their durations, in nanoseconds.
    pub total: u64,
    /// Sum of their durations without their child phases.
    pub own: u64,
    /// Number of phases.
    pub count: u64,
    /// The lowest accuracy among their times.
    pub known: Known,
}

impl TraceView<'_> {
    /// The phase groups of each process that has any: children after their parent, ordered by begin.
    pub fn phase_groups(&self) -> BTreeMap<ProcessId, Vec<PhaseGroup>> {
        let of_process = |places: &Vec<usize>| {
            let groups = groups(self, places);
            in_order(&groups).into_iter().filter_map(|place| groups.get(place).copied()).collect()
        };
        by_process(self).iter().map(|(process, places)| (*process, of_process(places))).collect()
    }
}

/// Indices of each process's phases.
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
    // Phase index to group index.
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

/// Children after their parent, ordered by begin.
fn in_order(groups: &[PhaseGroup]) -> Vec<usize> {
    let mut order = Vec::with_capacity(groups.len());
    let mut below: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (place, group) in groups.iter().enumerate() {
        below.entry(group.holder).or_default().push(place);
    }
    for places in below.values_mut() {
        // The stack is popped from its end.
        places.sort_by_key(|place| std::cmp::Reverse(groups.get(*place).map(|group| group.begin)));
    }
    let mut waiting = below.remove(&None).unwrap_or_default();
    while let Some(place) = waiting.pop() {
        order.push(place);
        waiting.append(&mut below.remove(&Some(place)).unwrap_or_default());
    }
    order
}
