//! Redundant bytes in the records: the tables of 2010.
//!
//! Three kinds, as counted then: the symbol field in records without a symbol (3 bytes in 32-bit files, 4 in 64-bit
//! ones), three of the four type bytes in 64-bit files, and addends in the record where the word itself could store
//! them.

use coldstart_elf::{Class, RelocationForm};
use serde::Serialize;

use crate::object::Object;
use crate::slots::Words;

/// Bytes without information. Packed relocations have none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Waste {
    /// Symbol fields of records without a symbol.
    pub symbol_bytes: u64,
    /// Type bytes beyond the first.
    pub type_bytes: u64,
    /// Addends that the relocated word could store.
    pub addend_bytes: u64,
    /// Records whose word already holds their addend.
    pub addends_in_place: u64,
    /// Records with an addend in the record.
    pub addends: u64,
    /// The total.
    pub bytes: u64,
    /// Total size of the records.
    pub of_bytes: u64,
}

pub(super) fn measure(object: &Object<'_>) -> Waste {
    let mut waste = Waste::default();
    let (symbol_size, spare_type_size) = match object.file.encoding().class {
        Class::Elf32 => (3, 0),
        Class::Elf64 => (4, 3),
    };
    let word_size = object.file.encoding().word_size();
    for table in object.relocations.all_tables() {
        let has_addends = table.form() == RelocationForm::Rela;
        let mut words = Words::new(&object.file);
        waste.of_bytes += table.size();
        table.for_each(|relocation| {
            waste.symbol_bytes += if relocation.symbol == 0 { symbol_size } else { 0 };
            waste.type_bytes += spare_type_size;
            if has_addends {
                waste.addends += 1;
                waste.addend_bytes += word_size;
                let in_place = words.at(relocation.offset);
                let addend = relocation.addend.map(|addend| addend as u64 & mask(word_size));
                waste.addends_in_place += u64::from(in_place.is_some() && in_place == addend);
            }
        });
    }
    waste.bytes = waste.symbol_bytes + waste.type_bytes + waste.addend_bytes;
    waste
}

fn mask(word_size: u64) -> u64 {
    if word_size == 4 { u64::from(u32::MAX) } else { u64::MAX }
}
