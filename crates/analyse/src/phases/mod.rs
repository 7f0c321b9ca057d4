//! Phases: what the time of each process went into.
//!
//! Three sources of different worth: the follower's stops are exact, touches say what the loader was busy with in
//! between, and where neither tells an end it is the next thing that was seen.
//! [`Known`](coldstart_profile::trace::Known) says which it was. What a newcomer would not guess: notes may be
//! missing, late or in an order that makes no sense (programs crash, and processes are killed between two stops), so
//! every phase is cut to the one that holds it.

mod dlopen;
mod initialisers;
mod loading;
mod relocated_pages;
mod startup;
mod timeline;
mod tree;
mod zeroing;

use coldstart_profile::trace::{Event, Phase, TracedObject};

use super::joined::Joined;
use super::loads::{Objects, Places};
use relocated_pages::RelocatedPages;
use timeline::{Shared, Timeline, timelines};
use tree::Tree;

/// The phases of all processes, in the order in which they began; a phase is after the one that holds it.
pub(super) fn phases(joined: &Joined, objects: &Objects<'_>, places: &Places, events: &[Event]) -> Vec<Phase> {
    let described: Vec<&TracedObject> = joined_objects(joined, objects);
    let relocated = RelocatedPages::new(&described);
    let shared = Shared { joined, objects, places, relocated: &relocated };
    tree::together(timelines(&shared, events).iter().map(|timeline| of_process(joined, timeline)).collect())
}

fn joined_objects<'all>(joined: &Joined, objects: &Objects<'all>) -> Vec<&'all TracedObject> {
    let files = (0..joined.files.len()).filter_map(|number| u32::try_from(number).ok());
    files.filter_map(|number| objects.get(coldstart_profile::trace::FileId(number))).collect()
}

fn of_process(joined: &Joined, timeline: &Timeline<'_>) -> Vec<Phase> {
    let mut tree = Tree::new(timeline.process, joined.until);
    let noted = startup::Noted::new(timeline);
    let changes = dlopen::changes(timeline, noted.began_to_run(timeline));
    startup::add(&mut tree, timeline, &noted, &changes.claimed);
    dlopen::add(&mut tree, timeline, &changes);
    zeroing::add(&mut tree, timeline);
    tree.into_phases()
}
