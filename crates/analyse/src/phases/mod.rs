//! Phases: what each process spent its time on.
//!
//! Three sources of different quality: the follower's stops are exact, touches show the loader's activity in between,
//! and if neither gives an end, it is the next observation. [`Known`](coldstart_profile::trace::Known) says which it
//! was. What a newcomer would not guess: notes may be missing, late or inconsistent (programs crash, and processes
//! are killed between two stops), so every phase is cut to its parent.

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
use super::loads::{LoadedObjects, Objects};
use relocated_pages::RelocatedPages;
use timeline::{Shared, Timeline, timelines};
use tree::Tree;

/// The phases of all processes, in order of start; a phase comes after its parent.
pub(super) fn phases(joined: &Joined, objects: &Objects<'_>, places: &LoadedObjects, events: &[Event]) -> Vec<Phase> {
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
