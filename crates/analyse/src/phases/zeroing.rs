//! Clearing a data segment's last page after the file's bytes: a page that is copied although the program did not ask
//! for it.
//!
//! The loader does it for libraries (`_dl_map_segments` in glibc's `elf/dl-map-segments.h`), the kernel for the
//! program and the loader (`elf_load` in `fs/binfmt_elf.c`). Each is an instant, for only its page fault is seen.

use coldstart_profile::trace::{Event, EventKind, FileId, Known, PhaseKind, Touch};

use super::relocated_pages::zeroed_page;
use super::timeline::Timeline;
use super::tree::{Tree, Wanted};

/// Adds them to the stages in which they can happen.
pub(super) fn add(tree: &mut Tree, timeline: &Timeline<'_>) {
    for event in &timeline.events {
        // Few are: the tree is searched for these only.
        let (EventKind::Touch(touch), Some(file)) = (event.kind, event.file) else { continue };
        if !clears(timeline, event, touch, file) {
            continue;
        }
        let Some(parent) = tree.innermost(event.at, None, &|_| true) else { continue };
        let by_kernel = match tree.kind(parent) {
            Some(PhaseKind::Exec) => true,
            Some(PhaseKind::Mapping) => false,
            _ => continue,
        };
        if touch.by_kernel == by_kernel {
            let wanted = Wanted::new(PhaseKind::Zeroing, event.at, event.at, Known::FromTouches);
            tree.add(Some(parent), wanted.of(file));
        }
    }
}

fn clears(timeline: &Timeline<'_>, event: &Event, touch: Touch, file: FileId) -> bool {
    if touch.write == Some(false) || touch.execute || touch.zero_filled {
        return false;
    }
    // The loader's own code, where that can be told.
    if let (Some(loader), Some(code)) = (timeline.loader, event.code)
        && code.file != loader
    {
        return false;
    }
    timeline
        .objects
        .get(file)
        .is_some_and(|object| object.segments.iter().filter_map(zeroed_page).any(|page| page == event.page))
}
