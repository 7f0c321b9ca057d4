//! From the call of `execve` to `main`, and after.
//!
//! Each stage is reported only as far as it was noted: a program may have no loader, no known `main`, or crash
//! half-way.

use std::collections::HashSet;

use coldstart_profile::trace::{Known, Moment, PhaseKind};

use super::super::joined::StopKind;
use super::initialisers::{add as add_initialisers, unclaimed};
use super::loading::{self, Stretch, split, worse};
use super::timeline::Timeline;
use super::tree::{Tree, Wanted};
use crate::note::LoaderState;

/// The noted moments of a start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noted {
    /// When `execve` was called.
    called: Option<Moment>,
    /// The image's first instruction.
    executed: Option<Moment>,
    /// When the loader began to map libraries.
    adding: Option<Moment>,
    /// When the loader had mapped and relocated all.
    consistent: Option<Moment>,
    entry: Option<Moment>,
    libc_start: Option<Moment>,
    main: Option<Moment>,
    /// Whether the kernel started a loader, as far as the image tells.
    has_loader: bool,
}

impl Noted {
    pub(super) fn new(timeline: &Timeline<'_>) -> Self {
        let executed = timeline.stops.iter().find_map(|stop| match stop.what {
            StopKind::Executed { called, .. } => Some((stop.at, called)),
            _ => None,
        });
        let Some((executed, called)) = executed else { return Self::default() };
        let first = |wanted: &dyn Fn(&StopKind) -> bool| timeline.first(executed, wanted);
        let entry = first(&|what| matches!(what, StopKind::ProgramEntry));
        let libc_start = first(&|what| matches!(what, StopKind::LibcStart)).filter(|&at| Some(at) >= entry);
        let main = first(&|what| matches!(what, StopKind::Main)).filter(|&at| Some(at) >= entry.max(libc_start));
        let bound = entry.or(libc_start).or(main).unwrap_or(timeline.end);
        let state = |wanted| move |what: &StopKind| *what == StopKind::Loader(wanted);
        let adding = first(&state(LoaderState::Adding)).filter(|&at| at < bound);
        let consistent = timeline.first(adding.unwrap_or(executed), state(LoaderState::Consistent));
        let consistent = consistent.filter(|&at| at <= bound);
        let has_loader = timeline.image.is_some_and(|image| image.loader_base != 0);
        Self { called, executed: Some(executed), adding, consistent, entry, libc_start, main, has_loader }
    }

    /// From when on changes to the list of objects are the program's own; `None` if they always are, in a child that
    /// was forked.
    pub(super) fn began_to_run(&self, timeline: &Timeline<'_>) -> Option<Moment> {
        let executed = self.executed?;
        let never = self.adding.map(|_| timeline.end);
        Some(self.consistent.or(self.handed_over()).or(never).unwrap_or(executed))
    }

    /// When the loader handed over to the program, or the program was first seen after that.
    fn handed_over(&self) -> Option<Moment> {
        self.entry.or(self.libc_start).or(self.main)
    }
}

/// Adds all that is known of it.
pub(super) fn add(tree: &mut Tree, timeline: &Timeline<'_>, noted: &Noted, claimed: &HashSet<usize>) {
    let Some(executed) = noted.executed else { return };
    if let Some(called) = noted.called {
        tree.add(None, Wanted::new(PhaseKind::Exec, called, executed, Known::Exactly));
    }
    if noted.has_loader || noted.adding.is_some() || noted.consistent.is_some() {
        add_loading(tree, timeline, noted, executed, claimed);
        add_loaders_initialisers(tree, timeline, noted, claimed);
    }
    add_runtime(tree, timeline, noted, executed, claimed);
    if let Some(main) = noted.main {
        tree.add(None, Wanted::new(PhaseKind::Main, main, timeline.end, Known::Exactly));
    }
}

fn add_loading(tree: &mut Tree, timeline: &Timeline<'_>, noted: &Noted, executed: Moment, claimed: &HashSet<usize>) {
    let (end, end_known) = match (noted.consistent, noted.handed_over(), noted.adding) {
        (Some(consistent), ..) => (consistent, Known::Exactly),
        (None, Some(over), _) => {
            // The end of relocation was not observed, but initialisers follow directly.
            let first = unclaimed(&timeline.called, claimed, executed, over).first().map(|called| called.at);
            (first.unwrap_or(over), Known::EndAtMost)
        }
        // It died in the loader, or was not done with it when the recording was over.
        (None, None, Some(_)) => (timeline.end, Known::Exactly),
        (None, None, None) => return,
    };
    let first_mapped = || timeline.libraries_in(executed, end).first().map(|place| (place.at, Known::FromTouches));
    let told = noted.adding.map(|adding| (adding, Known::Exactly));
    let Some((mapping, known)) = told.or_else(first_mapped) else {
        // A program that needs nothing but its loader (musl's is the C library, too).
        let (split, known) = split(timeline, executed, end).unwrap_or((end, worse(Known::EndAtMost, end_known)));
        tree.add(None, Wanted::new(PhaseKind::LoaderStart, executed, split, known));
        let mapped = Some(split);
        let stretch = Stretch { begin: split, begin_known: known, mapped, end, end_known: worse(known, end_known) };
        loading::add(tree, None, timeline, stretch);
        return;
    };
    tree.add(None, Wanted::new(PhaseKind::LoaderStart, executed, mapping, known));
    loading::add(tree, None, timeline, Stretch { begin: mapping, begin_known: known, mapped: None, end, end_known });
}

/// Those that the loader calls before it hands over to the program.
fn add_loaders_initialisers(tree: &mut Tree, timeline: &Timeline<'_>, noted: &Noted, claimed: &HashSet<usize>) {
    let over = noted.handed_over();
    let end = over.unwrap_or(timeline.end);
    let from = noted.consistent.or(noted.executed).unwrap_or(end);
    let called = unclaimed(&timeline.called, claimed, from, end);
    let (begin, known) = match (noted.consistent, called.first()) {
        // Where the program's entry was not seen, only calls prove that this time went into initialisers.
        (Some(consistent), _) if noted.entry.is_some() || over.is_none() => (consistent, Known::Exactly),
        (Some(consistent), Some(_)) => (consistent, Known::EndAtMost),
        (None, Some(first)) => (first.at, worse(Known::FromTouches, Known::EndAtMost)),
        _ => return,
    };
    if let Some(stage) = tree.add(None, Wanted::new(PhaseKind::Initialisers, begin, end, known)) {
        // Nothing was seen of the program: it ended, or was cut, right there.
        let last_known = if noted.entry.is_some() || over.is_none() { Known::Exactly } else { Known::EndAtMost };
        add_initialisers(tree, stage, &called, end, last_known);
    }
}

/// The C library's own start, and the initialisers that it calls: the program's since glibc 2.34
/// (`call_init` in `csu/libc-start.c`), everybody's in musl and in programs without a loader.
fn add_runtime(tree: &mut Tree, timeline: &Timeline<'_>, noted: &Noted, executed: Moment, claimed: &HashSet<usize>) {
    let without_loader = (!noted.has_loader && noted.consistent.is_none()).then_some(executed);
    let Some(begin) = noted.entry.or(noted.libc_start).or(without_loader) else { return };
    let end = match (noted.main, noted.libc_start) {
        (Some(main), _) => main,
        // `main` is the first argument there, so it would have been seen: the program never came so far.
        (None, Some(_)) => timeline.end,
        (None, None) => {
            // A program without a loader whose symbols are gone, or with another C library, or none (Go's): nothing
            // tells where its runtime ends.
            tree.add(None, Wanted::new(PhaseKind::Main, begin, timeline.end, Known::EndAtMost));
            return;
        }
    };
    let called = unclaimed(&timeline.called, claimed, begin, end);
    let first = called.first().map_or(end, |first| first.at);
    tree.add(None, Wanted::new(PhaseKind::Runtime, begin, first, Known::Exactly));
    // The tree keeps siblings of a kind apart, so this stage cannot reach into the loader's.
    if !called.is_empty()
        && let Some(stage) = tree.add(None, Wanted::new(PhaseKind::Initialisers, first, end, Known::Exactly))
    {
        add_initialisers(tree, stage, &called, end, Known::Exactly);
    }
}
