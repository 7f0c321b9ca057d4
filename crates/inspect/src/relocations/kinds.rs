//! Records by type, by the names that `readelf` prints.

use std::collections::HashMap;

use coldstart_elf::{RelocationClass, relocation_type_name};
use serde::Serialize;

use crate::object::Object;

/// Records of one type.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KindCount {
    /// Its name, such as `R_X86_64_RELATIVE`.
    pub name: String,
    /// Its number in the architecture's ABI.
    pub number: u32,
    /// Number of records in all tables.
    pub count: u64,
    /// Those with a symbol.
    pub with_symbol: u64,
    /// Bytes of these records.
    pub bytes: u64,
    /// Whether the word only gets the load bias added.
    pub is_relative: bool,
}

/// Types below this are counted in an array; every type in use is.
const FEW: usize = 2048;

pub(super) fn count(object: &Object<'_>) -> Vec<KindCount> {
    let mut few = vec![Counter::default(); FEW];
    let mut others: HashMap<u32, Counter> = HashMap::new();
    for table in object.relocations.all_tables() {
        let size = table.record_size() as u64;
        table.for_each(|relocation| {
            let counter = match few.get_mut(relocation.kind as usize) {
                Some(counter) => counter,
                // Only hostile files get here, and there are no more entries than records in the file.
                None => others.entry(relocation.kind).or_default(),
            };
            counter.count += 1;
            counter.bytes += size;
            counter.with_symbol += u64::from(relocation.symbol != 0);
        });
    }
    let machine = object.file.encoding().machine;
    let few = few.into_iter().enumerate().map(|(kind, counter)| (kind as u32, counter));
    let seen = few.chain(others).filter(|(_, counter)| counter.count > 0);
    let mut kinds: Vec<_> = seen
        .map(|(kind, counter)| KindCount {
            name: relocation_type_name(machine, kind),
            number: kind,
            count: counter.count,
            with_symbol: counter.with_symbol,
            bytes: counter.bytes,
            is_relative: RelocationClass::of(machine, kind) == RelocationClass::Relative,
        })
        .collect();
    kinds.sort_by_key(|kind| (std::cmp::Reverse(kind.count), kind.number));
    kinds
}

#[derive(Clone, Copy, Default)]
struct Counter {
    count: u64,
    bytes: u64,
    with_symbol: u64,
}
