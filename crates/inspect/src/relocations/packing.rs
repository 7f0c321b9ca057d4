//! What relative relocations would take as RELR: by writing the table, not by an estimate.

use coldstart_elf::{NotRelr, RelocationClass, RelocationClasses, RelrEncoder, Vaddr};
use serde::Serialize;

use crate::object::Object;

/// Relative relocations that are still written as records.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Packing {
    /// Number of relative records outside of the PLT's.
    pub relative_count: u64,
    /// Their bytes.
    pub relative_bytes: u64,
    /// Of these, how many RELR can hold.
    pub packable_count: u64,
    /// Bytes of the RELR table that holds them.
    pub packed_bytes: u64,
    /// Bytes by which the tables get smaller.
    pub saved_bytes: u64,
    /// Records at odd addresses, which the form cannot hold.
    pub odd: u64,
    /// Records for a word that another one changes too.
    pub repeated: u64,
    /// Records for words in read-only or unmapped memory.
    pub not_writable: u64,
    /// Records whose word holds neither the addend nor zero, so that somebody else may have a use for it.
    pub unexpected_in_place: u64,
}

pub(super) fn estimate(object: &Object<'_>) -> Packing {
    let encoding = object.file.encoding();
    let mut packing = Packing::default();
    let mut classes = RelocationClasses::new(encoding.machine);
    let mut addresses = Vec::new();
    let mut record_size = 0;
    let mut writable = Writable { object, last: None };
    for table in object.relocations.tables() {
        record_size = table.record_size() as u64;
        let mut words = crate::slots::Words::new(&object.file);
        table.for_each(|relocation| {
            if classes.of(relocation.kind) != RelocationClass::Relative {
                return;
            }
            packing.relative_count += 1;
            packing.relative_bytes += record_size;
            if !writable.contains(relocation.offset) {
                packing.not_writable += 1;
                return;
            }
            if let Some(addend) = relocation.addend {
                let word = words.at(relocation.offset).unwrap_or(0);
                packing.unexpected_in_place += u64::from(word != 0 && word != addend as u64);
            }
            addresses.push(relocation.offset.0);
        });
    }
    addresses.sort();
    let mut words = 0_u64;
    let mut encoder = RelrEncoder::new(encoding, |_| words += 1);
    for address in addresses {
        match encoder.push(Vaddr(address)) {
            Ok(()) => packing.packable_count += 1,
            Err(NotRelr::Odd(_)) => packing.odd += 1,
            Err(NotRelr::NotAscending(_)) => packing.repeated += 1,
        }
    }
    encoder.finish();
    packing.packed_bytes = words.saturating_mul(encoding.word_size());
    packing.saved_bytes = packing.packable_count.saturating_mul(record_size).saturating_sub(packing.packed_bytes);
    packing
}

/// Whether addresses are writable, for callers who ask in roughly ascending order.
struct Writable<'object, 'data> {
    object: &'object Object<'data>,
    last: Option<(Vaddr, Vaddr, bool)>,
}

impl Writable<'_, '_> {
    fn contains(&mut self, address: Vaddr) -> bool {
        if let Some((start, end, is_writable)) = self.last
            && (start..end).contains(&address)
        {
            return is_writable;
        }
        let Some(segment) = self.object.file.segment_at(address) else { return false };
        self.last = Some((segment.address, segment.end(), segment.is_writable()));
        segment.is_writable()
    }
}
