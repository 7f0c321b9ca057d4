//! Hand-made streams, and an encoder that must be undone.

use proptest::prelude::*;

use super::*;
use crate::encoding::ByteOrder;

const ELF64: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const ELF32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Little, machine: 40 };

fn number(bytes: &mut Vec<u8>, mut value: i64) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if (value == 0 && byte & 0x40 == 0) || (value == -1 && byte & 0x40 != 0) {
            return bytes.push(byte);
        }
        bytes.push(byte | 0x80);
    }
}

fn stream(numbers: &[i64]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    numbers.iter().for_each(|value| number(&mut bytes, *value));
    bytes
}

fn parse(bytes: &[u8], form: PackedForm) -> Result<PackedRelocations<'_>> {
    PackedRelocations::parse(bytes, FileOffset(0x100), ELF64, form)
}

fn rela(offset: u64, info: u64, addend: i64) -> PackedRelocation {
    PackedRelocation { offset: Vaddr(offset), info, addend: Some(addend) }
}

#[test]
fn each_way_of_grouping() {
    let bytes = stream(&[
        7,
        0x1000, // seven relocations, the first distance counts from 0x1000
        2,
        0,
        8,
        5,
        8,
        6, // nothing shared, no addends
        2,
        1 | 8,
        0x17,
        8,
        100,
        8,
        -30, // one info, an addend each
        0,
        0, // a group of none; having no addends, it sets the last one to 0
        2,
        1 | 2 | 4 | 8,
        16,
        0x18,
        1000, // all shared: the addend is a difference to the last one
        1,
        4,
        8,
        9, // "grouped by addend" without addends
    ]);
    let table = parse(&bytes, PackedForm::Rela).unwrap();
    assert_eq!((table.count(), table.size(), table.is_empty()), (7, bytes.len() as u64, false));
    let relocations: Result<Vec<_>> = table.iter().collect();
    let expected = [
        rela(0x1008, 5, 0),
        rela(0x1010, 6, 0),
        rela(0x1018, 0x17, 100),
        rela(0x1020, 0x17, 70),
        rela(0x1030, 0x18, 1000),
        rela(0x1040, 0x18, 1000),
        rela(0x1048, 9, 0),
    ];
    assert_eq!(relocations.unwrap(), expected);
}

#[test]
fn relocations_without_bytes_are_not_unpacked_before_they_are_asked_for() {
    let bytes = stream(&[i64::MAX, 0, i64::MAX, 1 | 2, 8, 0x17]);
    let table = parse(&bytes, PackedForm::Rel).unwrap();
    assert_eq!(table.count(), i64::MAX as u64);
    let mut iter = table.iter();
    assert_eq!(iter.size_hint(), (0, None));
    let third = iter.nth(2).unwrap().unwrap();
    assert_eq!(third, PackedRelocation { offset: Vaddr(24), info: 0x17, addend: None });
}

#[test]
fn what_is_wrong_is_refused_with_its_place_and_ends_the_walk() {
    let problem = |bytes: &[u8], form| {
        let table = parse(bytes, form).unwrap();
        let mut iter = table.iter();
        let error = iter.by_ref().find_map(|item| item.err()).unwrap();
        assert!(iter.next().is_none());
        match error {
            ElfError::Malformed { offset, problem, .. } => (offset.0, problem),
            other => panic!("{other}"),
        }
    };
    let (offset, text) = problem(&stream(&[2, 0, 3, 0]), PackedForm::Rela);
    assert_eq!((offset, text), (0x106, "a group has more relocations than the table"));
    let (offset, text) = problem(&stream(&[1, 0, 1, 8, 1]), PackedForm::Rel);
    assert_eq!((offset, text), (0x106, "a group has addends, but the table is a DT_ANDROID_REL one"));
    let (offset, text) = problem(&stream(&[2, 0, 2, 0, 1, 1]), PackedForm::Rela);
    assert_eq!((offset, text), (0x10a, "truncated number"));
    let mut long = stream(&[1, 0]);
    long.extend([0xff; 9]);
    long.push(1);
    assert_eq!(problem(&long, PackedForm::Rela), (0x106, "a number is wider than 64 bits"));

    assert!(parse(b"APS1\x00\x00", PackedForm::Rela).is_err());
    assert!(parse(b"", PackedForm::Rela).is_err());
    assert!(parse(b"APS2\x80", PackedForm::Rela).is_err());
}

#[test]
fn words_of_32_bits_wrap_as_the_loader_s_do() {
    let bytes = stream(&[2, -8, 2, 1 | 8, 23, 8, i64::from(i32::MAX), 16, 1]);
    let table = PackedRelocations::parse(&bytes, FileOffset(0), ELF32, PackedForm::Rela).unwrap();
    let relocations: Result<Vec<_>> = table.iter().collect();
    assert_eq!(relocations.unwrap(), [rela(0, 23, i64::from(i32::MAX)), rela(16, 23, i64::from(i32::MIN))]);
}

/// A group as the encoder of these tests writes it; all of its relocations fit its flags.
fn encode(groups: &[(u64, Vec<PackedRelocation>)], form: PackedForm, first: u64) -> Vec<u8> {
    let count: usize = groups.iter().map(|(_, relocations)| relocations.len()).sum();
    let mut bytes = stream(&[count as i64, first as i64]);
    let (mut offset, mut addend) = (first, 0i64);
    for (flags, relocations) in groups {
        let mut put = |value: i64| number(&mut bytes, value);
        put(relocations.len() as i64);
        put(*flags as i64);
        let Some(head) = relocations.first() else { continue };
        if flags & GROUPED_BY_OFFSET_DELTA != 0 {
            put(head.offset.0.wrapping_sub(offset) as i64);
        }
        if flags & GROUPED_BY_INFO != 0 {
            put(head.info as i64);
        }
        let has_addend = form == PackedForm::Rela && flags & GROUP_HAS_ADDEND != 0;
        if has_addend && flags & GROUPED_BY_ADDEND != 0 {
            put(head.addend.unwrap().wrapping_sub(addend));
        }
        for relocation in relocations {
            if flags & GROUPED_BY_OFFSET_DELTA == 0 {
                put(relocation.offset.0.wrapping_sub(offset) as i64);
            }
            offset = relocation.offset.0;
            if flags & GROUPED_BY_INFO == 0 {
                put(relocation.info as i64);
            }
            if has_addend && flags & GROUPED_BY_ADDEND == 0 {
                put(relocation.addend.unwrap().wrapping_sub(addend));
            }
            addend = relocation.addend.unwrap_or(0);
        }
    }
    bytes
}

/// Makes relocations that fit the group's flags out of arbitrary ones.
fn fit(flags: u64, raw: Vec<(u64, u64, i64)>, form: PackedForm, last: &mut u64) -> Vec<PackedRelocation> {
    let Some(&(step, info, addend)) = raw.first() else { return Vec::new() };
    let fit_one = |(own_step, own_info, own_addend): (u64, u64, i64)| {
        *last = last.wrapping_add(if flags & GROUPED_BY_OFFSET_DELTA != 0 { step } else { own_step });
        let addend = match flags & (GROUP_HAS_ADDEND | GROUPED_BY_ADDEND) {
            GROUP_HAS_ADDEND => own_addend,
            both if both & GROUP_HAS_ADDEND != 0 => addend,
            _ => 0,
        };
        PackedRelocation {
            offset: Vaddr(*last),
            info: if flags & GROUPED_BY_INFO != 0 { info } else { own_info },
            addend: (form == PackedForm::Rela).then_some(addend),
        }
    };
    raw.into_iter().map(fit_one).collect()
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(
        raw in prop::collection::vec((0u64..16, prop::collection::vec(any::<(u64, u64, i64)>(), 1..6)), 0..8),
        first: u64,
        with_addends: bool,
    ) {
        let form = if with_addends { PackedForm::Rela } else { PackedForm::Rel };
        let mut last = first;
        let groups: Vec<_> = raw
            .into_iter()
            .map(|(flags, relocations)| {
                let flags = if with_addends { flags } else { flags & 7 };
                (flags, fit(flags, relocations, form, &mut last))
            })
            .collect();
        let bytes = encode(&groups, form, first);
        let table = parse(&bytes, form).unwrap();
        let decoded: Result<Vec<_>> = table.iter().collect();
        let expected: Vec<_> = groups.into_iter().flat_map(|(_, relocations)| relocations).collect();
        prop_assert_eq!(decoded.unwrap(), expected);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, with_magic: bool, with_addends: bool) {
        let form = if with_addends { PackedForm::Rela } else { PackedForm::Rel };
        let bytes = if with_magic { [MAGIC, &bytes].concat() } else { bytes };
        if let Ok(table) = parse(&bytes, form) {
            prop_assert!(table.iter().take(1000).count() as u64 <= table.count());
        }
    }
}
