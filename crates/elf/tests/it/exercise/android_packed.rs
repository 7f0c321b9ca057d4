//! Android's packed relocations.

use std::hint::black_box;

use coldstart_elf::{FileOffset, PackedForm, PackedRelocations};

use super::{Input, MOST_STEPS, open};

/// Walks the packed tables, a bounded number of steps.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, Some(dynamic)) => {
            for form in [PackedForm::Rel, PackedForm::Rela] {
                if let Ok(Some(table)) = file.android_packed_relocations(&dynamic, form) {
                    read(&table);
                }
            }
        }
        Input::Table(bytes, encoding, choice) => {
            let form = if choice & 1 == 0 { PackedForm::Rela } else { PackedForm::Rel };
            // The magic number would only keep a fuzzer out.
            let with_magic = [b"APS2", bytes].concat();
            for bytes in [bytes, &with_magic] {
                if let Ok(table) = PackedRelocations::parse(bytes, FileOffset(0), encoding, form) {
                    read(&table);
                }
            }
        }
        Input::File(_, None) | Input::Nothing => {}
    }
}

fn read(table: &PackedRelocations<'_>) {
    let mut walked = 0_u64;
    let mut iter = table.iter();
    for relocation in iter.by_ref().take(MOST_STEPS) {
        match relocation {
            Ok(relocation) => {
                assert_eq!(relocation.addend.is_some(), table.form() == PackedForm::Rela);
                walked += 1;
            }
            Err(error) => {
                black_box(error.to_string());
                assert!(table.iter().take(MOST_STEPS).last().is_some_and(|last| last.is_err()));
                return;
            }
        }
    }
    assert_eq!(walked, table.count().min(MOST_STEPS as u64));
    black_box((table.size(), table.is_empty(), iter.next().is_some()));
}
