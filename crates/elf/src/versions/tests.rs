use super::{SymbolVersion, VersionName, VersionTable};
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::test_file::TestFile;
use crate::{ElfError, ElfFile, Result};

const LITTLE_64: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const BIG_32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };

const STRINGS: &[u8] = b"\0liba.so\0A_1\0A_2\0own.so\0OWN_1\0OWN_2\0";
const LIBA: u32 = 1;
const A_1: u32 = 9;
const A_2: u32 = 13;
const OWN: u32 = 17;
const OWN_1: u32 = 24;
const OWN_2: u32 = 30;

/// A half of 2 bytes or a word of 4.
enum Field {
    Half(u16),
    Word(u32),
}
use Field::{Half, Word};

fn bytes(file: &TestFile, fields: &[Field]) -> Vec<u8> {
    let bytes = fields.iter().flat_map(|field| match field {
        Half(value) => file.u16_bytes(*value).to_vec(),
        Word(value) => file.u32_bytes(*value).to_vec(),
    });
    bytes.collect()
}

fn verneed(count: u16, file: u32, first: u32, next: u32) -> Vec<Field> {
    vec![Half(1), Half(count), Word(file), Word(first), Word(next)]
}

fn vernaux(hash: u32, flags: u16, index: u16, name: u32, next: u32) -> Vec<Field> {
    vec![Word(hash), Half(flags), Half(index), Word(name), Word(next)]
}

fn verdef(flags: u16, index: u16, count: u16, next: u32) -> Vec<Field> {
    vec![Half(1), Half(flags), Half(index), Half(count), Word(0), Word(20), Word(next)]
}

fn verdaux(name: u32, next: u32) -> Vec<Field> {
    vec![Word(name), Word(next)]
}

/// Hands `check` the tables of a file that has these.
fn with_tables<T>(
    encoding: Encoding,
    needed: Vec<Vec<Field>>,
    defined: Vec<Vec<Field>>,
    check: impl FnOnce(Result<VersionTable<'_>>) -> T,
) -> T {
    let mut file = TestFile::new(encoding);
    let strings = file.add(STRINGS);
    let mut dynamic = vec![(5, strings), (10, STRINGS.len() as u64)];
    for (tag, table) in [(0x6fff_fffe, needed), (0x6fff_fffc, defined)] {
        if !table.is_empty() {
            let table = bytes(&file, &table.into_iter().flatten().collect::<Vec<_>>());
            dynamic.push((tag, file.add(&table)));
        }
    }
    let symbols = bytes(&file, &[Half(0), Half(1), Half(0x8002), Half(3)]);
    dynamic.push((0x6fff_fff0, file.add(&symbols)));
    let bytes = file.finish(&dynamic);
    let file = ElfFile::parse(&bytes).unwrap();
    check(VersionTable::parse(&file, &file.dynamic().unwrap().unwrap()))
}

#[test]
fn both_lists_are_read_in_all_encodings() {
    for encoding in [LITTLE_64, BIG_32] {
        let needed = vec![verneed(2, LIBA, 16, 0), vernaux(11, 0, 4, A_1, 16), vernaux(12, 2, 5, A_2, 0)];
        let defined = vec![
            [verdef(1, 1, 1, 28), verdaux(OWN, 0)].into_iter().flatten().collect(),
            [verdef(0, 2, 1, 28), verdaux(OWN_1, 0)].into_iter().flatten().collect(),
            [verdef(2, 3, 2, 0), verdaux(OWN_2, 8), verdaux(OWN_1, 0)].into_iter().flatten().collect(),
        ];
        with_tables(encoding, needed, defined, |table| {
            let table = table.unwrap();
            let [file] = table.needed() else { panic!("{:?}", table.needed()) };
            assert_eq!(file.file, b"liba.so");
            let versions: Vec<_> = file.versions.iter().map(|v| (v.name, v.hash, v.is_weak, v.index)).collect();
            assert_eq!(versions, [(&b"A_1"[..], 11, false, 4), (b"A_2", 12, true, 5)]);
            let defined: Vec<_> = table.defined().iter().map(|v| (v.name, v.is_base, v.is_weak, v.index)).collect();
            let expected = [(&b"own.so"[..], true, false, 1), (b"OWN_1", false, false, 2), (b"OWN_2", false, true, 3)];
            assert_eq!(defined, expected);
            assert_eq!(table.defined()[2].parents, [b"OWN_1"]);
            assert_eq!(table.version_of(0), Some(SymbolVersion { index: 0, is_hidden: false }));
            assert_eq!(table.version_of(2), Some(SymbolVersion { index: 2, is_hidden: true }));
            assert_eq!(table.version_of(u32::MAX), None);
            assert_eq!(table.name_of(2), Some(VersionName { name: b"OWN_1", file: None }));
            assert_eq!(table.name_of(5), Some(VersionName { name: b"A_2", file: Some(b"liba.so") }));
            assert_eq!((table.name_of(0), table.name_of(0x7fff)), (None, None));
        });
    }
}

#[test]
fn an_object_without_versions_has_empty_tables() {
    let bytes = TestFile::new(LITTLE_64).finish(&[]);
    let file = ElfFile::parse(&bytes).unwrap();
    let table = VersionTable::parse(&file, &file.dynamic().unwrap().unwrap()).unwrap();
    assert!(table.needed().is_empty() && table.defined().is_empty() && !table.has_symbol_versions());
    assert_eq!((table.version_of(0), table.name_of(1)), (None, None));
}

fn is_malformed(needed: Vec<Vec<Field>>) -> bool {
    with_tables(LITTLE_64, needed, Vec::new(), |table| matches!(table, Err(ElfError::Malformed { .. })))
}

#[test]
fn lists_that_lead_outside_are_refused() {
    assert!(is_malformed(vec![verneed(1, LIBA, u32::MAX, 0)]));
    assert!(is_malformed(vec![verneed(0, LIBA, 0, u32::MAX)]));
    assert!(is_malformed(vec![verneed(1, LIBA, 16, 0), vernaux(0, 0, 2, 9999, 0)]));
    assert!(is_malformed(vec![verneed(0, 9999, 16, 0)]));
}

#[test]
fn lists_that_share_entries_come_to_an_end() {
    // Each of 5000 libraries has the same 5000 versions, which are after them.
    let count = 5000;
    let needed = (0..count).map(|number| verneed(u16::MAX, LIBA, 16 * (count - number), 16));
    let versions = (0..count).map(|_| vernaux(0, 0, 2, A_1, 16));
    assert!(is_malformed(needed.chain(versions).collect()));
}

#[test]
fn the_stated_number_ends_a_list_too() {
    let mut file = TestFile::new(LITTLE_64);
    let strings = file.add(STRINGS);
    let fields: Vec<_> = [verneed(0, LIBA, 0, 16), verneed(0, LIBA, 0, 16)].into_iter().flatten().collect();
    let table = bytes(&file, &fields);
    let address = file.add(&table);
    let tables = [(5, strings), (10, STRINGS.len() as u64), (0x6fff_fffe, address), (0x6fff_ffff, 2)];
    let bytes = file.finish(&tables);
    let file = ElfFile::parse(&bytes).unwrap();
    let table = VersionTable::parse(&file, &file.dynamic().unwrap().unwrap()).unwrap();
    assert_eq!(table.needed().len(), 2);
}
