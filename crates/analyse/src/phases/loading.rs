//! Mapping and relocation of objects, at the start or in a `dlopen`.
//!
//! What a newcomer would not guess: the loader says nothing between the two. Mapping is over when it first reads a relocation table
//! or writes a relocated word after the last library was mapped; where no such touch was seen, when it first protects what
//! it has relocated.

use std::collections::HashSet;

use coldstart_profile::trace::{Event, FileId, Known, Moment, PhaseKind};

use super::timeline::{Protected, Timeline};
use super::tree::{Node, Tree, Wanted};

/// A stretch of time in which objects are mapped and relocated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) begin: Moment,
    pub(super) begin_known: Known,
    /// Where mapping ends, if the loader itself said so.
    pub(super) mapped: Option<Moment>,
    pub(super) end: Moment,
    pub(super) end_known: Known,
}

/// Where mapping ends and relocation begins.
pub(super) fn split(timeline: &Timeline<'_>, begin: Moment, end: Moment) -> Option<(Moment, Known)> {
    let last_mapped = timeline.libraries_in(begin, end).last().map_or(begin, |place| place.at);
    let events = timeline.events_in(last_mapped, end).iter();
    let relocates = |event: &&&Event| timeline.relocates(event).is_some_and(|file| Some(file) != timeline.loader);
    if let Some(event) = events.into_iter().find(relocates) {
        return Some((event.at, Known::FromTouches));
    }
    timeline.protected_in(last_mapped, end).first().map(|protected| (protected.at, Known::EndAtMost))
}

/// Adds both.
pub(super) fn add(tree: &mut Tree, parent: Option<Node>, timeline: &Timeline<'_>, stretch: Stretch) {
    let Stretch { begin, end, .. } = stretch;
    let told = stretch.mapped.map(|mapped| (mapped, Known::Exactly));
    let found = told.or_else(|| split(timeline, begin, end));
    let (split, split_known) = found.unwrap_or((end, worse(Known::EndAtMost, stretch.end_known)));
    let known = worse(stretch.begin_known, split_known);
    let mapping = tree.add(parent, Wanted::new(PhaseKind::Mapping, begin, split, known));
    if let Some(mapping) = mapping {
        add_mapped(tree, mapping, timeline, begin, split);
    }
    let known = worse(split_known, stretch.end_known);
    let relocation = tree.add(parent, Wanted::new(PhaseKind::Relocation, split, end, known));
    if let Some(relocation) = relocation {
        add_relocated(tree, relocation, timeline, split, end);
    }
}

/// How a phase is known whose ends are known in two ways.
pub(super) fn worse(one: Known, other: Known) -> Known {
    one.max(other)
}

/// Each library from its first mapping to the next one's.
fn add_mapped(tree: &mut Tree, mapping: Node, timeline: &Timeline<'_>, begin: Moment, end: Moment) {
    let libraries = timeline.libraries_in(begin, end);
    for (number, place) in libraries.iter().enumerate() {
        let next = libraries.get(number.saturating_add(1)).map_or(end, |next| next.at);
        tree.add(Some(mapping), Wanted::new(PhaseKind::Mapping, place.at, next, Known::EndAtMost).of(place.file));
    }
}

/// Each object up to the moment when its relocated memory is protected; between them, those that have nothing to protect.
fn add_relocated(tree: &mut Tree, relocation: Node, timeline: &Timeline<'_>, begin: Moment, end: Moment) {
    let all = timeline.protected_in(begin, end);
    let protects: HashSet<FileId> = all.iter().map(|protected| protected.file).collect();
    let mut from = begin;
    for protected in all {
        let last = Some(protected);
        from = add_stretch(tree, relocation, timeline, (from, protected.at), last, &protects);
    }
    add_stretch(tree, relocation, timeline, (from, end), None, &protects);
}

/// What is relocated from one protection to the next. Objects without one are known by touches alone.
fn add_stretch(
    tree: &mut Tree,
    relocation: Node,
    timeline: &Timeline<'_>,
    (begin, end): (Moment, Moment),
    protected: Option<&Protected>,
    protects: &HashSet<FileId>,
) -> Moment {
    let touched =
        timeline.events_in(begin, end).iter().filter_map(|event| Some((event.at, timeline.relocates(event)?)));
    // An object with a protection of its own has its turn at another time: only the loader's look at a symbol leads there now.
    let mut runs: Vec<(Moment, Moment, FileId)> = Vec::new();
    for (at, file) in touched {
        if protects.contains(&file) && protected.is_none_or(|protected| protected.file != file) {
            continue;
        }
        match runs.last_mut() {
            Some((_, last, same)) if *same == file => *last = at,
            _ => runs.push((at, at, file)),
        }
    }
    let own = protected.map(|protected| protected.file);
    let others = runs.iter().any(|&(_, _, file)| Some(file) != own);
    if let (Some(own), false) = (own, others) {
        tree.add(Some(relocation), Wanted::new(PhaseKind::Relocation, begin, end, Known::Exactly).of(own));
        return end;
    }
    let mut from = begin;
    for (number, &(_, last, file)) in runs.iter().enumerate() {
        let next = runs.get(number.saturating_add(1)).map(|&(next, _, _)| next);
        // Behind the last touch of the last object nothing tells how long it took, unless its protection does.
        let until = next.unwrap_or(if Some(file) == own { end } else { last });
        tree.add(Some(relocation), Wanted::new(PhaseKind::Relocation, from, until, Known::FromTouches).of(file));
        from = until;
    }
    match own {
        Some(own) if runs.last().is_none_or(|&(_, _, file)| file != own) => {
            tree.add(Some(relocation), Wanted::new(PhaseKind::Relocation, from, end, Known::FromTouches).of(own));
        }
        _ => {}
    }
    end
}
