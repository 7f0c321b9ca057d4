//! Notes as they are in segments and sections.

use std::ops::Range;

use crate::image::Image;
use crate::image::headers::Segment;

/// A note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    /// Its owner, with the final zero.
    pub(crate) name: Vec<u8>,
    pub(crate) kind: u64,
    pub(crate) content: Vec<u8>,
}

/// Notes of a segment with their offsets. None if they are malformed or have nonzero padding.
pub(crate) fn read(image: &Image<'_>, bytes: &[u8], align: u64) -> Option<Vec<(u64, Note)>> {
    // gABI: aligned to 4, and to 8 in segments with that alignment (.note.gnu.property of 64-bit files). mold joins
    // both kinds in a segment that is aligned to 8, though only its first note is.
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

/// The notes in `bytes` with their offsets, if they are well-formed and only zeros are between them.
pub(crate) fn divide(image: &Image<'_>, bytes: &[u8]) -> Option<Vec<(u64, Note)>> {
    read_aligned(image, bytes, 4)
}

/// Whether bytes are well-formed notes, at least one, of owners that loaders ignore: those of GNU contain properties,
/// ABI tag and build id. None if they are malformed.
pub(crate) fn may_be_loaded(image: &Image<'_>, bytes: &[u8]) -> Option<bool> {
    let notes = read_aligned(image, bytes, 4)?;
    Some(!notes.is_empty() && notes.iter().all(|(_, note)| note.name != b"GNU\0"))
}

/// The range of each note in a segment; the whole segment if the notes are malformed.
pub(crate) fn places(image: &Image<'_>, segment: &Segment) -> Vec<Range<u64>> {
    let range = segment.backed();
    let notes = image.at(range.clone()).and_then(|bytes| read(image, bytes, segment.align));
    let Some(notes) = notes else { return vec![range] };
    let ends = notes.iter().skip(1).map(|(at, _)| *at).chain([segment.file_size]);
    let both = notes.iter().zip(ends);
    both.map(|((at, _), end)| segment.address.saturating_add(*at)..segment.address.saturating_add(end)).collect()
}
