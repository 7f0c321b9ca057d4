//! Bytes outside segments and sections: payloads that programs locate by their own means.

use std::ops::Range;

use object::elf::PT_LOAD;

use super::expected::Expected;
use super::sections::used_ranges;
use crate::image::Image;
use crate::ranges::{joined, without};
use crate::verdict::{NotProven, Proof, broken, differs, hex};

const WHAT: &str = "bytes of no section";

/// The bytes between everything else must be the same, in the same order; zeros at both ends are padding.
pub(crate) fn check(
    original: &Image<'_>,
    output: &Image<'_>,
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let left = if expected.search.is_some() { left_behind(original, output) } else { Vec::new() };
    let (from, to) = (payloads(original, Vec::new())?, payloads(output, left)?);
    for (number, (old, new)) in from.iter().zip(&to).enumerate() {
        let bytes = |image: &Image<'_>, range: &Range<u64>| {
            image.file(range.start, range.end.saturating_sub(range.start)).unwrap_or(&[]).to_vec()
        };
        if bytes(original, old) != bytes(output, new) {
            let place = format!("range number {number}");
            return Err(differs(WHAT, place, format!("file offsets {old:x?}"), format!("others, at {new:x?}")));
        }
        proof.unloaded_bytes = proof.unloaded_bytes.saturating_add(old.end.saturating_sub(old.start));
    }
    if from.len() != to.len() {
        let common = from.len().min(to.len());
        let shown =
            |ranges: &[Range<u64>]| ranges.get(common).map_or_else(|| "none".to_owned(), |range| hex(range.start));
        return Err(differs(WHAT, format!("range number {common}"), shown(&from), shown(&to)));
    }
    Ok(())
}

/// The old section headers and names, if they are still in the file: patchelf puts segments after them, and then the
/// new ones are elsewhere while nothing replaces the old ones.
fn left_behind(original: &Image<'_>, output: &Image<'_>) -> Vec<Range<u64>> {
    let header = &original.header;
    let size = u64::from(header.section_header_size).saturating_mul(original.sections.len() as u64);
    let names = original.sections.get(usize::from(header.section_names)).filter(|section| section.is_in_file());
    let names = names.map(|section| (section.offset, section.size));
    let places = [Some((header.section_headers_at, size)), names].into_iter().flatten();
    let kept = places.filter(|(start, size)| {
        let before = original.file(*start, *size);
        before.is_some() && before == output.file(*start, *size)
    });
    kept.map(|(start, size)| start..start.saturating_add(size)).collect()
}

fn payloads(image: &Image<'_>, left: Vec<Range<u64>>) -> Result<Vec<Range<u64>>, NotProven> {
    let header = &image.header;
    let table =
        |start: u64, size: u16, count: usize| start..start.saturating_add(u64::from(size).saturating_mul(count as u64));
    let mut used = left;
    used.extend([
        0..u64::from(header.header_size),
        table(header.program_headers_at, header.program_header_size, image.segments.len()),
        table(header.section_headers_at, header.section_header_size, image.sections.len()),
    ]);
    let loads = image.segments.iter().filter(|segment| segment.kind == PT_LOAD);
    used.extend(loads.map(|load| load.offset..load.offset.saturating_add(load.file_size)));
    used.extend(used_ranges(image));
    let mut found = Vec::new();
    for gap in without(&(0..image.source.bytes.len() as u64), &joined(used)) {
        let wrong = || broken(image.which, WHAT, hex(gap.start), "unreadable");
        let bytes = image.file(gap.start, gap.end.saturating_sub(gap.start)).ok_or_else(wrong)?;
        let first = bytes.iter().position(|byte| *byte != 0);
        let last = bytes.iter().rposition(|byte| *byte != 0);
        if let (Some(first), Some(last)) = (first, last) {
            let at = |place: usize| gap.start.saturating_add(place as u64);
            found.push(at(first)..at(last).saturating_add(1));
        }
    }
    Ok(found)
}
