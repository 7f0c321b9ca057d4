//! Both hash tables, looked up with the names of the file's own symbols and with others.

use std::hint::black_box;

use coldstart_elf::{GnuHashTable, SysvHashTable};

use super::{Input, open};

/// Names to look up, at most.
const MOST_NAMES: usize = 64;

/// Reads the hash tables, their chains and their filter.
pub fn exercise(bytes: &[u8]) {
    let Input::File(file, Some(dynamic)) = open(bytes) else { return };
    let symbols = file.dynamic_symbols(&dynamic).ok();
    let own = symbols.iter().flat_map(|symbols| symbols.iter().map(|symbol| symbols.name(&symbol)));
    let names: Vec<&[u8]> = own.take(MOST_NAMES).chain([b"".as_slice(), b"memset", &[0xff; 40]]).collect();
    match GnuHashTable::parse(&file, &dynamic) {
        Ok(Some(table)) => {
            for name in &names {
                let found = table.lookup(name, |_| true);
                assert!(found.is_none() || table.may_contain(name));
                black_box(table.lookup(name, |_| false));
            }
            let quality = table.bloom_quality();
            assert!((0.0..=1.0).contains(&quality.set_share) && (0.0..=1.0).contains(&quality.false_positives));
            black_box((table.symbol_count(), table.size(), table.bucket_count(), table.hashed_count()));
            black_box(
                table.chain_lengths().map(|lengths| (lengths.average(), lengths.comparisons_per_symbol())).is_ok(),
            );
        }
        Ok(None) => {}
        Err(error) => drop(black_box(error.to_string())),
    }
    match SysvHashTable::parse(&file, &dynamic) {
        Ok(Some(table)) => {
            for name in &names {
                black_box(table.lookup(name, |_| false).or(table.lookup(name, |_| true)));
            }
            black_box((table.symbol_count(), table.size(), table.bucket_count(), table.word_size()));
            black_box(
                table.chain_lengths().map(|lengths| (lengths.average(), lengths.comparisons_per_symbol())).is_ok(),
            );
        }
        Ok(None) => {}
        Err(error) => drop(black_box(error.to_string())),
    }
}
