//! Reads a library back, for `status`, `verify` and tests.

use std::collections::BTreeMap;

use coldstart_elf::{ElfFile, Encoding};

use super::build::TABLE_SECTION;
use super::error::ReadError;
use super::layout::{
    BEFORE_LIBRARY_PATH, CHECKS_FILES, ENTRY_SIZE, FROM_PROGRAM, GROUP, HEADER_SIZE, MAGIC, REQUESTER_SIZE, checksum,
    field,
};
use super::table::{Found, Group, Place, Requester, Table};

/// The table of an audit library. Groups without requesters and entries are kept, so the table is exactly the written
/// one.
///
/// # Errors
/// If the file was not built by [`super::build()`], or its table is damaged.
pub fn read(library: &[u8]) -> Result<Table, ReadError> {
    let file = ElfFile::parse(library)?;
    let section = file.section(TABLE_SECTION).ok_or(ReadError::NotOurs)?;
    let bytes = file.section_bytes(&section.header)?;
    if bytes.first_chunk() != Some(MAGIC) || bytes.len() < HEADER_SIZE {
        return Err(ReadError::NotOurs);
    }
    let reader = Reader { bytes, encoding: file.encoding() };
    if reader.number(field::CHECKSUM)? != checksum(bytes) {
        return Err(damaged("wrong header checksum", field::CHECKSUM));
    }
    let flags = reader.number(field::FLAGS)?;
    let mut table = Table { check_files: flags & CHECKS_FILES != 0, ..Table::default() };
    let group_count = reader.number(field::GROUP_COUNT)?;
    if group_count > GROUP {
        return Err(damaged("too many groups", field::GROUP_COUNT));
    }
    table.groups.resize(group_count as usize, Group::default());
    let program = reader.number(field::PROGRAM_GROUP)?;
    if program != 0 {
        let group = table.group_mut(program).ok_or(damaged("no such group", field::PROGRAM_GROUP))?;
        group.requesters.insert(Requester::Program);
    }
    for (at, [_, path, group]) in reader.records(field::REQUESTERS, field::REQUESTER_COUNT, REQUESTER_SIZE)? {
        let place = reader.place(path, group, at)?;
        let group = table.group_mut(group & GROUP).ok_or(damaged("no such group", at))?;
        group.requesters.insert(Requester::Library(place));
    }
    for (at, [_, name, path, group]) in reader.records(field::ENTRIES, field::ENTRY_COUNT, ENTRY_SIZE)? {
        let place = reader.place(path, group, at)?;
        let found = Found { place, before_library_path: group & BEFORE_LIBRARY_PATH != 0 };
        let name = reader.string(name, at)?.to_vec();
        let entries = table.entries_mut(group & GROUP).ok_or(damaged("no such group", at))?;
        entries.insert(name, found);
    }
    Ok(table)
}

fn damaged(what: &'static str, offset: usize) -> ReadError {
    ReadError::Damaged { what, offset: offset as u64 }
}

impl Table {
    /// The group with this number in the file, from 1.
    fn group_mut(&mut self, number: u32) -> Option<&mut Group> {
        self.groups.get_mut(number.checked_sub(1)? as usize)
    }

    fn entries_mut(&mut self, number: u32) -> Option<&mut BTreeMap<Vec<u8>, Found>> {
        if number == 0 { Some(&mut self.for_all) } else { Some(&mut self.group_mut(number)?.entries) }
    }
}

struct Reader<'bytes> {
    bytes: &'bytes [u8],
    encoding: Encoding,
}

impl<'bytes> Reader<'bytes> {
    fn number(&self, at: usize) -> Result<u32, ReadError> {
        let bytes = self.bytes.get(at..).ok_or(damaged("truncated", at))?;
        self.encoding.u32(bytes).ok_or(damaged("truncated", at))
    }

    /// The used slots of a hash table, with their offsets.
    fn records<const N: usize>(
        &self,
        place: usize,
        count: usize,
        size: usize,
    ) -> Result<Vec<(usize, [u32; N])>, ReadError> {
        let (start, slots) = (self.number(place)? as usize, self.number(count)? as usize);
        let whole = size.checked_mul(slots).and_then(|bytes| start.checked_add(bytes));
        if whole.is_none_or(|end| end > self.bytes.len()) {
            return Err(damaged("a part is outside the table", place));
        }
        let mut records = Vec::new();
        for at in (start..).step_by(size).take(slots) {
            let mut record = [0; N];
            for (place, value) in (at..).step_by(4).zip(&mut record) {
                *value = self.number(place)?;
            }
            if record.get(1) != Some(&0) {
                records.push((at, record));
            }
        }
        Ok(records)
    }

    /// The string at `place`, referred to by the record at `at`.
    fn string(&self, place: u32, at: usize) -> Result<&'bytes [u8], ReadError> {
        let (start, size) = (self.number(field::STRINGS)? as usize, self.number(field::STRINGS_SIZE)? as usize);
        let end = start.checked_add(size).ok_or(damaged("the size of the strings overflows", field::STRINGS_SIZE))?;
        let strings = self.bytes.get(start..end).ok_or(damaged("the strings are outside the table", field::STRINGS))?;
        let string = strings.get(place as usize..).ok_or(damaged("a string is outside the string area", at))?;
        let length = string.iter().position(|&byte| byte == 0).ok_or(damaged("a string is not terminated", at))?;
        string.get(..length).ok_or(damaged("a string is not terminated", at))
    }

    fn place(&self, path: u32, marks: u32, at: usize) -> Result<Place, ReadError> {
        let path = self.string(path, at)?.to_vec();
        Ok(if marks & FROM_PROGRAM != 0 { Place::FromProgram(path) } else { Place::Absolute(path) })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::collection::{btree_map, btree_set, vec};
    use proptest::prelude::*;

    use super::*;
    use crate::audit::{Architecture, build};

    fn place() -> impl Strategy<Value = Place> {
        let path = vec(prop::sample::select(b"abc./".to_vec()), 1..12);
        (path, any::<bool>()).prop_map(|(path, absolute)| {
            let inner: Vec<u8> = path.iter().copied().skip_while(|&byte| byte == b'/').collect();
            match (absolute, inner.is_empty()) {
                (true, _) | (_, true) => Place::Absolute([b"/".as_slice(), &inner].concat()),
                _ => Place::FromProgram(inner),
            }
        })
    }

    fn answers(most: usize) -> impl Strategy<Value = BTreeMap<Vec<u8>, Found>> {
        let found =
            (place(), any::<bool>()).prop_map(|(place, before_library_path)| Found { place, before_library_path });
        btree_map(vec(1_u8.., 1..10), found, 0..most)
    }

    fn table() -> impl Strategy<Value = Table> {
        let groups = vec((btree_set(place(), 0..4), answers(20)), 0..5);
        (any::<bool>(), answers(40), groups, any::<prop::sample::Index>()).prop_map(
            |(check_files, for_all, groups, program)| {
                let mut table = Table { check_files, for_all, groups: Vec::new() };
                let mut seen = BTreeSet::new();
                for (places, entries) in groups {
                    let fresh = places.into_iter().map(Requester::Library).filter(|one| seen.insert(one.clone()));
                    table.groups.push(Group { requesters: fresh.collect(), entries });
                }
                if !table.groups.is_empty() {
                    let group = program.index(table.groups.len());
                    table.groups[group].requesters.insert(Requester::Program);
                }
                table
            },
        )
    }

    proptest! {
        #[test]
        fn a_library_says_what_its_table_said(table in table()) {
            for architecture in [Architecture::X86_64, Architecture::I386, Architecture::S390x] {
                prop_assert_eq!(read(&build(architecture, &table).unwrap()).unwrap(), table.clone());
            }
        }

        #[test]
        fn a_damaged_library_is_read_or_refused(
            table in table(),
            damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        ) {
            let mut library = build(Architecture::X86_64, &table).unwrap();
            for (place, byte) in damage {
                let at = place.index(library.len());
                library[at] = byte;
            }
            let _ = read(&library);
        }
    }

    #[test]
    fn other_files_are_not_ours() {
        assert!(matches!(read(b"text"), Err(ReadError::Elf(_))));
        let program = std::fs::read(coldstart_host::process::own::PROGRAM).unwrap();
        assert!(matches!(read(&program), Err(ReadError::NotOurs)));
        // A template has no table yet.
        let error = read(Architecture::Arm.template()).unwrap_err();
        assert!(matches!(error, ReadError::Damaged { offset: 8, .. }), "{error}");
    }
}
