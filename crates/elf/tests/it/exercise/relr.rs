//! RELR tables: read, written again, read again.

use coldstart_elf::{Class, Encoding, RelrEncoder, RelrTable, Vaddr};

use super::{Input, MOST_STEPS, open};

/// Reads a table; what ascends and is even can be written again and says the same then.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, Some(dynamic)) => {
            let relocations = file.dynamic_relocations(&dynamic);
            if let Some(table) = relocations.ok().and_then(|relocations| relocations.relr) {
                read(&table, file.encoding());
            }
        }
        Input::Table(bytes, encoding, _) => read(&RelrTable::new(bytes, Default::default(), encoding), encoding),
        Input::File(_, None) | Input::Nothing => {}
    }
}

fn read(table: &RelrTable<'_>, encoding: Encoding) {
    let addresses: Vec<Vaddr> = table.addresses().take(MOST_STEPS).collect();
    assert_eq!(addresses.len() as u64, table.relocation_count().min(MOST_STEPS as u64));
    let mut bytes = Vec::new();
    let mut encoder = RelrEncoder::new(encoding, |word: u64| put(&mut bytes, word, encoding));
    let written: Vec<Vaddr> = addresses.into_iter().filter(|address| encoder.push(*address).is_ok()).collect();
    encoder.finish();
    let again: Vec<Vaddr> = RelrTable::new(&bytes, Default::default(), encoding).addresses().collect();
    assert_eq!(again, written);
}

fn put(bytes: &mut Vec<u8>, word: u64, encoding: Encoding) {
    let little = word.to_le_bytes();
    let used = if encoding.class == Class::Elf32 { &little[..4] } else { &little[..] };
    match encoding.byte_order {
        coldstart_elf::ByteOrder::Little => bytes.extend(used),
        coldstart_elf::ByteOrder::Big => bytes.extend(used.iter().rev()),
    }
}
