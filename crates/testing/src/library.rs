//! ELF files that no linker makes.

use std::fmt::Write as _;

use crate::compile;

/// A small ELF file for x86-64 whose dynamic table needs this name so many times. It has the name once.
pub fn library_that_needs(name: &[u8], count: u64) -> Vec<u8> {
    const HEADERS: u64 = 64 + 2 * 56;
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let dynamic_size = (count + 3) * 16;
    let strings = HEADERS + dynamic_size;
    let size = strings + name.len() as u64 + 1;
    let mut dynamic = vec![5, strings, 10, name.len() as u64 + 1];
    dynamic.extend((0..count).flat_map(|_| [1, 0]));
    dynamic.extend([0, 0]);
    let identity = [&b"\x7fELF\x02\x01\x01"[..], &[0; 9]].concat();
    let segment = |kind: u64, place: u64, size: u64| words(&[kind | 6 << 32, place, place, place, size, size, 8]);
    [
        identity,
        words(&[3 | 62 << 16 | 1 << 32, 0, 64, 0, 64 << 32 | 56 << 48, 2]),
        segment(1, 0, size),
        segment(2, HEADERS, dynamic_size),
        words(&dynamic),
        name.to_vec(),
        vec![0],
    ]
    .concat()
}

/// How many symbols each, defined and not, [`library_of_one_name`] has, and how long their name is.
pub const SHARING_SYMBOLS: usize = 50_000;
/// See [`SHARING_SYMBOLS`].
pub const SHARED_NAME_BYTES: usize = 2 << 20;

/// A library in which very many symbols have the same very long name: whoever reads each name to its end reads 200 GB. It has
/// relative relocations to pack, and a reference to each symbol.
///
/// gcc builds it with short names; then every symbol of its dynamic table is given the long one's.
///
/// # Panics
/// Without gcc, or on an architecture whose ELF files are not little-endian with 64 bits.
pub fn library_of_one_name() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let mut source = String::from("asm(\".data\\n\"\n");
    for number in 0..SHARING_SYMBOLS {
        writeln!(source, r#"".globl d{number}\nd{number}: .8byte u{number}\n.8byte d{number}\n""#).unwrap();
    }
    writeln!(source, r#"".globl {0}\n{0}: .8byte 1\n");"#, "x".repeat(SHARED_NAME_BYTES)).unwrap();
    writeln!(source, "static int value; int *pointers[] = {{ {} }};", "&value, ".repeat(4000)).unwrap();
    let path = directory.path().join("library.so");
    let options = ["-shared", "-fPIC", "-Wl,-z,nopack-relative-relocs"];
    let mut bytes = std::fs::read(compile("gcc", &path, &source, &options)).unwrap();
    let number = |at: usize, size: usize| {
        bytes[at..at + size].iter().rev().fold(0_usize, |number, byte| number << 8 | usize::from(*byte))
    };
    let sections = (0..number(60, 2)).map(|section| number(40, 8) + section * 64);
    const DYNAMIC_SYMBOLS: usize = 11;
    let symbols = sections.clone().find(|section| number(section + 4, 4) == DYNAMIC_SYMBOLS).unwrap();
    let strings = number(sections.clone().nth(number(symbols + 40, 4)).unwrap() + 24, 8);
    let entries = (number(symbols + 24, 8)..).step_by(24).take(number(symbols + 32, 8) / 24).skip(1);
    let is_long = |entry: &usize| bytes[strings + number(*entry, 4)..].starts_with(b"xxxx");
    let long = bytes[entries.clone().find(is_long).unwrap()..][..4].to_vec();
    entries.for_each(|entry| bytes[entry..entry + 4].copy_from_slice(&long));
    bytes
}
