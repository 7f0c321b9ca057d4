//! Relocation tables in the plain forms.

use std::hint::black_box;

use coldstart_elf::{
    DynamicRelocations, FileOffset, RelocationClass, RelocationForm, RelocationTable, relocation_type_name,
};

use super::{Input, MOST_STEPS, open, walk};

/// Reads every relocation table that the dynamic table or a section names.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, dynamic) => {
            let machine = file.encoding().machine;
            let dynamic = dynamic.and_then(|dynamic| file.dynamic_relocations(&dynamic).ok());
            for relocations in dynamic.iter().chain(file.static_relocations().ok().iter()) {
                read_all(relocations, machine);
            }
        }
        Input::Table(bytes, encoding, choice) => {
            let form = if choice & 1 == 0 { RelocationForm::Rela } else { RelocationForm::Rel };
            read(&RelocationTable::new(form, bytes, FileOffset(0), encoding), encoding.machine);
        }
        Input::Nothing => {}
    }
}

fn read_all(relocations: &DynamicRelocations<'_>, machine: u16) {
    relocations.all_tables().for_each(|table| read(table, machine));
    assert!(relocations.tables().count() <= relocations.all_tables().count());
    if let Some(relr) = &relocations.relr {
        walk(relr.addresses());
    }
}

fn read(table: &RelocationTable<'_>, machine: u16) {
    for index in 0..table.len().min(MOST_STEPS) {
        let relocation = table.get(index).expect("a record for each number");
        assert_eq!(relocation.addend.is_some(), table.form() == RelocationForm::Rela);
        black_box(RelocationClass::of(machine, relocation.kind));
        if index < 16 {
            black_box(relocation_type_name(machine, relocation.kind));
        }
    }
    assert_eq!(table.get(table.len()), None);
    let mut visited = 0;
    table.for_each(|_| visited += 1);
    assert_eq!(visited, table.len());
    black_box((table.size(), table.record_size(), table.file_offset(), table.is_empty()));
}
