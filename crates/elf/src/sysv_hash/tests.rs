use super::{SysvHashTable, sysv_hash};
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::hash_chains::ChainLengths;
use crate::test_file::TestFile;
use crate::{ElfError, ElfFile, Result};

const LITTLE_64: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const BIG_32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };
const S390X: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Big, machine: 22 };

/// Hands `check` the table of a file that has these words for one.
fn with_table<T>(encoding: Encoding, words: &[u64], check: impl FnOnce(Result<SysvHashTable<'_>>) -> T) -> T {
    let mut file = TestFile::new(encoding);
    let table = words.iter().flat_map(|word| match encoding.machine {
        22 => word.to_be_bytes().to_vec(),
        _ => file.u32_bytes(*word as u32).to_vec(),
    });
    let table: Vec<u8> = table.collect();
    let address = file.add(&table);
    let bytes = file.finish(&[(4, address)]);
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    check(SysvHashTable::parse(&file, &dynamic).map(Option::unwrap))
}

/// Two buckets and four symbols.
fn words() -> [u64; 8] {
    // Bucket 0 holds 3 and then 1, bucket 1 holds 2.
    [2, 4, 3, 2, 0, 0, 0, 1]
}

#[test]
fn the_hash_is_that_of_the_specification() {
    assert_eq!(sysv_hash(b""), 0);
    assert_eq!(sysv_hash(b"printf"), 0x0779_05a6);
    assert_eq!(sysv_hash(b"GLIBC_2.2.5"), 0x0969_1a75);
}

#[test]
fn tables_of_all_encodings_are_read() {
    for encoding in [LITTLE_64, BIG_32, S390X] {
        with_table(encoding, &words(), |table| {
            let table = table.unwrap();
            assert_eq!((table.symbol_count(), table.bucket_count()), (4, 2));
            assert_eq!(table.word_size(), if encoding.machine == 22 { 8 } else { 4 });
            assert_eq!(table.size(), table.word_size() * 8);
            let expected = ChainLengths { buckets: 2, empty_buckets: 0, symbols: 3, longest: 2, comparisons: 4 };
            assert_eq!(table.chain_lengths().unwrap(), expected);
        });
    }
}

#[test]
fn lookup_offers_the_chain_in_order() {
    with_table(LITTLE_64, &words(), |table| {
        let table = table.unwrap();
        let mut offered = Vec::new();
        let found = table.lookup(b"printf", |symbol| {
            offered.push(symbol);
            false
        });
        assert_eq!(found, None);
        assert_eq!(offered, [3, 1]);
        assert_eq!(table.lookup(b"printf", |symbol| symbol == 1), Some(1));
    });
}

#[test]
fn chains_without_end_are_found() {
    // Symbol 1 leads back to 3.
    with_table(LITTLE_64, &[2, 4, 3, 2, 0, 3, 0, 1], |table| {
        let table = table.unwrap();
        assert!(matches!(table.chain_lengths(), Err(ElfError::Malformed { .. })));
        assert_eq!(table.lookup(b"printf", |_| false), None);
    });
    // Both buckets have the same chain.
    with_table(LITTLE_64, &[2, 4, 3, 3, 0, 0, 1, 2], |table| assert!(table.unwrap().chain_lengths().is_err()));
    // Symbol 9 is not there.
    with_table(LITTLE_64, &[2, 4, 9, 0, 0, 0, 0, 0], |table| {
        let table = table.unwrap();
        assert!(table.chain_lengths().is_err());
        assert_eq!(table.lookup(b"printf", |_| true), None);
    });
}

#[test]
fn counts_that_no_segment_holds_are_refused() {
    for counts in [[u64::from(u32::MAX), 4], [2, u64::from(u32::MAX)], [u64::from(u32::MAX); 2]] {
        with_table(LITTLE_64, &counts, |table| assert!(matches!(table, Err(ElfError::Unmapped { .. }))));
    }
    with_table(S390X, &[u64::MAX, u64::MAX], |table| assert!(table.is_err()));
}

#[test]
fn an_empty_table_finds_nothing() {
    with_table(LITTLE_64, &[0, 0], |table| {
        let table = table.unwrap();
        assert_eq!(table.lookup(b"printf", |_| true), None);
        assert_eq!(table.chain_lengths().unwrap(), ChainLengths::default());
    });
}
