use super::{Note, Notes, notes};
use crate::address::FileOffset;
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::test_file::TestFile;
use crate::{ElfError, ElfFile, Result};

const LITTLE: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const BIG: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };
const NOTE: u32 = 4;

fn read(bytes: &[u8], alignment: u64) -> Vec<Result<Note<'_>>> {
    Notes::new(bytes, FileOffset(0x100), alignment, LITTLE).unwrap().collect()
}

/// A note whose name and description are as long as they are given, padding included.
fn note(sizes: [u8; 2], kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![sizes[0], 0, 0, 0, sizes[1], 0, 0, 0, kind, 0, 0, 0];
    bytes.extend(rest);
    bytes
}

#[test]
fn padding_follows_the_alignment() {
    // A name of 5 bytes ends at 17: the description begins at 20 or at 24.
    let four = [note([5, 1], 7, b"Name\0\0\0\0A\0\0\0"), note([4, 1], 8, b"GNU\0B")].concat();
    let found: Vec<_> = read(&four, 4).into_iter().map(Result::unwrap).collect();
    let of = |note: &Note<'_>| (note.offset.0, note.description_offset.0, note.kind, note.description.to_vec());
    assert_eq!(
        found.iter().map(of).collect::<Vec<_>>(),
        [(0x100, 0x114, 7, b"A".to_vec()), (0x118, 0x128, 8, b"B".to_vec())]
    );
    assert_eq!((found[0].name, found[1].name), (&b"Name"[..], &b"GNU"[..]));

    let eight = [note([5, 1], 7, b"Name\0\0\0\0\0\0\0\0A\0\0\0\0\0\0\0"), note([4, 1], 8, b"GNU\0B")].concat();
    let found: Vec<_> = read(&eight, 8).into_iter().map(Result::unwrap).collect();
    assert_eq!(
        found.iter().map(of).collect::<Vec<_>>(),
        [(0x100, 0x118, 7, b"A".to_vec()), (0x120, 0x130, 8, b"B".to_vec())]
    );
}

#[test]
fn alignments_below_4_count_as_4_and_others_are_refused() {
    let bytes = note([4, 4], 1, b"GNU\0abcd");
    for alignment in [0, 1, 2, 4, 8] {
        assert_eq!(read(&bytes, alignment)[0].as_ref().unwrap().description, b"abcd");
    }
    for alignment in [5, 16, u64::MAX] {
        assert!(Notes::new(&bytes, FileOffset(0), alignment, LITTLE).is_err());
    }
}

#[test]
fn a_note_may_be_empty_and_lack_its_last_padding() {
    assert_eq!(read(&note([0, 0], 1, b""), 4)[0].as_ref().unwrap().name, b"");
    let bytes = note([3, 0], 1, b"GNU");
    let found = read(&bytes, 4);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].as_ref().unwrap().name, b"GNU");
}

#[test]
fn a_name_may_go_on_behind_its_zero() {
    let bytes = note([7, 0], 1, b"GA!\0\x01\x02\0\0");
    let found = read(&bytes, 4);
    let [Ok(note)] = &found[..] else { panic!("{found:?}") };
    assert_eq!((note.name, note.whole_name), (&b"GA!"[..], &b"GA!\0\x01\x02\0"[..]));
}

#[test]
fn a_broken_note_is_the_last_one() {
    let good = note([4, 4], 1, b"GNU\0abcd");
    let tails: [&[u8]; 4] = [&[1, 0, 0], &[0xff; 12], &note([4, 200], 1, b"GNU\0"), &note([200, 0], 1, b"GNU\0")];
    for tail in tails {
        let bytes = [&good, tail].concat();
        let found = read(&bytes, 4);
        assert_eq!(found.len(), 2);
        let place = FileOffset(0x100 + good.len() as u64);
        assert!(matches!(found[1], Err(ElfError::Malformed { offset, .. }) if offset == place), "{:?}", found[1]);
    }
}

#[test]
fn segments_that_share_bytes_are_read_once() {
    for encoding in [LITTLE, BIG] {
        let mut file = TestFile::new(encoding);
        let bytes = [file.u32_bytes(4), file.u32_bytes(4), file.u32_bytes(9), *b"GNU\0", *b"abcd"].concat();
        file.add_segment(NOTE, &bytes, 4);
        file.add_segment(NOTE, &bytes, 4);
        file.repeat_last_segment();
        let bytes = file.finish(&[]);
        let file = ElfFile::parse(&bytes).unwrap();
        let kinds: Vec<u32> = notes(&file).map(|note| note.unwrap().kind).collect();
        assert_eq!(kinds, [9, 9]);
    }
}

#[test]
fn an_error_does_not_hide_the_notes_of_other_segments() {
    let mut file = TestFile::new(LITTLE);
    file.add_segment(NOTE, &[1, 2, 3], 4);
    file.add_segment(NOTE, &note([4, 4], 3, b"GNU\0abcd"), 16);
    file.add_segment(NOTE, &note([4, 4], 3, b"GNU\0abcd"), 4);
    let bytes = file.finish(&[]);
    let file = ElfFile::parse(&bytes).unwrap();
    let found: Vec<bool> = notes(&file).map(|note| note.is_ok()).collect();
    assert_eq!(found, [false, false, true]);
    assert_eq!(crate::build_id(&file).unwrap().to_string(), "61626364");
}
