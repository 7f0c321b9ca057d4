//! The phases of one process while they are assembled: properly nested, whatever the notes say.

use std::collections::HashMap;

use coldstart_profile::trace::{FileId, Known, Moment, Phase, PhaseId, PhaseKind, ProcessId};

/// A node of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node(usize);

/// A requested phase, before the tree has cut it to its parent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) kind: PhaseKind,
    pub(super) file: Option<FileId>,
    pub(super) address: Option<u64>,
    pub(super) begin: Moment,
    pub(super) end: Moment,
    pub(super) known: Known,
}

impl Wanted {
    /// A phase that concerns no single object, or all.
    pub(super) fn new(kind: PhaseKind, begin: Moment, end: Moment, known: Known) -> Self {
        Self { kind, file: None, address: None, begin, end, known }
    }

    /// The same for one object.
    pub(super) fn of(self, file: FileId) -> Self {
        Self { file: Some(file), ..self }
    }
}

/// The phases of one process.
pub(super) struct Tree {
    process: ProcessId,
    /// Later times are ignored.
    until: Moment,
    phases: Vec<Phase>,
    /// By parent, in order of time.
    children: HashMap<Option<Node>, Vec<Node>>,
    /// Where the last one of a kind ended: the next one under the same parent begins no earlier.
    last_end: HashMap<(Option<Node>, PhaseKind), Moment>,
}

impl Tree {
    pub(super) fn new(process: ProcessId, until: Moment) -> Self {
        Self { process, until, phases: Vec::new(), children: HashMap::new(), last_end: HashMap::new() }
    }

    /// Adds a phase, cut to its parent, to readiness and to the end of its previous sibling of the same kind. `None`
    /// if nothing is left; only an instant may be empty. Phases of a kind are added in order of time.
    pub(super) fn add(&mut self, parent: Option<Node>, wanted: Wanted) -> Option<Node> {
        let (first, last) = match parent {
            Some(parent) => self.bounds(parent)?,
            None => (Moment(0), self.until),
        };
        let first = self.last_end.get(&(parent, wanted.kind)).map_or(first, |&end| first.max(end));
        let begin = wanted.begin.max(first);
        let end = wanted.end.min(last);
        let may_be_empty = matches!(wanted.kind, PhaseKind::Zeroing | PhaseKind::Initialiser);
        if end < begin || (end == begin && !may_be_empty) {
            return None;
        }
        let node = Node(self.phases.len());
        let id = |node: Node| u32::try_from(node.0).ok().map(PhaseId);
        id(node)?;
        self.phases.push(Phase {
            process: self.process,
            kind: wanted.kind,
            file: wanted.file,
            address: wanted.address,
            begin,
            end,
            parent: parent.and_then(id),
            known: wanted.known,
        });
        self.children.entry(parent).or_default().push(node);
        self.last_end.insert((parent, wanted.kind), end);
        Some(node)
    }

    fn phase(&self, node: Node) -> Option<&Phase> {
        self.phases.get(node.0)
    }

    /// What a phase was cut to.
    pub(super) fn bounds(&self, node: Node) -> Option<(Moment, Moment)> {
        self.phase(node).map(|phase| (phase.begin, phase.end))
    }

    /// The kind of a phase.
    pub(super) fn kind(&self, node: Node) -> Option<PhaseKind> {
        self.phase(node).map(|phase| phase.kind)
    }

    /// The innermost phase at a moment, within another one if wanted. Those for which `enter` says no are not looked
    /// into.
    pub(super) fn innermost(
        &self,
        at: Moment,
        within: Option<Node>,
        enter: &dyn Fn(PhaseKind) -> bool,
    ) -> Option<Node> {
        let mut found = within;
        loop {
            let holds = |node: &&Node| {
                self.phase(**node).is_some_and(|phase| phase.begin <= at && at < phase.end && enter(phase.kind))
            };
            match self.children.get(&found).and_then(|children| children.iter().rev().find(holds)) {
                Some(&inner) => found = Some(inner),
                None => return found,
            }
        }
    }

    pub(super) fn into_phases(self) -> Vec<Phase> {
        self.phases
    }
}

/// One list of many processes' phases: in the order in which they began, each after the one that holds it.
pub(super) fn together(processes: Vec<Vec<Phase>>) -> Vec<Phase> {
    let mut all: Vec<Phase> = Vec::new();
    for phases in processes {
        let Ok(base) = u32::try_from(all.len()) else { break };
        let moved = |phase: Phase| {
            let parent = phase.parent.map(|parent| PhaseId(parent.0.saturating_add(base)));
            Phase { parent, ..phase }
        };
        all.extend(phases.into_iter().map(moved));
    }
    // A child is added after its parent and begins no earlier, so the order of adding decides among equals.
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by_key(|&old| all.get(old).map(|phase| phase.begin));
    let mut new_place = vec![0_u32; all.len()];
    for (new, &old) in order.iter().enumerate() {
        if let (Some(place), Ok(new)) = (new_place.get_mut(old), u32::try_from(new)) {
            *place = new;
        }
    }
    let at_new_place = |id: PhaseId| new_place.get(usize::try_from(id.0).ok()?).copied().map(PhaseId);
    let moved = |&old: &usize| {
        let phase = all.get(old)?.clone();
        Some(Phase { parent: phase.parent.and_then(at_new_place), ..phase })
    };
    order.iter().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(kind: PhaseKind, begin: u64, end: u64) -> Wanted {
        Wanted::new(kind, Moment(begin), Moment(end), Known::Exactly)
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        let mut tree = Tree::new(ProcessId(0), Moment(100));
        let main = tree.add(None, wanted(PhaseKind::Main, 50, 200)).unwrap();
        assert_eq!(tree.bounds(main), Some((Moment(50), Moment(100))));
        let first = tree.add(Some(main), wanted(PhaseKind::Dlopen, 40, 60)).unwrap();
        let second = tree.add(Some(main), wanted(PhaseKind::Dlopen, 55, 70)).unwrap();
        assert_eq!(tree.bounds(first), Some((Moment(50), Moment(60))));
        assert_eq!(tree.bounds(second), Some((Moment(60), Moment(70))));
        assert_eq!(tree.add(Some(main), wanted(PhaseKind::Dlopen, 65, 70)), None);
        assert_eq!(tree.add(None, wanted(PhaseKind::Dlclose, 100, 120)), None);
        assert!(tree.add(Some(main), wanted(PhaseKind::Zeroing, 60, 60)).is_some());
        assert_eq!(tree.innermost(Moment(65), None, &|_| true), Some(second));
        assert_eq!(tree.innermost(Moment(65), None, &|kind| kind != PhaseKind::Dlopen), Some(main));
        assert_eq!(tree.innermost(Moment(10), None, &|_| true), None);
    }

    #[test]
    fn processes_come_together_by_time_and_keep_their_parents() {
        let mut first = Tree::new(ProcessId(0), Moment(100));
        let main = first.add(None, wanted(PhaseKind::Main, 10, 90));
        first.add(main, wanted(PhaseKind::Dlopen, 30, 40));
        let mut second = Tree::new(ProcessId(1), Moment(100));
        let main = second.add(None, wanted(PhaseKind::Main, 20, 90));
        second.add(main, wanted(PhaseKind::Dlopen, 20, 40));
        let phases = together(vec![first.into_phases(), second.into_phases()]);
        let seen: Vec<_> = phases.iter().map(|phase| (phase.process.0, phase.begin.0, phase.parent)).collect();
        assert_eq!(seen, [(0, 10, None), (1, 20, None), (1, 20, Some(PhaseId(1))), (0, 30, Some(PhaseId(0)))]);
    }
}
