//! Where a data segment's last page is cleared behind the bytes of the file: a page that is copied although nobody asked for it.
//!
//! The loader does it for libraries (`_dl_map_segments` in glibc's `elf/dl-map-segments.h`), the kernel for the program and the loader
//! (`elf_load` in `fs/binfmt_elf.c`). Each is an instant, for only its page fault is seen.

use coldstart_profile::trace::{Event, EventKind, Known, PhaseKind};

use super::relocated_pages::zeroed_page;
use super::timeline::Timeline;
use super::tree::{Tree, Wanted};

/// Adds them to the stages in which they can happen.
pub(super) fn add(tree: &mut Tree, timeline: &Timeline<'_>) {
    for event in &timeline.events {
        let Some(parent) = tree.innermost(event.at, None, &|_| true) else { continue };
        let by_kernel = match tree.kind(parent) {
            Some(PhaseKind::Exec) => true,
            Some(PhaseKind::Mapping) => false,
            _ => continue,
        };
        if clears(timeline, event, by_kernel)
            && let Some(file) = event.file
        {
            let wanted = Wanted::new(PhaseKind::Zeroing, event.at, event.at, Known::FromTouches);
            tree.add(Some(parent), wanted.of(file));
        }
    }
}

fn clears(timeline: &Timeline<'_>, event: &Event, by_kernel: bool) -> bool {
    let EventKind::Touch(touch) = event.kind else { return false };
    if touch.write == Some(false) || touch.execute || touch.zero_filled || touch.by_kernel != by_kernel {
        return false;
    }
    // The loader's own code, where that can be told.
    if let (Some(loader), Some(code)) = (timeline.loader, event.code)
        && code.file != loader
    {
        return false;
    }
    let object = event.file.and_then(|file| timeline.objects.get(file));
    object.is_some_and(|object| object.segments.iter().filter_map(zeroed_page).any(|page| page == event.page))
}
