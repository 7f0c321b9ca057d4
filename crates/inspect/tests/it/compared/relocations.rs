//! Relocations: each record of each table, and the sums that `coldstart inspect` shows.

use std::collections::BTreeMap;

use coldstart_elf::{Class, FileOffset, RelocationForm, RelocationTable, Vaddr, relocation_type_name};
use coldstart_inspect::{Object, Relocations, relocations};

use super::Differences;
use crate::printed::{Printed, PrintedRelocation, PrintedTable};

pub(crate) fn compare(object: &Object<'_>, printed: &Printed, differences: &mut Differences) {
    let relocations_of = &object.relocations;
    let (packed, tables): (Vec<_>, Vec<_>) = printed.tables.iter().partition(|table| !table.addresses.is_empty());
    let ours: Vec<_> = relocations_of.all_tables().filter(|table| !table.is_empty()).collect();
    differences.hold("number of tables of relocations", ours.len(), tables.len());
    for (ours, printed) in ours.iter().zip(&tables) {
        compare_table(object, ours, printed, differences);
    }
    let relr = relocations_of.relr.as_ref();
    differences.hold("number of RELR tables", relr.into_iter().count(), packed.len());
    if let (Some(relr), Some(printed)) = (relr, packed.first()) {
        differences.hold("offset of RELR", Some(relr.file_offset()), printed_offset(object, printed));
        differences.hold("bytes of RELR", Some(relr.size()), printed.bytes);
        let addresses: Vec<u64> = relr.addresses().map(|address| address.0).collect();
        differences.hold_all("addresses of RELR", &addresses, &printed.addresses);
    }
    compare_figures(object, &relocations(object), printed, differences);
}

fn compare_table(
    object: &Object<'_>,
    ours: &RelocationTable<'_>,
    printed: &PrintedTable,
    differences: &mut Differences,
) {
    let name = &printed.name;
    let offset = printed_offset(object, printed);
    differences.hold(&format!("offset of {name}"), Some(ours.file_offset()), offset);
    differences.hold(&format!("bytes of {name}"), ours.size(), printed.bytes.unwrap_or(ours.size()));
    differences.hold(&format!("entries of {name}"), ours.len() as u64, printed.count.unwrap_or(ours.len() as u64));
    differences.hold(&format!("records of {name}"), ours.len(), printed.records.len());
    let shift = symbol_shift(object);
    let kind_mask = (1_u64 << shift) - 1;
    let mut printed_records = printed.records.iter();
    let mut first = None;
    ours.for_each(|ours| {
        let Some(printed) = printed_records.next() else { return };
        let theirs = (printed.offset, printed.info >> shift, printed.info & kind_mask, printed.addend);
        let ours = (ours.offset.0, u64::from(ours.symbol), u64::from(ours.kind), ours.addend);
        if ours != theirs && first.is_none() {
            first = Some((ours, theirs));
        }
    });
    if let Some((ours, theirs)) = first {
        differences.hold(
            &format!("offset, symbol, type and addend of the first differing record of {name}"),
            ours,
            theirs,
        );
    }
    let has_addends = printed.records.iter().any(|record| record.addend.is_some());
    differences.hold(&format!("whether {name} has addends"), ours.form() == RelocationForm::Rela, has_addends);
}

/// Where the table begins. What `readelf -D` calls an offset is the address that stands in the dynamic table; the two differ
/// in programs at fixed addresses.
fn printed_offset(object: &Object<'_>, printed: &PrintedTable) -> Option<FileOffset> {
    match printed.count {
        Some(_) => Some(FileOffset(printed.place)),
        None => object.file.offset_of(Vaddr(printed.place)),
    }
}

/// How many bits of `r_info` are the type. Little-endian 64-bit MIPS differs and is not met here.
fn symbol_shift(object: &Object<'_>) -> u32 {
    match object.file.encoding().class {
        Class::Elf64 => 32,
        Class::Elf32 => 8,
    }
}

/// The sums, from the printed rows alone.
fn compare_figures(object: &Object<'_>, ours: &Relocations, printed: &Printed, differences: &mut Differences) {
    let shift = symbol_shift(object);
    let records = || printed.tables.iter().flat_map(|table| &table.records);
    let has_symbol = |record: &&PrintedRelocation| record.info >> shift != 0;
    let count = records().count() as u64;
    let packed: u64 = printed.tables.iter().map(|table| table.addresses.len() as u64).sum();
    differences.hold("relocations().count", ours.count, count + packed);
    let with_symbol = records().filter(has_symbol).count() as u64;
    differences.hold("relocations().with_symbol", ours.with_symbol, with_symbol);
    differences.hold("relocations().without_symbol", ours.without_symbol, count - with_symbol);
    if let Some(bytes) = printed.tables.iter().map(|table| table.bytes).sum::<Option<u64>>() {
        differences.hold("relocations().bytes", ours.bytes, bytes);
    }
    differences.hold("relocations().bytes by sections", ours.bytes, bytes_of_sections(printed));
    let packed = Some(packed).filter(|packed| *packed > 0);
    differences.hold("relocations().packed", ours.packed.as_ref().map(|packed| packed.count), packed);
    let packed_bytes = printed.tables.iter().find(|table| !table.addresses.is_empty()).and_then(|table| table.bytes);
    differences.hold("relocations().packed.bytes", ours.packed.as_ref().map(|packed| packed.bytes), packed_bytes);
    compare_types(object, ours, printed, differences);
}

/// Bytes of all loaded sections of relocations: `NAME TYPE ADDRESS OFFSET SIZE ENTRYSIZE FLAGS ...`.
fn bytes_of_sections(printed: &Printed) -> u64 {
    let words = printed.sections.iter().map(|row| row.split_whitespace().collect::<Vec<_>>());
    let loaded = words.filter_map(|words| match words.as_slice() {
        [_, "REL" | "RELA" | "RELR", _, _, size, _, flags, ..] if flags.contains('A') => Some(*size),
        _ => None,
    });
    loaded.map(|size| u64::from_str_radix(size, 16).unwrap()).sum()
}

fn compare_types(object: &Object<'_>, ours: &Relocations, printed: &Printed, differences: &mut Differences) {
    let (shift, machine) = (symbol_shift(object), object.file.encoding().machine);
    let mut by_number: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for record in printed.tables.iter().flat_map(|table| &table.records) {
        let counts = by_number.entry(record.info & ((1 << shift) - 1)).or_default();
        counts.0 += 1;
        counts.1 += u64::from(record.info >> shift != 0);
    }
    let names: BTreeMap<u32, &str> =
        printed.tables.iter().flat_map(|table| &table.types).map(|(kind, name)| (*kind, name.as_str())).collect();
    for (kind, name) in &names {
        differences.hold("name of a type", relocation_type_name(machine, *kind).as_str(), name);
    }
    let printed: Vec<_> = by_number.into_iter().map(|(kind, counts)| (kind, counts.0, counts.1)).collect();
    let mut ours: Vec<_> =
        ours.by_type.iter().map(|kind| (u64::from(kind.number), kind.count, kind.with_symbol)).collect();
    ours.sort_unstable();
    differences.hold_all("relocations().by_type", &ours, &printed);
}
