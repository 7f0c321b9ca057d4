//! Encodes a table.
//!
//! Two hash tables with open addressing, at most three quarters full: a lookup reads one spot of them and two
//! strings, however many entries there are. Sorted entries would need a page per search step, and a cold page is read
//! from the disk.

use std::collections::HashMap;

use coldstart_elf::ByteOrder;

use super::error::BuildError;
use super::layout::{
    BEFORE_LIBRARY_PATH, CHECKS_FILES, ENTRY_SIZE, FROM_PROGRAM, GROUP, HEADER_SIZE, MAGIC, PATH_MAXIMUM,
    RELATIVE_REQUESTERS, REQUESTER_SIZE, checksum, field, hash_name,
};
use super::table::{Found, Place, Requester, Table};

/// Size limit for each part of a table, so that sums of them fit in 4 bytes.
const PART_LIMIT: u32 = 1 << 28;

/// A slot of a hash table: its hash and the numbers after it.
type Slot<const N: usize> = Option<(u32, [u32; N])>;

/// Serialises a table.
pub(super) fn encode(table: &Table, order: ByteOrder) -> Result<Vec<u8>, BuildError> {
    let mut strings = Strings::new();
    let mut requesters: Vec<(u32, [u32; 2])> = Vec::new();
    let mut entries: Vec<(u32, [u32; 3])> = Vec::new();
    let mut known: HashMap<&Requester, u32> = HashMap::new();
    let (mut program_group, mut flags) = (0, if table.check_files { CHECKS_FILES } else { 0 });
    let mut longest_relative = 0;

    let numbered = (1_u32..).zip(&table.groups);
    let all = std::iter::once((0, &table.for_all)).chain(numbered.clone().map(|(group, of)| (group, &of.entries)));
    let group_count = number(table.groups.len(), "groups", GROUP)?;
    for (group, answers) in all {
        for (name, found) in answers {
            check_name(name)?;
            longest_relative = longest_relative.max(check_place(&found.place)?);
            let record = [strings.enter(name)?, strings.enter(found.place.path())?, group | marks(found)];
            entries.push((hash_name(name, group), record));
        }
    }
    for (group, of) in numbered {
        for requester in &of.requesters {
            if known.insert(requester, group).is_some() {
                return Err(BuildError::TwoGroups { path: requester.path().to_vec() });
            }
            let Requester::Library(place) = requester else {
                program_group = group;
                continue;
            };
            let relative = check_place(place)?;
            longest_relative = longest_relative.max(relative);
            let mark = if relative > 0 { FROM_PROGRAM } else { 0 };
            flags |= if relative > 0 { RELATIVE_REQUESTERS } else { 0 };
            let path = place.path();
            requesters.push((hash_name(path, mark >> 31), [strings.enter(path)?, group | mark]));
        }
    }

    let (requesters, entries) = (slots(&requesters)?, slots(&entries)?);
    let mut bytes = vec![0; HEADER_SIZE];
    let requesters_at = position(&bytes)?;
    push_slots(&mut bytes, &requesters, order);
    let entries_at = position(&bytes)?;
    push_slots(&mut bytes, &entries, order);
    let strings_at = position(&bytes)?;
    bytes.extend_from_slice(&strings.bytes);
    // Space for a copy of LD_LIBRARY_PATH, then for the program's directory followed by a relative path. Mapped from
    // the file, so it costs no system call.
    let below_program = if longest_relative == 0 { 0 } else { PATH_MAXIMUM.saturating_add(longest_relative) };
    let scratch_size = PATH_MAXIMUM.saturating_add(below_program);
    let scratch_at = position(&bytes)?;
    bytes.resize(bytes.len().saturating_add(scratch_size), 0);
    let size = position(&bytes)?;

    let numbers = [
        (field::SIZE, size),
        (field::FLAGS, flags),
        (field::GROUP_COUNT, group_count),
        (field::PROGRAM_GROUP, program_group),
        (field::REQUESTERS, requesters_at),
        (field::REQUESTER_COUNT, number(requesters.len(), "requesters", PART_LIMIT)?),
        (field::ENTRIES, entries_at),
        (field::ENTRY_COUNT, number(entries.len(), "entries", PART_LIMIT)?),
        (field::STRINGS, strings_at),
        (field::STRINGS_SIZE, number(strings.bytes.len(), "names", PART_LIMIT)?),
        (field::SCRATCH, scratch_at),
        (field::SCRATCH_SIZE, number(scratch_size, "paths", PART_LIMIT)?),
    ];
    put(&mut bytes, 0, MAGIC);
    for (at, value) in numbers {
        put(&mut bytes, at, &in_order(value, order));
    }
    let sum = checksum(&bytes);
    put(&mut bytes, field::CHECKSUM, &in_order(sum, order));
    Ok(bytes)
}

/// A number in the target's byte order.
fn in_order(value: u32, order: ByteOrder) -> [u8; 4] {
    match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    }
}

fn put(bytes: &mut [u8], at: usize, what: &[u8]) {
    if let Some(place) = bytes.get_mut(at..at.saturating_add(what.len())) {
        place.copy_from_slice(what);
    }
}

fn number(count: usize, what: &'static str, limit: u32) -> Result<u32, BuildError> {
    u32::try_from(count).ok().filter(|&count| count <= limit).ok_or(BuildError::TooLarge { what, limit })
}

/// The offset of the next part.
fn position(bytes: &[u8]) -> Result<u32, BuildError> {
    number(bytes.len(), "bytes", PART_LIMIT.saturating_mul(4))
}

fn marks(found: &Found) -> u32 {
    let relative = if matches!(found.place, Place::FromProgram(_)) { FROM_PROGRAM } else { 0 };
    relative | if found.before_library_path { BEFORE_LIBRARY_PATH } else { 0 }
}

fn check_name(name: &[u8]) -> Result<(), BuildError> {
    let sound = !name.is_empty() && !name.contains(&0);
    sound.then_some(()).ok_or_else(|| BuildError::Name { name: name.to_vec() })
}

/// The length of a relative path with its final zero; 0 for an absolute one.
fn check_place(place: &Place) -> Result<usize, BuildError> {
    let path = place.path();
    let absolute = path.first() == Some(&b'/');
    let reason = if path.contains(&b'$') {
        "it contains a `$`, which the loader expands"
    } else if path.contains(&0) || path.is_empty() {
        "it is empty or contains a zero byte"
    } else if path.len() >= PATH_MAXIMUM {
        "it is longer than PATH_MAX"
    } else if absolute != matches!(place, Place::Absolute(_)) {
        "only an absolute path may begin with a slash"
    } else {
        return Ok(if absolute { 0 } else { path.len().saturating_add(1) });
    };
    Err(BuildError::Path { path: path.to_vec(), reason })
}

/// Inserts each record at the first empty slot after its hash. The slot count is a power of two; at most three
/// quarters are used.
fn slots<const N: usize>(records: &[(u32, [u32; N])]) -> Result<Vec<Slot<N>>, BuildError> {
    if records.is_empty() {
        return Ok(Vec::new());
    }
    let count = number(records.len(), "entries", PART_LIMIT / 32)?;
    let wanted = count.saturating_add(count / 3).saturating_add(1).next_power_of_two();
    let mask = wanted.saturating_sub(1);
    let mut slots: Vec<Slot<N>> = vec![None; wanted as usize];
    for &record in records {
        let mut places = (0..wanted).map(|step| (record.0.wrapping_add(step) & mask) as usize);
        let free = places.find(|&place| slots.get(place).is_some_and(Option::is_none));
        if let Some(slot) = free.and_then(|place| slots.get_mut(place)) {
            *slot = Some(record);
        }
    }
    Ok(slots)
}

fn push_slots<const N: usize>(bytes: &mut Vec<u8>, slots: &[Slot<N>], order: ByteOrder) {
    const { assert!(N == REQUESTER_SIZE / 4 - 1 || N == ENTRY_SIZE / 4 - 1) };
    for slot in slots {
        // An empty slot has the empty string at the start as its name.
        let (hash, numbers) = slot.unwrap_or((0, [0; N]));
        for value in std::iter::once(hash).chain(numbers) {
            bytes.extend_from_slice(&in_order(value, order));
        }
    }
}

/// Zero-terminated strings, each stored once. The first is empty.
struct Strings {
    bytes: Vec<u8>,
    known: HashMap<Vec<u8>, u32>,
}

impl Strings {
    fn new() -> Self {
        Self { bytes: vec![0], known: HashMap::new() }
    }

    /// Offset of a string; adds it if needed.
    fn enter(&mut self, string: &[u8]) -> Result<u32, BuildError> {
        if let Some(&at) = self.known.get(string) {
            return Ok(at);
        }
        let at = number(self.bytes.len(), "names", PART_LIMIT)?;
        self.bytes.extend_from_slice(string);
        self.bytes.push(0);
        self.known.insert(string.to_vec(), at);
        Ok(at)
    }
}

impl Requester {
    /// Its path; empty for the program.
    fn path(&self) -> &[u8] {
        match self {
            Self::Program => &[],
            Self::Library(place) => place.path(),
        }
    }
}
