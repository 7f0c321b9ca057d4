//! Hash tables of libraries built here, against `readelf`: its symbol table and its histogram of chain lengths.
//! All are made by gcc and binutils (package `gcc`).

use std::fmt::Write;
use std::path::Path;

use coldstart_elf::{ChainLengths, ElfFile, GnuHashTable, SysvHashTable};

use crate::built::{folder, readelf, shared_object};

/// A library of 300 functions, some of which call functions that are elsewhere.
fn source() -> String {
    (0..300).fold("int puts(const char *), getpid(void);\n".to_owned(), |mut source, number| {
        writeln!(source, "int function_{number}(void) {{ return puts(\"x\") + getpid() + {number}; }}").unwrap();
        source
    })
}

fn listed_count(path: &Path) -> u64 {
    let text = readelf(&["--dyn-syms"], path);
    let line = text.lines().find(|line| line.contains("contains")).unwrap();
    line.split("contains ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
}

/// Buckets, empty ones, longest chain and symbols, as readelf's histogram has them under this title.
fn listed_chains(path: &Path, title: &str) -> (u64, u64, u64, u64) {
    let text = readelf(&["-I"], path);
    let mut lines = text.lines().skip_while(|line| !line.contains(title) || !line.contains("istogram"));
    let heading = lines.next().unwrap();
    let buckets = heading.split("total of ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let rows = lines.skip(1).take_while(|line| !line.trim().is_empty());
    let rows: Vec<(u64, u64)> = rows
        .map(|line| {
            let mut fields = line.split_whitespace();
            (fields.next().unwrap().parse().unwrap(), fields.next().unwrap().parse().unwrap())
        })
        .collect();
    let empty = rows.iter().find(|row| row.0 == 0).map_or(0, |row| row.1);
    let symbols = rows.iter().map(|row| row.0 * row.1).sum();
    (buckets, empty, rows.iter().filter(|row| row.1 > 0).map(|row| row.0).max().unwrap(), symbols)
}

fn in_short(chains: ChainLengths) -> (u64, u64, u64, u64) {
    (chains.buckets, chains.empty_buckets, chains.longest, chains.symbols)
}

fn section_size(file: &ElfFile<'_>, name: &str) -> u64 {
    file.section(name).unwrap().header.size
}

#[test]
fn both_tables_agree_with_readelf() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--hash-style=both"]);
    let bytes = std::fs::read(&path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let gnu = GnuHashTable::parse(&file, &dynamic).unwrap().unwrap();
    let sysv = SysvHashTable::parse(&file, &dynamic).unwrap().unwrap();
    let count = listed_count(&path);
    assert_eq!((gnu.symbol_count(), sysv.symbol_count()), (Some(count), count));
    assert_eq!(gnu.size(), section_size(&file, ".gnu.hash"));
    assert_eq!(sysv.size(), section_size(&file, ".hash"));
    assert_eq!(in_short(gnu.chain_lengths().unwrap()), listed_chains(&path, ".gnu.hash"));
    assert_eq!(in_short(sysv.chain_lengths().unwrap()), listed_chains(&path, "for bucket list"));
    assert!(gnu.hashed_count() >= 300 && gnu.first_symbol() > 0);
}

#[test]
fn every_symbol_is_found_under_its_name() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--hash-style=both"]);
    let bytes = std::fs::read(&path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    let gnu = GnuHashTable::parse(&file, &dynamic).unwrap().unwrap();
    let sysv = SysvHashTable::parse(&file, &dynamic).unwrap().unwrap();
    let symbols = file.dynamic_symbols(&dynamic).unwrap();
    let mut defined = 0;
    for (symbol, number) in symbols.iter().zip(0..).filter(|(symbol, _)| !symbols.name(symbol).is_empty()) {
        let name = symbols.name(&symbol);
        let is_same = |number| symbols.name_at(number) == name;
        assert_eq!(sysv.lookup(name, is_same), Some(number));
        // Only what others can use is in the GNU table.
        assert_eq!(gnu.lookup(name, is_same), symbol.is_defined().then_some(number));
        defined += u64::from(symbol.is_defined());
    }
    assert_eq!(defined, gnu.hashed_count());
}

#[test]
fn the_filter_lets_as_many_strangers_through_as_computed() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", &source(), &["-Wl,--hash-style=gnu"]);
    let bytes = std::fs::read(&path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    assert!(SysvHashTable::parse(&file, &dynamic).unwrap().is_none());
    let gnu = GnuHashTable::parse(&file, &dynamic).unwrap().unwrap();
    let strangers = 100_000_u32;
    // Multiplication by an odd number spreads the digits, so that the hashes are spread as well.
    let name = |number: u32| format!("{:08x}_stranger", number.wrapping_mul(0x9e37_79b1));
    let passed = (0..strangers).filter(|number| gnu.may_contain(name(*number).as_bytes())).count();
    let (measured, computed) = (passed as f64 / f64::from(strangers), gnu.bloom_quality().false_positives);
    assert!((measured - computed).abs() < 0.2 * computed, "measured {measured}, computed {computed}");
}

#[test]
fn a_library_that_offers_nothing_has_an_empty_table() {
    let folder = folder();
    let path = shared_object(folder.path(), "lib.so", "", &["-nostdlib", "-Wl,--hash-style=gnu"]);
    let bytes = std::fs::read(&path).unwrap();
    let file = ElfFile::parse(&bytes).unwrap();
    let gnu = GnuHashTable::parse(&file, &file.dynamic().unwrap().unwrap()).unwrap().unwrap();
    assert_eq!((gnu.symbol_count(), gnu.hashed_count()), (None, 0));
    assert_eq!(gnu.size(), section_size(&file, ".gnu.hash"));
}
