//! The lists of defined and needed versions: small records, chained by offsets (LSB core, 10.7).

use crate::image::Image;

/// Reads small records that are chained by offsets. The callback gets each record's offset and returns the relative
/// offset of the next one (0 at the end) and the end of its data.
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

/// Version indices have 15 bits; lists that share their ends must not yield more.
fn within_limit(count: &mut u32) -> Option<()> {
    *count = count.checked_add(1)?;
    (*count <= 1 << 16).then_some(())
}

/// The 2-byte number at an offset in a record.
pub(crate) fn half(image: &Image<'_>, bytes: &[u8], at: usize) -> Option<u64> {
    image.number(bytes.get(at..)?, 2)
}

/// The 4-byte number at an offset in a record.
pub(crate) fn full(image: &Image<'_>, bytes: &[u8], at: usize) -> Option<u64> {
    image.number(bytes.get(at..)?, 4)
}

/// Bytes of the list of needed versions at an address.
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

/// Bytes of the list of defined versions at an address.
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
