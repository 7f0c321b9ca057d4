//! The new dynamic strings and the new dynamic table.

use std::collections::HashMap;

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, Tag};
use coldstart_prove::{LoadedNote, PathKind, SearchEdit};

use crate::refusal::Refusal;

/// Spare entries of a moved table, for later editors; as many as GNU ld leaves.
const SPARE: usize = 5;

/// The new contents, before their addresses are known.
#[derive(Debug)]
pub(super) struct Content {
    /// The bytes after the old strings.
    pub(super) added_strings: Vec<u8>,
    /// Size of the old strings, in bytes (`DT_STRSZ`).
    pub(super) old_strings: u64,
    /// The entries of the new table, with the old file's addresses.
    pub(super) entries: Vec<DynamicEntry>,
    /// Size of the new table in entries, including the final ones.
    pub(super) capacity: usize,
    /// Whether they exceed the old table.
    pub(super) dynamic_moves: bool,
    /// Notes to be loaded.
    pub(super) note: Option<LoadedNote>,
}

/// The contents that an edit requests.
pub(super) fn content(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, edit: &SearchEdit) -> Result<Content, Refusal> {
    let mut strings = Strings::of(file, dynamic, edit)?;
    let needed: Vec<DynamicEntry> =
        edit.needed.iter().map(|name| DynamicEntry { tag: Tag::NEEDED, value: strings.place(name) }).collect();
    let path = edit.path.as_ref().map(|path| {
        let tag = if path.kind == PathKind::Rpath { Tag::RPATH } else { Tag::RUNPATH };
        DynamicEntry { tag, value: strings.place(&path.text) }
    });
    let audit = edit.audit.as_ref().map(|audit| DynamicEntry { tag: Tag::AUDIT, value: strings.place(audit) });
    let old: Vec<DynamicEntry> = dynamic.entries().collect();
    let mut entries = Vec::new();
    // Linkers put `DT_NEEDED` first; entries before it stay before it.
    let first = old.iter().position(|entry| entry.tag == Tag::NEEDED).unwrap_or(0);
    let (mut path, mut audit) = (path, audit);
    for (number, entry) in old.iter().enumerate() {
        if number == first {
            entries.extend(needed.iter().copied());
        }
        match entry.tag {
            Tag::NEEDED => {}
            // The new entry replaces the old one.
            Tag::RPATH | Tag::RUNPATH => entries.extend(path.take()),
            Tag::AUDIT if audit.is_some() => entries.extend(audit.take()),
            _ => entries.push(*entry),
        }
    }
    if old.is_empty() {
        entries.extend(needed.iter().copied());
    }
    entries.extend(path);
    entries.extend(audit);
    // Entry counts in memory: no overflow.
    let old_capacity = dynamic.len().wrapping_add(dynamic.spare_entries()).wrapping_add(1);
    let dynamic_moves = entries.len() >= old_capacity;
    Ok(Content {
        added_strings: strings.added,
        old_strings: strings.size,
        capacity: if dynamic_moves { entries.len().wrapping_add(SPARE) } else { old_capacity },
        entries,
        dynamic_moves,
        note: edit.loaded_note.clone(),
    })
}

/// The strings of a file and the added ones.
struct Strings {
    size: u64,
    /// Offsets of wanted strings, existing or added.
    known: HashMap<Vec<u8>, u64>,
    added: Vec<u8>,
}

impl Strings {
    fn of(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, edit: &SearchEdit) -> Result<Self, Refusal> {
        let wanted = edit.needed.iter().chain(edit.path.as_ref().map(|path| &path.text)).chain(&edit.audit);
        let wanted: HashMap<&[u8], ()> = wanted.map(|name| (name.as_slice(), ())).collect();
        if wanted.keys().any(|name| name.contains(&0)) {
            return Err(Refusal::Layout("a new name contains a zero byte".to_owned()));
        }
        let size = dynamic.get(Tag::STRSZ).unwrap_or(0);
        let address = coldstart_elf::Vaddr(dynamic.get(Tag::STRTAB).unwrap_or(0));
        let bytes = file.memory_bytes("dynamic strings", address, size)?;
        if bytes.last().is_some_and(|last| *last != 0) {
            return Err(Refusal::Layout("its last dynamic string is not terminated".to_owned()));
        }
        let mut known = HashMap::new();
        let mut at = 0_u64;
        for name in bytes.split(|byte| *byte == 0) {
            if wanted.contains_key(name) {
                known.entry(name.to_vec()).or_insert(at);
            }
            // A place in bytes that are in memory, as below: it does not wrap.
            at = at.wrapping_add(name.len() as u64).wrapping_add(1);
        }
        // The part after the last zero is not a string.
        known.retain(|_, place| *place < size);
        Ok(Self { size, known, added: Vec::new() })
    }

    /// Offset of a name; adds it if needed.
    fn place(&mut self, name: &[u8]) -> u64 {
        if let Some(place) = self.known.get(name) {
            return *place;
        }
        let place = self.size.wrapping_add(self.added.len() as u64);
        self.added.extend(name);
        self.added.push(0);
        self.known.insert(name.to_vec(), place);
        place
    }
}
