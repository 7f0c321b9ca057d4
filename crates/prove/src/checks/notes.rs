//! Notes: build id, properties, and those of programs and vendors.

use std::ops::Range;

use object::elf::{NT_GNU_BUILD_ID, PT_NOTE};

use crate::image::Image;
use crate::image::headers::Segment;
use crate::tables::notes::{Note, read};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "notes";
/// Core dumps contain the first page of each mapped file, for its build id (`fs/binfmt_elf.c`).
const FIRST_PAGE: u64 = 4096;

fn mapped<'a>((image, segment): (&Image<'a>, &Segment)) -> Result<&'a [u8], NotProven> {
    let bytes = image.at(segment.backed());
    bytes.ok_or_else(|| broken(image.which, WHAT, hex(segment.address), "not mapped"))
}

/// Whether a note segment lies in the program headers and holds no notes. Old patchelf lets the table grow over notes that it has moved, and
/// leaves their segment where it was.
pub(crate) fn is_stale(image: &Image<'_>, segment: &Segment) -> bool {
    let overlaps = |table: Range<u64>| segment.address < table.end && table.start < segment.memory().end;
    segment.kind == PT_NOTE
        && image.program_header_table().is_some_and(overlaps)
        && image.at(segment.backed()).is_some_and(|bytes| read(image, bytes, segment.align).is_none())
}

/// Compares the notes of a segment and returns their number. Those of GNU and of distributions (FDO) contain no
/// addresses, so they may move and be reordered; programs may access others by address (crashpad's).
pub(crate) fn check(original: (&Image<'_>, &Segment), output: (&Image<'_>, &Segment)) -> Result<u64, NotProven> {
    let (from, to) = (mapped(original)?, mapped(output)?);
    let (old, new) = (original.1, output.1);
    let place = hex(new.address);
    let (Some(mut from_notes), Some(mut to_notes)) = (read(original.0, from, old.align), read(output.0, to, new.align))
    else {
        return if from == to && old.address == new.address {
            Ok(0)
        } else {
            Err(differs(WHAT, place, "malformed notes", "something else"))
        };
    };
    check_build_id(original.1, &from_notes, output, &to_notes)?;
    if new.align > 1 && old.address != new.address && new.address.checked_rem(new.align) != Some(0) {
        return Err(broken(output.0.which, WHAT, place, "misaligned"));
    }
    let by_content = |one: &(u64, Note), other: &(u64, Note)| {
        let key = |note: &(u64, Note)| (note.1.name.clone(), note.1.kind, note.1.content.clone(), note.0);
        key(one).cmp(&key(other))
    };
    from_notes.sort_by(by_content);
    to_notes.sort_by(by_content);
    if from_notes.len() != to_notes.len() {
        return Err(differs(WHAT, place, from_notes.len(), to_notes.len()));
    }
    for ((from_at, from_note), (to_at, to_note)) in from_notes.iter().zip(&to_notes) {
        let shown = |note: &Note| format!("type {:#x} of {:?}", note.kind, String::from_utf8_lossy(&note.name));
        if from_note != to_note {
            return Err(differs(WHAT, place, shown(from_note), shown(to_note)));
        }
        let (from_at, to_at) = (old.address.saturating_add(*from_at), new.address.saturating_add(*to_at));
        let may_move = [&b"GNU\0"[..], b"FDO\0"].contains(&from_note.name.as_slice());
        if from_at != to_at && !may_move {
            return Err(differs(WHAT, format!("the address of {}", shown(from_note)), hex(from_at), hex(to_at)));
        }
    }
    Ok(from_notes.len() as u64)
}

fn check_build_id(
    old: &Segment,
    from: &[(u64, Note)],
    (output, new): (&Image<'_>, &Segment),
    to: &[(u64, Note)],
) -> Result<(), NotProven> {
    let end = |segment: &Segment, notes: &[(u64, Note)]| {
        let build_id =
            notes.iter().find(|(_, note)| note.name == b"GNU\0" && note.kind == u64::from(NT_GNU_BUILD_ID.0));
        build_id.map(|(at, note)| {
            segment.offset.saturating_add(*at).saturating_add(16).saturating_add(note.content.len() as u64)
        })
    };
    match (end(old, from), end(new, to)) {
        (Some(before), Some(after)) if before <= FIRST_PAGE && after > FIRST_PAGE => {
            let problem = "the build id has left the first page, which core dumps contain";
            Err(broken(output.which, WHAT, hex(new.address), problem))
        }
        _ => Ok(()),
    }
}
