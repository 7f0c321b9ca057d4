use super::UnwindTable;
use crate::address::Vaddr;
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::test_file::TestFile;
use crate::{ElfFile, Result};

const LITTLE_64: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const BIG_32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };
const EH_FRAME_HEADER: u32 = 0x6474_e550;
/// `DW_EH_PE_absptr`: an address as it is.
const ADDRESS: u8 = 0x00;
/// `DW_EH_PE_udata4`.
const FOUR_BYTES: u8 = 0x03;
/// `DW_EH_PE_omit`.
const NONE: u8 = 0xff;

/// An entry: where its function begins, and its size.
type Function = (u64, u64);

/// Makes the search table's pairs from the functions and where their entries begin.
type Pairs = fn(&[Function], &[u64]) -> Vec<(u64, u64)>;

/// The entries of functions, after the one that they share, and where each begins.
fn frames(file: &TestFile, functions: &[Function]) -> (Vec<u8>, Vec<u64>) {
    // Version 1, no augmentation, factors 1 and 1, return address in register 0, no instructions, padding.
    let shared = [0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0];
    let mut bytes = file.u32_bytes(shared.len() as u32).to_vec();
    bytes.extend(shared);
    let mut places = Vec::new();
    for (start, size) in functions {
        places.push(bytes.len() as u64);
        let range = [file.word(*start), file.word(*size)].concat();
        bytes.extend(file.u32_bytes(4 + range.len() as u32));
        // How far back the shared entry begins.
        bytes.extend(file.u32_bytes(bytes.len() as u32));
        bytes.extend(range);
    }
    bytes.extend([0; 4]);
    (bytes, places)
}

/// Hands `check` the tables of a file with these functions, and with a search table if `pairs` is given.
fn with_table<T>(
    encoding: Encoding,
    functions: &[Function],
    pairs: Option<Pairs>,
    check: impl FnOnce(Result<Option<UnwindTable<'_>>>) -> T,
) -> T {
    let mut file = TestFile::new(encoding);
    let (bytes, places) = frames(&file, functions);
    let address = file.add(&bytes);
    let places: Vec<u64> = places.iter().map(|place| address + place).collect();
    let mut header = match pairs {
        Some(_) => vec![1, ADDRESS, FOUR_BYTES, ADDRESS],
        None => vec![1, ADDRESS, NONE, NONE],
    };
    header.extend(file.word(address));
    if let Some(pairs) = pairs {
        let pairs = pairs(functions, &places);
        header.extend(file.u32_bytes(pairs.len() as u32));
        header.extend(pairs.iter().flat_map(|(start, entry)| [file.word(*start), file.word(*entry)].concat()));
    }
    file.add_segment(EH_FRAME_HEADER, &header, 4);
    let bytes = file.finish(&[]);
    check(UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()))
}

fn in_order(functions: &[Function], places: &[u64]) -> Vec<(u64, u64)> {
    functions.iter().zip(places).map(|(function, place)| (function.0, *place)).collect()
}

#[test]
fn functions_are_found_with_and_without_a_search_table_in_all_encodings() {
    let functions = [(0x1000, 0x10), (0x1020, 0x20), (0x1040, 8)];
    for encoding in [LITTLE_64, BIG_32] {
        for pairs in [None, Some(in_order as _)] {
            with_table(encoding, &functions, pairs, |table| {
                let table = table.unwrap().unwrap();
                assert_eq!((table.entry_count(), table.search_table_size().is_some()), (3, pairs.is_some()));
                assert!(table.functions().map(|start| start.0).eq(functions.map(|function| function.0)));
                let at = |address| table.function_at(Vaddr(address)).map(|range| (range.start.0, range.end.0));
                assert_eq!((at(0xfff), at(0x1010), at(0x1048)), (None, None, None));
                assert_eq!((at(0x1000), at(0x100f)), (Some((0x1000, 0x1010)), Some((0x1000, 0x1010))));
                assert_eq!((at(0x103f), at(0x1040)), (Some((0x1020, 0x1040)), Some((0x1040, 0x1048))));
            });
        }
    }
}

#[test]
fn an_empty_entry_does_not_hide_the_function_at_the_same_place() {
    let functions = [(0x1000, 0x10), (0x1000, 0)];
    for pairs in [None, Some(in_order as _)] {
        with_table(LITTLE_64, &functions, pairs, |table| {
            let range = table.unwrap().unwrap().function_at(Vaddr(0x1001));
            assert_eq!(range, Some(Vaddr(0x1000)..Vaddr(0x1010)));
        });
    }
}

#[test]
fn search_tables_that_lead_elsewhere_find_nothing() {
    let wrong: [Pairs; 4] = [
        // Before all entries, after them, and to the shared entry.
        |_, _| vec![(0x1000, 0)],
        |_, _| vec![(0x1000, u64::MAX)],
        |_, places| vec![(0x1000, places[0] - 16)],
        // To an entry for other addresses.
        |_, places| vec![(0x800, places[0])],
    ];
    for pairs in wrong {
        with_table(LITTLE_64, &[(0x1000, 0x10)], Some(pairs), |table| {
            let table = table.unwrap().unwrap();
            assert_eq!((table.entry_count(), table.function_at(Vaddr(0x900))), (1, None));
        });
    }
}

#[test]
fn a_function_that_reaches_past_the_last_address_is_none() {
    for pairs in [None, Some(in_order as _)] {
        with_table(LITTLE_64, &[(u64::MAX - 4, 8)], pairs, |table| {
            assert_eq!(table.unwrap().unwrap().function_at(Vaddr(u64::MAX)), None);
        });
    }
}

#[test]
fn a_file_without_unwind_tables_has_none() {
    let bytes = TestFile::new(LITTLE_64).finish(&[]);
    assert!(UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()).unwrap().is_none());
}

#[test]
fn entries_that_are_cut_off_are_refused() {
    let mut file = TestFile::new(LITTLE_64);
    let (bytes, _) = frames(&file, &[(0x1000, 0x10)]);
    // The second entry begins after 16 bytes; its length is now past the end of the segment.
    let bytes = [&bytes[..16], &file.u32_bytes(0x1000_0000)].concat();
    let address = file.add(&bytes);
    let header = [&[1, ADDRESS, NONE, NONE][..], &file.word(address)].concat();
    file.add_segment(EH_FRAME_HEADER, &header, 4);
    let bytes = file.finish(&[]);
    let problem = UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()).unwrap_err();
    assert!(problem.to_string().contains("extends past the end"), "{problem}");
}

/// All entries of a file with these unwind tables, and their size.
fn entries(bytes: &[u8]) -> (Vec<(u64, u64)>, u64) {
    let mut file = TestFile::new(LITTLE_64);
    let address = file.add(bytes);
    // With a search table, nothing is looked at when the tables are opened.
    let pair = [file.word(0x1000), file.word(address)].concat();
    let header = [&[1, ADDRESS, FOUR_BYTES, ADDRESS][..], &file.word(address), &file.u32_bytes(1), &pair].concat();
    file.add_segment(EH_FRAME_HEADER, &header, 4);
    let bytes = file.finish(&[]);
    let (entries, size) = UnwindTable::parse(&ElfFile::parse(&bytes).unwrap()).unwrap().unwrap().entries();
    (entries.into_iter().map(|entry| (entry.range.start.0, entry.range.end.0)).collect(), size)
}

#[test]
fn all_entries_are_read_up_to_what_is_cut_off_and_without_what_is_malformed() {
    let file = TestFile::new(LITTLE_64);
    let (whole, places) = frames(&file, &[(0x1020, 0x20), (0x1000, 0x10), (0x1040, 0), (u64::MAX - 4, 8)]);
    assert_eq!(entries(&whole), (vec![(0x1000, 0x1010), (0x1020, 0x1040)], whole.len() as u64));
    let second = places[1] as usize;
    let mut cut = whole.clone();
    cut[second..second + 4].copy_from_slice(&file.u32_bytes(0x1000_0000));
    assert_eq!(entries(&cut), (vec![(0x1020, 0x1040)], places[1]));
    // What it shares with others would begin before the tables.
    let mut astray = whole.clone();
    astray[second + 4..second + 8].copy_from_slice(&file.u32_bytes(0x1000));
    assert_eq!(entries(&astray), (vec![(0x1020, 0x1040)], whole.len() as u64));
    let mut ended = whole[..second].to_vec();
    ended.extend([0; 4]);
    ended.extend(&whole[second..]);
    assert_eq!(entries(&ended), (vec![(0x1020, 0x1040)], places[1] + 4));
}
