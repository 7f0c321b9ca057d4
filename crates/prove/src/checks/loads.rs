//! The mapped segments: in order, without overlaps, and loadable.

use std::iter;

use object::elf::{EM_386, EM_X86_64, PF_R, PF_W, PF_X, PT_LOAD, PT_PHDR};

use super::expected::Expected;
use crate::image::Image;
use crate::image::headers::Segment;
use crate::verdict::{NotProven, broken, differs, hex, same};

/// Bytes of a page of x86.
const PAGE: u64 = 4096;
const WHAT: &str = "load segment";

/// Compares the output's segments with the original's.
pub(crate) fn check(original: &Image<'_>, output: &Image<'_>, expected: &Expected<'_>) -> Result<(), NotProven> {
    check_alignments(original, output, expected)?;
    check_pages(original, output)?;
    check_headers_mapped(original, output)?;
    let span =
        |image: &Image<'_>| (image.loads().next().map(|l| l.address), image.loads().last().map(|l| l.memory().end));
    let (from, to) = (span(original), span(output));
    // New segments come last.
    let may_grow = expected.search.is_some() && from.0 == to.0;
    if from != to && !(may_grow && from.1 < to.1) {
        return Err(differs(WHAT, "the span of all", format!("{from:x?}"), format!("{to:x?}")));
    }
    check_program_headers(output)
}

/// Each segment keeps the original's alignment: it determines the possible load addresses of the whole object and the
/// supported page sizes.
fn check_alignments(original: &Image<'_>, output: &Image<'_>, expected: &Expected<'_>) -> Result<(), NotProven> {
    for load in output.loads().filter(|load| !expected.is_new(load)) {
        let mut before = original.loads().filter(|old| {
            old.memory().start < load.memory().end.max(load.address.saturating_add(1))
                && load.address < old.memory().end
                || old.address == load.address
        });
        let first = before.next();
        let Some(first) = first else {
            return Err(broken(output.which, WHAT, hex(load.address), "not mapped in the original"));
        };
        for old in iter::once(first).chain(before) {
            if !may_lower(original, old, load, expected) {
                same(WHAT, format!("{:#x} (alignment)", old.address), old.align, load.align)?;
            }
        }
        // Other flag bits are reserved for the system or the processor.
        same(
            WHAT,
            format!("{:#x} (flags)", load.address),
            first.flags.without(PF_R | PF_W | PF_X).0,
            load.flags.without(PF_R | PF_W | PF_X).0,
        )?;
        let shift = |load: &Segment| load.physical.wrapping_sub(load.address);
        same(WHAT, format!("{:#x} (physical address)", load.address), shift(first), shift(load))?;
    }
    Ok(())
}

/// Whether the edit may lower a segment's alignment to that of the output: to no less than a page, on machines that have pages of one size
/// only, and to no less than any loaded section's.
fn may_lower(original: &Image<'_>, old: &Segment, new: &Segment, expected: &Expected<'_>) -> bool {
    let mut sections = original.sections.iter().filter(|section| section.is_allocated()).peekable();
    expected.bind.is_some_and(|edit| edit.lower_alignment)
        && [EM_386, EM_X86_64].contains(&original.header.machine)
        && (PAGE..old.align).contains(&new.align)
        && sections.peek().is_some()
        && sections.all(|section| section.align <= new.align)
}

/// Segments must not share a page, at any page size up to their alignment: the second mapping would hide the first.
fn check_pages(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    let shared = |image: &Image<'_>| -> Vec<u64> {
        let pairs = image.loads().zip(image.loads().skip(1));
        let shared = pairs.filter(|(first, second)| {
            let below = second.align.max(1).saturating_sub(1);
            let last = first.memory().end.saturating_sub(1);
            first.memory_size > 0 && last & !below >= second.address & !below
        });
        shared.map(|(_, second)| second.address).collect()
    };
    let before = shared(original);
    match shared(output).into_iter().find(|address| !before.contains(address)) {
        Some(address) => Err(broken(output.which, WHAT, hex(address), "shares a page with the previous segment")),
        None => Ok(()),
    }
}

/// The ELF header is mapped at the same address, and the program headers are still mapped if they were.
fn check_headers_mapped(original: &Image<'_>, output: &Image<'_>) -> Result<(), NotProven> {
    let header = |image: &Image<'_>| {
        image
            .loads()
            .find(|load| load.offset == 0 && load.file_size >= u64::from(image.header.header_size))
            .map(|load| load.address)
    };
    if header(original) != header(output) {
        let [from, to] = [original, output].map(|image| format!("{:x?}", header(image)));
        return Err(differs(WHAT, "the address of the ELF header", from, to));
    }
    let table = |image: &Image<'_>| image.program_header_table().map(|range| range.start);
    if table(original) != table(output) {
        let [from, to] = [original, output].map(|image| format!("{:x?}", table(image)));
        return Err(differs(WHAT, "the address of the program headers", from, to));
    }
    Ok(())
}

/// `PT_PHDR` is the table's address for programs; the kernel passes `AT_PHDR`, and glibc computes a program's load
/// bias from it.
fn check_program_headers(output: &Image<'_>) -> Result<(), NotProven> {
    const WHAT: &str = "program headers";
    let wrong = |segment: &Segment, problem: &str| Err(broken(output.which, WHAT, hex(segment.address), problem));
    let mut seen = false;
    for segment in output.segments_of(PT_PHDR) {
        let Some(table) = output.program_header_table() else {
            return wrong(segment, "the table of PT_PHDR is not mapped");
        };
        let first_load = output.segments.iter().position(|other| other.kind == PT_LOAD);
        let place = output.segments.iter().position(|other| other.kind == PT_PHDR);
        if seen || place > first_load {
            return wrong(segment, "PT_PHDR must appear once, before every PT_LOAD");
        }
        seen = true;
        if segment.offset != output.header.program_headers_at || segment.memory() != table || segment.backed() != table
        {
            return wrong(segment, "PT_PHDR is not the program header table");
        }
    }
    Ok(())
}
