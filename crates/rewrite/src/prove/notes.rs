//! Notes: build id, properties, and what programs and vendors leave there.

use super::image::{Image, Segment};
use super::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "notes";
/// Core dumps hold the first page of each file that was mapped, so that the build id can be found in it (`fs/binfmt_elf.c`).
const FIRST_PAGE: u64 = 4096;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Note {
    name: Vec<u8>,
    kind: u64,
    content: Vec<u8>,
}

/// Notes of a segment with their places in it. None if it does not divide into notes with zeros between them.
fn read(image: &Image<'_>, bytes: &[u8], align: u64) -> Option<Vec<(u64, Note)>> {
    // gABI: aligned to 4, and to 8 in segments that are (.note.gnu.property of 64-bit files).
    let align = if align == 8 { 8_usize } else { 4 };
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

fn mapped<'a>((image, segment): (&Image<'a>, &Segment)) -> Result<&'a [u8], NotProven> {
    let bytes = image.at(segment.backed());
    bytes.ok_or_else(|| broken(image.which, WHAT, hex(segment.address), "they are not mapped"))
}

/// Compares the notes of a segment, and answers how many there are. It may have moved, if all in it are GNU's: others may
/// refer to what is around them.
pub(super) fn check(original: (&Image<'_>, &Segment), output: (&Image<'_>, &Segment)) -> Result<u64, NotProven> {
    let (from, to) = (mapped(original)?, mapped(output)?);
    let (old, new) = (original.1, output.1);
    let notes = read(original.0, from, old.align);
    let place = hex(new.address);
    if from != to {
        let others = read(output.0, to, new.align);
        let plain = |notes: &Option<Vec<(u64, Note)>>| -> Option<Vec<Note>> {
            notes.as_ref().map(|notes| notes.iter().map(|(_, note)| note.clone()).collect())
        };
        if notes.is_none() || plain(&notes) != plain(&others) {
            let count = |notes: Option<Vec<Note>>| {
                notes.map_or("unreadable".to_owned(), |notes| format!("{} notes", notes.len()))
            };
            return Err(differs(WHAT, place, count(plain(&notes)), format!("others ({})", count(plain(&others)))));
        }
    }
    let Some(notes) = notes else {
        return if old.address == new.address {
            Ok(0)
        } else {
            Err(differs(WHAT, place, hex(old.address), "moved, and unreadable"))
        };
    };
    if old.address != new.address {
        if let Some((_, note)) = notes.iter().find(|(_, note)| note.name != b"GNU\0") {
            let name = String::from_utf8_lossy(&note.name).into_owned();
            return Err(differs(WHAT, place, hex(old.address), format!("moved, with a note of `{name}` in it")));
        }
        if new.align > 1 && new.address.checked_rem(new.align) != Some(0) {
            return Err(broken(output.0.which, WHAT, place, "they are not aligned"));
        }
    }
    for (at, note) in notes.iter().filter(|(_, note)| note.name == b"GNU\0" && note.kind == 3) {
        let end = |segment: &Segment| {
            segment.offset.saturating_add(*at).saturating_add(16).saturating_add(note.content.len() as u64)
        };
        if end(old) <= FIRST_PAGE && end(new) > FIRST_PAGE {
            return Err(broken(
                output.0.which,
                WHAT,
                place,
                "the build id has left the first page, which core dumps hold",
            ));
        }
    }
    Ok(notes.len() as u64)
}
