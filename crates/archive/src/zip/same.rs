//! The proof that a rewritten archive holds the same as the original.

use blake3::Hasher;

use super::error::SameError;
use super::read::{CENTRAL_LENGTH, shown, wide_field};
use super::{ZipArchive, ZipEntry};
use crate::fields::u16_at;

/// Compares everything but the places of entries: their headers in the central directory and its order, the bytes of each entry from its local
/// header to its descriptor, the prefix, the comment.
///
/// # Errors
/// The first difference.
pub fn same(before: &ZipArchive<'_>, after: &ZipArchive<'_>) -> Result<(), SameError> {
    if before.entries.len() != after.entries.len() {
        return Err(SameError::Count { before: before.entries.len(), after: after.entries.len() });
    }
    for (one, other) in before.entries.iter().zip(&after.entries) {
        let differs = |part| Err(SameError::Entry { name: shown(&one.name), part });
        if without_offset(before.central(one), one) != without_offset(after.central(other), other) {
            return differs("header");
        }
        if before.record(one) != after.record(other) {
            return differs("data");
        }
    }
    if before.prefix() != after.prefix() {
        return Err(SameError::Around("part in front"));
    }
    match before.comment() == after.comment() {
        true => Ok(()),
        false => Err(SameError::Around("comment")),
    }
}

/// A digest of all entries, whatever their order: BLAKE3 of the sorted digests of each.
pub fn digest(archive: &ZipArchive<'_>) -> String {
    let mut digests: Vec<[u8; 32]> = Vec::new();
    for entry in &archive.entries {
        let mut hasher = Hasher::new();
        let header = without_offset(archive.central(entry), entry);
        hasher.update(&(header.len() as u64).to_le_bytes());
        hasher.update(&header);
        hasher.update(archive.record(entry));
        digests.push(*hasher.finalize().as_bytes());
    }
    digests.sort_unstable();
    let mut whole = Hasher::new();
    for digest in &digests {
        whole.update(digest);
    }
    whole.finalize().to_hex().to_string()
}

/// A central header without what depends on the entry's place: its offset, and what a larger one needs.
fn without_offset(header: &[u8], entry: &ZipEntry) -> Vec<u8> {
    let mut header = header.to_vec();
    let name_end = CENTRAL_LENGTH.saturating_add(entry.name.len());
    let extra_end = name_end.saturating_add(u16_at(&header, 30).map(usize::from).unwrap_or_default());
    if let Some(at) = entry.wide_offset {
        let field = header.get(..extra_end).and_then(|bytes| wide_field(bytes, name_end)).unwrap_or(at..at);
        // A field that holds nothing else is no part of the entry.
        let range = if field.len() <= 8 { field.start.saturating_sub(4)..field.end } else { at..at.saturating_add(8) };
        if field.len() > 8 {
            let length = u16::try_from(field.len().saturating_sub(8)).unwrap_or_default();
            header.splice(field.start.saturating_sub(2)..field.start, length.to_le_bytes());
        }
        header.splice(range, []);
    }
    // The version needed, the length of the extra fields, the offset.
    for range in [6..8, 30..32, 42..46] {
        if let Some(place) = header.get_mut(range) {
            place.fill(0);
        }
    }
    header
}
