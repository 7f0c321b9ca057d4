//! The lists of versions that are defined and needed: little records, chained by offsets (LSB core, 10.7).

use crate::image::Image;

/// Reads little records that are chained by offsets; the callback gets each record's place and answers where the next one
/// is, relative to it (0 at the end), and how far what belongs to it reaches.
pub(crate) fn walk(
    bytes: &[u8],
    start: usize,
    mut visit: impl FnMut(&[u8], usize) -> Option<(u64, usize)>,
) -> Option<usize> {
    let (mut at, mut end) = (start, start);
    loop {
        let (next, reach) = visit(bytes.get(at..)?, at)?;
        end = end.max(reach);
        if next == 0 {
            return Some(end);
        }
        at = at.checked_add(usize::try_from(next).ok()?)?;
    }
}

/// Numbers of versions have 15 bits; lists that share their ends must not make more of them.
fn within_limit(count: &mut u32) -> Option<()> {
    *count = count.checked_add(1)?;
    (*count <= 1 << 16).then_some(())
}

/// The number of 2 bytes at a place in a record.
pub(crate) fn half(image: &Image<'_>, bytes: &[u8], at: usize) -> Option<u64> {
    image.number(bytes.get(at..)?, 2)
}

/// The number of 4 bytes at a place in a record.
pub(crate) fn full(image: &Image<'_>, bytes: &[u8], at: usize) -> Option<u64> {
    image.number(bytes.get(at..)?, 4)
}

/// Bytes of the list of needed versions that begins at an address.
pub(crate) fn needed_size(image: &Image<'_>, start: u64) -> Option<u64> {
    let bytes = image.piece(start)?.bytes?;
    let mut count = 0_u32;
    let end = walk(bytes, 0, |record, at| {
        let versions = at.checked_add(usize::try_from(full(image, record, 8)?).ok()?)?;
        let end = walk(bytes, versions, |version, at| {
            within_limit(&mut count)?;
            Some((full(image, version, 12)?, at.checked_add(16)?))
        })?;
        Some((full(image, record, 12)?, end.max(at.checked_add(16)?)))
    })?;
    Some(end as u64)
}

/// Bytes of the list of defined versions that begins at an address.
pub(crate) fn defined_size(image: &Image<'_>, start: u64) -> Option<u64> {
    let bytes = image.piece(start)?.bytes?;
    let mut count = 0_u32;
    let end = walk(bytes, 0, |record, at| {
        let names = at.checked_add(usize::try_from(full(image, record, 12)?).ok()?)?;
        let end = walk(bytes, names, |name, at| {
            within_limit(&mut count)?;
            Some((full(image, name, 4)?, at.checked_add(8)?))
        })?;
        Some((full(image, record, 16)?, end.max(at.checked_add(20)?)))
    })?;
    Some(end as u64)
}
