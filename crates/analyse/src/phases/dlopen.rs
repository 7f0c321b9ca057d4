//! Objects that are loaded and given back while the program runs.
//!
//! What a newcomer would not guess: the loader (glibc 2.36) says that its list is consistent in the middle of a `dlopen`, when all is
//! mapped and nothing relocated, and says nothing when it returns. So the end is that of the last thing known to belong to it:
//! the last relocated object's protection, or its last initialiser, which was over when its thread did something else. And
//! since an initialiser may call `dlopen` itself, what comes next may still be inside.

use std::collections::{HashMap, HashSet};

use coldstart_profile::trace::{FileId, Known, Moment, PhaseKind, ThreadId};

use super::super::joined::StopKind;
use super::super::placement::PlacementId;
use super::initialisers::{add as add_initialisers, files};
use super::loading::{self, Stretch, worse};
use super::timeline::Timeline;
use super::tree::{Node, Tree, Wanted};
use crate::note::LoaderState;

/// One `dlopen` that added something.
#[derive(Clone, Debug)]
struct Dlopen {
    thread: ThreadId,
    begin: Moment,
    begin_known: Known,
    consistent: Option<Moment>,
    objects: Vec<PlacementId>,
    files: HashSet<FileId>,
    /// Its initialisers, by place in the timeline.
    called: Vec<usize>,
    /// When its objects were protected.
    protected: Vec<Moment>,
    /// The latest moment at which it is known to have run.
    busy_at: Moment,
    end: Moment,
    end_known: Known,
    /// The one whose initialiser called it.
    inside: Option<usize>,
}

/// All changes to the list of objects after the start.
#[derive(Debug, Default)]
pub(super) struct Changes {
    dlopens: Vec<Dlopen>,
    /// Begin and end of each `dlclose`.
    dlcloses: Vec<(Moment, Moment)>,
    /// Initialisers that belong to a `dlopen`, by place in the timeline.
    pub(super) claimed: HashSet<usize>,
}

/// Finds them. `started` is when the loader was done with the start, if the process began with one.
pub(super) fn changes(timeline: &Timeline<'_>, started: Option<Moment>) -> Changes {
    let mut finder = Finder::new(timeline, started);
    for stop in timeline.stops.iter().filter(|stop| started.is_none_or(|started| stop.at > started)) {
        let (at, thread) = (stop.at, stop.thread);
        finder.stop(at, thread, &stop.what);
        finder.last_stop.insert(thread, at);
    }
    finder.finish()
}

struct Finder<'all> {
    timeline: &'all Timeline<'all>,
    started: Option<Moment>,
    changes: Changes,
    /// Those that may not be over, each inside the one before it.
    open: Vec<usize>,
    linked: HashMap<ThreadId, Vec<PlacementId>>,
    deleting: HashMap<ThreadId, Moment>,
    /// When a thread stood still last.
    last_stop: HashMap<ThreadId, Moment>,
    called: HashMap<PlacementId, Vec<usize>>,
    protected: HashMap<PlacementId, Vec<Moment>>,
}

impl<'all> Finder<'all> {
    fn new(timeline: &'all Timeline<'all>, started: Option<Moment>) -> Self {
        let mut called: HashMap<PlacementId, Vec<usize>> = HashMap::new();
        for (number, one) in timeline.called.iter().enumerate() {
            called.entry(one.object).or_default().push(number);
        }
        let mut protected: HashMap<PlacementId, Vec<Moment>> = HashMap::new();
        for one in &timeline.protected {
            protected.entry(one.object).or_default().push(one.at);
        }
        let (changes, open) = (Changes::default(), Vec::new());
        let (linked, deleting) = (HashMap::new(), HashMap::new());
        Self { timeline, started, changes, open, linked, deleting, last_stop: HashMap::new(), called, protected }
    }

    fn stop(&mut self, at: Moment, thread: ThreadId, what: &StopKind) {
        match what {
            StopKind::Loader(LoaderState::Adding) => self.adding(at, thread),
            StopKind::Linked(objects) => self.linked.entry(thread).or_default().extend(objects),
            StopKind::Loader(LoaderState::Consistent) => self.consistent(at, thread),
            StopKind::Loader(LoaderState::Deleting) => {
                self.leave_all_but_outer(at, thread);
                self.deleting.insert(thread, at);
            }
            _ => {}
        }
    }

    fn adding(&mut self, at: Moment, thread: ThreadId) {
        // The loader says so when it enters the first object into its list: it has mapped that one already
        // (`_dl_map_object_from_fd` in glibc's `elf/dl-load.c`).
        let since = self.last_stop.get(&thread).copied().or(self.started).unwrap_or_default();
        let mapped = self.timeline.libraries_in(since, at).iter().find(|place| place.thread == thread);
        let at = mapped.map_or(at, |place| place.at);
        self.leave_all_but_outer(at, thread);
        self.linked.remove(&thread);
        self.push(at, Known::Exactly, thread);
    }

    fn push(&mut self, begin: Moment, begin_known: Known, thread: ThreadId) {
        let inside = self.open.last().copied();
        self.open.push(self.changes.dlopens.len());
        self.changes.dlopens.push(Dlopen {
            thread,
            begin,
            begin_known,
            consistent: None,
            objects: Vec::new(),
            files: HashSet::new(),
            called: Vec::new(),
            protected: Vec::new(),
            busy_at: begin,
            end: begin,
            end_known: Known::Exactly,
            inside,
        });
    }

    fn consistent(&mut self, at: Moment, thread: ThreadId) {
        let mut linked = self.linked.remove(&thread).unwrap_or_default();
        if self.deleting.contains_key(&thread) {
            if let Some(begin) = self.deleting.remove(&thread) {
                self.changes.dlcloses.push((begin, at));
            }
            return;
        }
        let waits = |&number: &usize| {
            self.changes.dlopens.get(number).is_some_and(|one| one.thread == thread && one.consistent.is_none())
        };
        if self.open.last().is_none_or(|last| !waits(last)) {
            // musl tells once, when all is mapped and relocated: the first mapping must do for the beginning.
            let mapped = |&id: &PlacementId| self.timeline.libraries.iter().find(|place| place.id == id);
            let first = linked.iter().filter_map(mapped).map(|place| place.at).min();
            let Some(first) = first.filter(|&first| first < at && self.started.is_none_or(|started| started < first))
            else {
                return;
            };
            self.leave_all_but_outer(first, thread);
            self.push(first, Known::FromTouches, thread);
        }
        let Some(&number) = self.open.last() else { return };
        let Some(begin) = self.changes.dlopens.get(number).map(|one| one.begin) else { return };
        if linked.is_empty() {
            // Nobody read the loader's list, but what was mapped meanwhile is known.
            linked = self.timeline.libraries_in(begin, at).iter().map(|place| place.id).collect();
        }
        if linked.is_empty() {
            self.open.pop();
            return;
        }
        let mut called: Vec<usize> = linked.iter().flat_map(|id| self.called.remove(id).unwrap_or_default()).collect();
        called.retain(|&number| self.timeline.called.get(number).is_some_and(|called| called.at >= begin));
        called.sort_unstable();
        let mut protected: Vec<Moment> =
            linked.iter().flat_map(|id| self.protected.remove(id).unwrap_or_default()).collect();
        protected.retain(|&at| at >= begin);
        protected.sort_unstable();
        self.changes.claimed.extend(&called);
        if let Some(one) = self.changes.dlopens.get_mut(number) {
            one.consistent = Some(at);
            one.files = files(linked.iter().filter_map(|&id| self.timeline.places.get(id)).map(|place| place.file));
            one.objects = linked;
            one.called = called;
            one.protected = protected;
            one.busy_at = at;
        }
    }

    /// Ends those that were over at this moment, when a thread does something new with the list.
    fn leave_all_but_outer(&mut self, at: Moment, thread: ThreadId) {
        while let Some(&last) = self.open.last() {
            if self.changes.dlopens.get(last).is_some_and(|one| self.is_inside(one, at, thread)) {
                break;
            }
            self.open.pop();
            self.leave(last, at);
        }
    }

    /// Whether what a thread does at a moment is done by an initialiser of a `dlopen`. The loader holds its lock all the
    /// while, so another thread's turn is always outside.
    fn is_inside(&self, one: &Dlopen, at: Moment, thread: ThreadId) -> bool {
        if one.thread != thread || one.consistent.is_none() {
            return false;
        }
        if self.busy_after(one, at).is_some() {
            return true;
        }
        let Some(last) = self.last_call(one, at) else { return false };
        // The last initialiser was called and may still run. Only the code that was seen last can tell.
        let events = self.timeline.events_in(last, at).iter().rev().filter(|event| event.thread == thread);
        let codes = events.filter_map(|event| event.code).map(|code| code.file);
        let telling = |&file: &FileId| {
            one.files.contains(&file) || (Some(file) != self.timeline.loader && !self.timeline.is_runtime(file))
        };
        let mut telling = codes.filter(telling).peekable();
        // Once outside, it cannot be back: what is seen later of its code was called by somebody else.
        telling.peek().is_some() && telling.all(|file| one.files.contains(&file))
    }

    /// The next sign, after a moment, that a `dlopen` was not over: a call of an initialiser or the end of a relocation.
    fn busy_after(&self, one: &Dlopen, at: Moment) -> Option<Moment> {
        let called = one.called.iter().filter_map(|&number| self.timeline.called.get(number)).map(|called| called.at);
        called.chain(one.protected.iter().copied()).filter(|&busy| busy > at).min()
    }

    fn last_call(&self, one: &Dlopen, at: Moment) -> Option<Moment> {
        let called = one.called.iter().filter_map(|&number| self.timeline.called.get(number)).map(|called| called.at);
        called.filter(|&called| called <= at).max()
    }

    /// Decides when a `dlopen` ended that is known to have been over at `limit`.
    fn leave(&mut self, number: usize, limit: Moment) {
        let Some(one) = self.changes.dlopens.get(number) else { return };
        let Some(consistent) = one.consistent else { return };
        let protected = one.protected.last().copied().unwrap_or(consistent);
        let last_call = self.last_call(one, Moment(u64::MAX));
        let busy_at = one.busy_at.max(consistent).max(protected);
        let outer = one.inside.and_then(|outer| self.changes.dlopens.get(outer));
        // What called it goes on only after its return.
        let limit = outer.and_then(|outer| self.busy_after(outer, busy_at)).map_or(limit, |next| limit.min(next));
        let (end, end_known) = match last_call {
            None => (busy_at, one.begin_known),
            Some(last) => {
                let busy_at = busy_at.max(last);
                let events = self.timeline.events_in(Moment(busy_at.0.saturating_add(1)), limit).iter();
                let mut outside = events.filter(|event| self.timeline.is_outside(event, one.thread, &one.files));
                (outside.next().map_or(limit, |event| event.at).max(busy_at), Known::EndAtMost)
            }
        };
        let inside = one.inside;
        if let Some(one) = self.changes.dlopens.get_mut(number) {
            one.end = end;
            one.end_known = worse(one.begin_known, end_known);
        }
        if let Some(outer) = inside.and_then(|outer| self.changes.dlopens.get_mut(outer)) {
            outer.busy_at = outer.busy_at.max(end);
        }
    }

    fn finish(mut self) -> Changes {
        while let Some(last) = self.open.pop() {
            self.leave(last, self.timeline.end);
        }
        self.changes
    }
}

/// Adds them to the phases that they happened in.
pub(super) fn add(tree: &mut Tree, timeline: &Timeline<'_>, changes: &Changes) {
    let mut nodes: HashMap<usize, Node> = HashMap::new();
    for (number, one) in changes.dlopens.iter().enumerate() {
        let Some(consistent) = one.consistent else { continue };
        let outer = one.inside.and_then(|outer| nodes.get(&outer)).copied();
        let parent = tree.innermost(one.begin, outer, &|kind| kind != PhaseKind::Dlopen);
        let file = one.objects.iter().find_map(|&id| timeline.places.get(id)).map(|place| place.file);
        let wanted = Wanted::new(PhaseKind::Dlopen, one.begin, one.end, one.end_known);
        let Some(node) = tree.add(parent, Wanted { file, ..wanted }) else { continue };
        nodes.insert(number, node);
        let first_protected = one.protected.first().copied();
        let loaded = one.protected.last().map_or(consistent, |&last| last.max(consistent));
        let mapped = first_protected.is_none_or(|first| first >= consistent).then_some(consistent);
        // musl relocates first, so there the loader's word is the end of both.
        let mapped = mapped.filter(|_| one.begin_known == Known::Exactly);
        let (begin, begin_known, end_known) = (one.begin, one.begin_known, Known::Exactly);
        loading::add(tree, Some(node), timeline, Stretch { begin, begin_known, mapped, end: loaded, end_known });
        let called: Vec<_> = one.called.iter().filter_map(|&number| timeline.called.get(number)).collect();
        let Some(first) = called.first() else { continue };
        let wanted = Wanted::new(PhaseKind::Initialisers, first.at, one.end, Known::EndAtMost);
        if let Some(stage) = tree.add(Some(node), wanted) {
            add_initialisers(tree, stage, &called, one.end, Known::EndAtMost);
        }
    }
    for &(begin, end) in &changes.dlcloses {
        let parent = tree.innermost(begin, None, &|_| true);
        tree.add(parent, Wanted::new(PhaseKind::Dlclose, begin, end, Known::Exactly));
    }
}
