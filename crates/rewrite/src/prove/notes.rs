//! Notes: build id, properties, and what programs and vendors leave there.

use std::ops::Range;

use super::image::{Image, Segment};
use super::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "notes";
/// Core dumps hold the first page of each file that was mapped, so that the build id can be found in it (`fs/binfmt_elf.c`).
const FIRST_PAGE: u64 = 4096;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// Its owner, with the final zero.
    pub(super) name: Vec<u8>,
    pub(super) kind: u64,
    pub(super) content: Vec<u8>,
}

/// Notes of a segment with their places in it. None if it does not divide into notes with zeros between them.
fn read(image: &Image<'_>, bytes: &[u8], align: u64) -> Option<Vec<(u64, Note)>> {
    // gABI: aligned to 4, and to 8 in segments that are (.note.gnu.property of 64-bit files). mold joins both kinds in a
    // segment that is aligned to 8, though only its first note is.
    let aligned = if align == 8 { read_aligned(image, bytes, 8) } else { None };
    aligned.or_else(|| read_aligned(image, bytes, 4))
}

fn read_aligned(image: &Image<'_>, bytes: &[u8], align: usize) -> Option<Vec<(u64, Note)>> {
    let mut notes = Vec::new();
    let mut at = 0_usize;
    let padded = |from: usize| -> Option<usize> {
        let to = from.checked_next_multiple_of(align)?.min(bytes.len());
        bytes.get(from..to)?.iter().all(|byte| *byte == 0).then_some(to)
    };
    while at < bytes.len() {
        let rest = bytes.get(at..)?;
        let name_size = usize::try_from(image.number(rest, 4)?).ok()?;
        let content_size = usize::try_from(image.number(rest.get(4..)?, 4)?).ok()?;
        let kind = image.number(rest.get(8..)?, 4)?;
        let name_at = at.checked_add(12)?;
        let name_end = name_at.checked_add(name_size)?;
        let name = bytes.get(name_at..name_end)?.to_vec();
        let content_at = padded(name_end)?;
        let content_end = content_at.checked_add(content_size)?;
        let content = bytes.get(content_at..content_end)?.to_vec();
        notes.push((at as u64, Note { name, kind, content }));
        at = padded(content_end)?;
    }
    Some(notes)
}

/// What bytes divide into, if they are whole notes with nothing but zeros between them, and where each begins.
pub(super) fn divide(image: &Image<'_>, bytes: &[u8]) -> Option<Vec<(u64, Note)>> {
    read_aligned(image, bytes, 4)
}

/// Whether bytes are whole notes, at least one, of owners that say nothing to loaders: those of GNU hold properties, ABI tag
/// and build id. None if they do not divide into notes.
pub(super) fn may_be_loaded(image: &Image<'_>, bytes: &[u8]) -> Option<bool> {
    let notes = read_aligned(image, bytes, 4)?;
    Some(!notes.is_empty() && notes.iter().all(|(_, note)| note.name != b"GNU\0"))
}

fn mapped<'a>((image, segment): (&Image<'a>, &Segment)) -> Result<&'a [u8], NotProven> {
    let bytes = image.at(segment.backed());
    bytes.ok_or_else(|| broken(image.which, WHAT, hex(segment.address), "they are not mapped"))
}

/// Where each note of a segment is; the whole segment, if it does not divide into notes.
pub(super) fn places(image: &Image<'_>, segment: &Segment) -> Vec<Range<u64>> {
    let range = segment.backed();
    let notes = image.at(range.clone()).and_then(|bytes| read(image, bytes, segment.align));
    let Some(notes) = notes else { return vec![range] };
    let ends = notes.iter().skip(1).map(|(at, _)| *at).chain([segment.file_size]);
    let both = notes.iter().zip(ends);
    both.map(|((at, _), end)| segment.address.saturating_add(*at)..segment.address.saturating_add(end)).collect()
}

/// Compares the notes of a segment, and answers how many there are. Those of GNU and of distributions (FDO) say nothing
/// about places, so that they may move and change their order; others may be known to programs by address (crashpad's is).
pub(super) fn check(original: (&Image<'_>, &Segment), output: (&Image<'_>, &Segment)) -> Result<u64, NotProven> {
    let (from, to) = (mapped(original)?, mapped(output)?);
    let (old, new) = (original.1, output.1);
    let place = hex(new.address);
    let (Some(mut from_notes), Some(mut to_notes)) = (read(original.0, from, old.align), read(output.0, to, new.align))
    else {
        return if from == to && old.address == new.address {
            Ok(0)
        } else {
            Err(differs(WHAT, place, "what does not divide into notes", "something else"))
        };
    };
    check_build_id(original.1, &from_notes, output, &to_notes)?;
    if new.align > 1 && old.address != new.address && new.address.checked_rem(new.align) != Some(0) {
        return Err(broken(output.0.which, WHAT, place, "they are not aligned"));
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
            return Err(differs(WHAT, place, shown(from_note), format!("another, {}", shown(to_note))));
        }
        let (from_at, to_at) = (old.address.saturating_add(*from_at), new.address.saturating_add(*to_at));
        let may_move = [&b"GNU\0"[..], b"FDO\0"].contains(&from_note.name.as_slice());
        if from_at != to_at && !may_move {
            return Err(differs(WHAT, format!("the place of {}", shown(from_note)), hex(from_at), hex(to_at)));
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
        let build_id = notes.iter().find(|(_, note)| note.name == b"GNU\0" && note.kind == 3);
        build_id.map(|(at, note)| {
            segment.offset.saturating_add(*at).saturating_add(16).saturating_add(note.content.len() as u64)
        })
    };
    match (end(old, from), end(new, to)) {
        (Some(before), Some(after)) if before <= FIRST_PAGE && after > FIRST_PAGE => {
            let problem = "the build id has left the first page, which core dumps hold";
            Err(broken(output.which, WHAT, hex(new.address), problem))
        }
        _ => Ok(()),
    }
}
