//! The unwind tables: where functions begin and end.

use std::hint::black_box;

use coldstart_elf::{UnwindTable, Vaddr};

use super::{Input, MOST_STEPS, open};

/// Addresses to look up, at most.
const MOST_LOOKUPS: usize = 200;

/// Reads the unwind tables and looks up addresses in them.
pub fn exercise(bytes: &[u8]) {
    let Input::File(file, _) = open(bytes) else { return };
    match UnwindTable::parse(&file) {
        Ok(Some(table)) => {
            let starts: Vec<Vaddr> = table.functions().take(MOST_STEPS).collect();
            assert!(starts.len() <= table.entry_count());
            let around = starts.iter().flat_map(|start| [start.0, start.0.wrapping_sub(1), start.0.wrapping_add(1)]);
            for address in around.take(MOST_LOOKUPS).chain([0, u64::MAX]).map(Vaddr) {
                assert!(table.function_at(address).is_none_or(|function| function.contains(&address)));
            }
            let (entries, size) = table.entries();
            assert!(size <= bytes.len() as u64 && entries.is_sorted_by_key(|entry| entry.range.start));
            assert!(entries.iter().all(|entry| entry.range.start < entry.range.end));
            black_box((table.search_table_size(), table.address()));
        }
        Ok(None) => {}
        Err(error) => drop(black_box(error.to_string())),
    }
}
