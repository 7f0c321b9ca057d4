//! The size of relative relocations as RELR: by encoding the table, not by an estimate.

use coldstart_elf::{NotRelr, Relocation, RelocationClass, RelocationClasses, RelocationTable, RelrEncoder};
use serde::Serialize;

use crate::object::Object;
use crate::slots::Words;
use crate::writable::Writable;

/// Relative relocations that are still unpacked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Packing {
    /// Number of relative records outside the PLT's.
    pub relative_count: u64,
    /// Their bytes.
    pub relative_bytes: u64,
    /// Those that RELR can encode.
    pub packable_count: u64,
    /// Size of the RELR table for them.
    pub packed_bytes: u64,
    /// Bytes saved.
    pub saved_bytes: u64,
    /// Records at odd addresses, which RELR cannot encode.
    pub odd: u64,
    /// Records for a word that another record changes, too.
    pub repeated: u64,
    /// Records for words in read-only or unmapped memory.
    pub not_writable: u64,
    /// Records whose word holds neither the addend nor zero, so other code may use its value.
    pub unexpected_in_place: u64,
}

pub(super) fn estimate(object: &Object<'_>) -> Packing {
    let encoding = object.file.encoding();
    let mut packing = Packing::default();
    // Linkers write relative relocations in ascending order, so the table can be encoded on the fly.
    let mut as_they_come = Encoded::default();
    let mut encoder = RelrEncoder::new(encoding, |_| as_they_come.words += 1);
    let mut counts = Counts::default();
    let mut record_size = 0;
    for table in object.relocations.tables() {
        record_size = table.record_size() as u64;
        let mut words = Words::new(&object.file);
        for_each_relative(object, table, |relocation, is_writable| {
            packing.relative_count += 1;
            packing.relative_bytes += record_size;
            if !is_writable {
                packing.not_writable += 1;
                return;
            }
            if let Some(addend) = relocation.addend {
                let word = words.at(relocation.offset).unwrap_or(0);
                packing.unexpected_in_place += u64::from(word != 0 && word != addend as u64);
            }
            counts.add(encoder.push(relocation.offset));
        });
    }
    encoder.finish();
    as_they_come.counts = counts;
    let encoded = if counts.not_ascending == 0 { as_they_come } else { encode_sorted(object) };
    packing.packable_count = encoded.counts.packable;
    packing.odd = encoded.counts.odd;
    packing.repeated = encoded.counts.not_ascending;
    packing.packed_bytes = encoded.words.saturating_mul(encoding.word_size());
    packing.saved_bytes = packing.packable_count.saturating_mul(record_size).saturating_sub(packing.packed_bytes);
    packing
}

/// The result of encoding a table.
#[derive(Clone, Copy, Default)]
struct Encoded {
    words: u64,
    counts: Counts,
}

#[derive(Clone, Copy, Default)]
struct Counts {
    packable: u64,
    odd: u64,
    not_ascending: u64,
}

impl Counts {
    fn add(&mut self, pushed: Result<(), NotRelr>) {
        match pushed {
            Ok(()) => self.packable += 1,
            Err(NotRelr::NotAscending(_)) => self.not_ascending += 1,
            // Odd, or too large for a word.
            Err(_) => self.odd += 1,
        }
    }
}

/// For unsorted tables: addresses that are not ascending after sorting are duplicates.
fn encode_sorted(object: &Object<'_>) -> Encoded {
    let mut addresses = Vec::new();
    for table in object.relocations.tables() {
        for_each_relative(object, table, |relocation, is_writable| {
            addresses.extend(is_writable.then_some(relocation.offset));
        });
    }
    addresses.sort();
    let mut encoded = Encoded::default();
    let mut counts = Counts::default();
    let mut encoder = RelrEncoder::new(object.file.encoding(), |_| encoded.words += 1);
    for address in addresses {
        counts.add(encoder.push(address));
    }
    encoder.finish();
    encoded.counts = counts;
    encoded
}

/// Calls `visit` with each relative relocation of a table, and whether its word is writable.
fn for_each_relative(object: &Object<'_>, table: &RelocationTable<'_>, mut visit: impl FnMut(Relocation, bool)) {
    let mut classes = RelocationClasses::new(object.file.encoding().machine);
    let mut writable = Writable::new(&object.file);
    table.for_each(|relocation| {
        if classes.of(relocation.kind) == RelocationClass::Relative {
            visit(relocation, writable.at(relocation.offset) == Some(true));
        }
    });
}
