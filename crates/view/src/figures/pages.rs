//! Distinct pages, and data from the disk.

use coldstart_profile::trace::figures::{Figures, PageCounts};

use super::{FigureGroup, Group, Known, Unit};

/// Pages in use.
pub(super) fn pages(figures: &Figures, known: &Known) -> FigureGroup {
    let note = "Each page of a file once, whoever used it.";
    let mut group = Group::new("Pages", known.note(note));
    let pages = &figures.pages;
    let touched = |count: u64| known.touches.then_some(count);
    group.add("pages.touched", "touched", Unit::Pages, touched(pages.touched));
    group.add("pages.written", "of these, written to", Unit::Pages, touched(pages.written));
    group.add("pages.executed", "of these, executed", Unit::Pages, touched(pages.executed));
    group.add("pages.zero-filled", "zero-filled memory of objects", Unit::Pages, touched(pages.zero_filled));
    group.add("pages.read", "read with read(2)", Unit::Pages, known.files.reads.then_some(pages.read));
    let used = (known.touches && known.files.reads).then_some(pages.used);
    group.add("pages.used", "touched or read", Unit::Pages, used);
    group.finish()
}

/// Bytes of whole pages from the disk, and requests.
pub(super) fn disk(figures: &Figures, known: &Known) -> FigureGroup {
    let mut group = Group::new("Disk and files", known.note("In bytes of whole pages."));
    let (pages, total) = (&figures.pages, &figures.total);
    let read = |count: u64| known.files.reads.then(|| PageCounts::bytes(count));
    let filled = |count: u64| known.files.fills.then(|| PageCounts::bytes(count));
    let touched = known.touches.then(|| PageCounts::bytes(pages.touched));
    group.add("bytes.touched", "touched", Unit::Bytes, touched);
    group.add("bytes.read", "read with read(2)", Unit::Bytes, read(pages.read));
    group.add("bytes.asked", "asked for with read(2), repeated reads again", Unit::Bytes, read(total.read_pages));
    group.add("bytes.filled", "from the disk", Unit::Bytes, filled(pages.filled));
    let fills = &pages.fills;
    group.add("bytes.filled.demand", "from the disk, asked for", Unit::Bytes, filled(fills.demand));
    group.add("bytes.filled.readahead", "from the disk, read ahead", Unit::Bytes, filled(fills.readahead));
    group.neutral("bytes.filled.other", "from the disk, for other programs", Unit::Bytes, filled(fills.other));
    group.add("bytes.filled.unknown", "from the disk, for unknown reasons", Unit::Bytes, filled(fills.unknown));
    // Pages whose touches are not seen would count as wasted.
    let wasted = filled(pages.wasted).filter(|_| known.each_page);
    group.add("bytes.wasted", "from the disk, for nothing", Unit::Bytes, wasted);
    group.add("requests.disk", "requests to the disk", Unit::Count, known.files.fills.then_some(total.disk_requests));
    group.add("requests.read", "calls of read(2) and its kin", Unit::Count, known.files.reads.then_some(total.reads));
    group.finish()
}
