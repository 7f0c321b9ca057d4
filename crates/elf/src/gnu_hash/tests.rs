use super::{GnuHashTable, gnu_hash};
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::hash_chains::ChainLengths;
use crate::test_file::TestFile;
use crate::{ElfError, ElfFile, Result};

const LITTLE_64: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const BIG_32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };
const SHIFT: u32 = 6;

/// Header, filter, and then buckets and chains as they are given. The filter has one word, with the bits of all names.
fn table(file: &TestFile, encoding: Encoding, names: &[&[u8]], header: [u32; 4], rest: &[u32]) -> Vec<u8> {
    let bits = (encoding.word_size() * 8) as u32;
    let bit = |hash: u32| 1_u64 << (hash % bits);
    let filter = names.iter().map(|name| gnu_hash(name)).fold(0, |word, hash| word | bit(hash) | bit(hash >> SHIFT));
    let mut bytes: Vec<u8> = header.iter().flat_map(|word| file.u32_bytes(*word)).collect();
    bytes.extend(file.word(filter));
    bytes.extend(rest.iter().flat_map(|word| file.u32_bytes(*word)));
    bytes
}

fn with_table<T>(
    encoding: Encoding,
    names: &[&[u8]],
    header: [u32; 4],
    rest: &[u32],
    check: impl FnOnce(Result<GnuHashTable<'_>>) -> T,
) -> T {
    let mut file = TestFile::new(encoding);
    let bytes = table(&file, encoding, names, header, rest);
    let address = file.add(&bytes);
    let bytes = file.finish(&[(0x6fff_fef5, address)]);
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    check(GnuHashTable::parse(&file, &dynamic).map(Option::unwrap))
}

/// One bucket with `names` in order, from symbol 5 on.
fn one_bucket(names: &[&[u8]]) -> Vec<u32> {
    let hashes = names.iter().map(|name| gnu_hash(name) & !1);
    let mut words: Vec<u32> = [5].into_iter().chain(hashes).collect();
    *words.last_mut().unwrap() |= 1;
    words
}

#[test]
fn the_hash_is_bernsteins() {
    assert_eq!(gnu_hash(b""), 5381);
    assert_eq!(gnu_hash(b"printf"), 0x156b_2bb8);
    assert_eq!(gnu_hash(b"exit"), 0x7c96_7e3f);
}

#[test]
fn tables_of_all_encodings_are_read() {
    let names: [&[u8]; 2] = [b"printf", b"exit"];
    for encoding in [LITTLE_64, BIG_32] {
        with_table(encoding, &names, [1, 5, 1, SHIFT], &one_bucket(&names), |table| {
            let table = table.unwrap();
            assert_eq!((table.symbol_count(), table.first_symbol(), table.hashed_count()), (Some(7), 5, 2));
            assert_eq!(table.size(), 16 + encoding.word_size() + 4 + 8);
            let expected = ChainLengths { buckets: 1, empty_buckets: 0, symbols: 2, longest: 2, comparisons: 3 };
            assert_eq!(table.chain_lengths().unwrap(), expected);
            assert_eq!(table.lookup(b"printf", |_| true), Some(5));
            assert_eq!(table.lookup(b"exit", |_| true), Some(6));
            assert_eq!(table.lookup(b"exit", |_| false), None);
            assert_eq!(table.lookup(b"absent", |_| true), None);
        });
    }
}

#[test]
fn false_positives_follow_from_the_bits() {
    let names: [&[u8]; 1] = [b"printf"];
    with_table(LITTLE_64, &names, [1, 5, 1, SHIFT], &one_bucket(&names), |table| {
        let quality = table.unwrap().bloom_quality();
        assert_eq!((quality.words, quality.word_bits, quality.shift), (1, 64, SHIFT));
        // `printf` sets two different bits of 64.
        assert_eq!(quality.set_share, 2.0 / 64.0);
        assert_eq!(quality.false_positives, (2.0_f64 / 64.0).powi(2));
    });
}

#[test]
fn an_empty_table_does_not_know_the_number_of_symbols() {
    with_table(LITTLE_64, &[], [1, 1, 1, 0], &[0], |table| {
        let table = table.unwrap();
        assert_eq!((table.symbol_count(), table.hashed_count()), (None, 0));
        assert_eq!(table.lookup(b"printf", |_| true), None);
        assert!(!table.may_contain(b"printf"));
    });
    // No buckets at all: glibc takes that for an empty table too.
    with_table(LITTLE_64, &[b"printf"], [0, 1, 1, SHIFT], &[], |table| {
        assert_eq!(table.unwrap().lookup(b"printf", |_| true), None);
    });
}

#[test]
fn wrong_tables_are_refused() {
    let malformed = |header: [u32; 4], rest: &[u32]| {
        with_table(LITTLE_64, &[], header, rest, |table| matches!(table, Err(ElfError::Malformed { .. })))
    };
    assert!(malformed([1, 5, 0, 0], &[5, 1]), "no filter");
    assert!(malformed([1, 5, 3, 0], &[5, 1]), "a filter of three words");
    assert!(malformed([1, 5, 1, 0], &[4, 1]), "a bucket before the first symbol");
    assert!(malformed([1, 5, 1, 0], &[u32::MAX, 1]), "a bucket behind the segment");
    let huge =
        |header| with_table(LITTLE_64, &[], header, &[5, 1], |table| matches!(table, Err(ElfError::Unmapped { .. })));
    assert!(huge([u32::MAX, 5, 1, 0]));
    assert!(huge([1, 5, 1 << 31, 0]));
}

#[test]
fn a_chain_ends_with_its_segment() {
    let mut file = TestFile::new(LITTLE_64);
    let bytes = table(&file, LITTLE_64, &[], [1, 5, 1, 0], &[5, 2, 2, 2]);
    let address = file.add(&bytes);
    let end = file.size();
    let bytes = file.finish(&[(0x6fff_fef5, address)]);
    let whole = ElfFile::parse(&bytes).unwrap();
    // The file is cut off after the chain, which has no end mark.
    let cut = ElfFile::parse(&bytes[..end]).unwrap();
    let found = GnuHashTable::parse(&cut, &whole.dynamic().unwrap().unwrap());
    assert!(matches!(found, Err(ElfError::Malformed { .. })), "{found:?}");
}

#[test]
fn buckets_that_share_a_chain_are_found() {
    with_table(LITTLE_64, &[], [2, 5, 1, 0], &[5, 5, 2, 2, 3], |table| {
        assert!(matches!(table.unwrap().chain_lengths(), Err(ElfError::Malformed { .. })));
    });
}

#[test]
fn a_shift_beyond_the_hash_is_no_panic() {
    with_table(LITTLE_64, &[], [1, 5, 1, u32::MAX], &[5, 1], |table| {
        assert_eq!(table.unwrap().lookup(b"printf", |_| true), None);
    });
}
