//! `GLIBC_ABI_DT_RELR`: the version that makes a loader without RELR refuse a file; glibc requires it.
//!
//! glibc's loader refuses `DT_RELR` in an object that has a `DT_VERNEED` of any library and needs libc.so.6, but not
//! this version (glibc 2.36, `elf/dl-version.c`). Other objects load without it.

use coldstart_elf::{DynamicTable, ElfFile, Encoding, Tag, Vaddr, VersionTable, sysv_hash};

use crate::layout::{put, u16_bytes, u32_bytes};
use crate::refusal::Refusal;

/// The version's name.
pub(crate) const GUARD: &str = "GLIBC_ABI_DT_RELR";
/// The library that defines it.
const LIBC: &[u8] = b"libc.so.6";

/// How glibc recognises the C library among the needed ones.
const ANY_LIBC: &[u8] = b"libc.so.";

/// Size of a `Verneed` and of a `Vernaux`, in bytes, for both classes (LSB core, 10.7.2).
const RECORD: u64 = 16;
/// Limit on the records of one table.
const MANY: usize = 1 << 16;

/// The file's version requirements.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Guard {
    /// No loader needs to know anything: the stub relocates the file.
    NotNeeded,
    /// It needs no version of libc.so.6.
    NotDemanded,
    /// It already needs the guard.
    Present,
    /// It is added.
    Added(Added),
}

/// A version table with the guard. Its name must be appended to the strings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) table: Vec<u8>,
    /// Offset of the new record in the table, in bytes.
    pub(super) place: u64,
    /// Its size in bytes.
    pub(super) size: u64,
}

/// The version table with the guard in it.
pub(super) fn with_guard(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<Guard, Refusal> {
    let versions = VersionTable::parse(file, dynamic)?;
    let Some(libc) = versions.needed().iter().find(|needed| needed.file == LIBC) else {
        return without_libc(file, dynamic);
    };
    if libc.versions.iter().any(|version| version.name == GUARD.as_bytes()) {
        return Ok(Guard::Present);
    }
    let of_needed = versions.needed().iter().flat_map(|needed| &needed.versions).map(|version| version.index);
    let of_defined = versions.defined().iter().map(|defined| defined.index);
    // The highest bit hides a symbol, and 0 and 1 are reserved.
    let largest = of_needed.chain(of_defined).map(|index| index & 0x7fff).max().unwrap_or(1).max(1);
    // glibc reserves space for this many versions; larger indices would be out of bounds.
    let mut symbols = (0..).take(file.dynamic_symbols(dynamic)?.len());
    if symbols.any(|symbol| versions.version_of(symbol).is_some_and(|version| version.index > largest)) {
        return Err(Refusal::Layout("a symbol has an undefined version index".to_owned()));
    }
    let index = largest.checked_add(1).filter(|index| *index < 0x7fff);
    let index = index.ok_or(Refusal::NoVersionNumber)?;
    let table = crate::anatomy::tables::find(file, dynamic, Tag::VERNEED)?;
    let table = table.ok_or(Refusal::TableIsNoSection {
        table: "DT_VERNEED",
        address: Vaddr(dynamic.get(Tag::VERNEED).unwrap_or(0)),
        hint: "",
    })?;
    let bytes = file.memory_bytes("DT_VERNEED", table.memory.start(), table.memory.size())?;
    let name_at = dynamic.get(Tag::STRSZ).and_then(|size| u32::try_from(size).ok());
    let name_at = name_at.ok_or_else(|| Refusal::Layout("its string table is too large".to_owned()))?;
    let strings = file.dynamic_strings(dynamic)?;
    let editor = Editor { encoding: file.encoding(), bytes };
    let is_libc = |name: u32| strings.get(name.into()) == Some(LIBC);
    editor
        .add(is_libc, index, name_at)
        .map(Guard::Added)
        .ok_or_else(|| Refusal::Layout("its version table (DT_VERNEED) is malformed".to_owned()))
}

/// The requirement for an object that needs no version of libc.so.6.
fn without_libc(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>) -> Result<Guard, Refusal> {
    let strings = file.dynamic_strings(dynamic)?;
    let needs_libc =
        dynamic.all(Tag::NEEDED).any(|name| strings.get(name).is_some_and(|name| name.starts_with(ANY_LIBC)));
    if needs_libc && dynamic.get(Tag::VERNEED).is_some() {
        let problem = "it needs libc.so.6 but no version of it: glibc does not load it with DT_RELR";
        return Err(Refusal::Layout(problem.to_owned()));
    }
    Ok(Guard::NotDemanded)
}

/// An editor for tables of needed versions: records with distances to the next one.
struct Editor<'data> {
    encoding: Encoding,
    bytes: &'data [u8],
}

impl Editor<'_> {
    /// The table with one more version of the file for which `is_libc` holds.
    fn add(&self, is_libc: impl Fn(u32) -> bool, index: u16, name_at: u32) -> Option<Added> {
        let mut files = Vec::new();
        let mut versions = Vec::new();
        let mut libc = None;
        let mut at = 0_u64;
        loop {
            let first = at.checked_add(self.u32(at.checked_add(8)?)?.into())?;
            let mut last = first;
            versions.push(last);
            while let next @ 1.. = self.u32(last.checked_add(12)?)? {
                last = last.checked_add(next.into())?;
                versions.push(last);
                if versions.len() > MANY {
                    return None;
                }
            }
            if is_libc(self.u32(at.checked_add(4)?)?) {
                libc = Some((at, last));
            }
            files.push(at);
            match self.u32(at.checked_add(12)?)? {
                0 => break,
                next => at = at.checked_add(next.into())?,
            }
        }
        // Lists that share records cannot be extended.
        let mut records = [files.as_slice(), &versions].concat();
        records.sort_unstable();
        if records.windows(2).any(|pair| matches!(pair, [one, next] if next.abs_diff(*one) < RECORD)) {
            return None;
        }
        let (libc, last) = libc?;
        let place = last.checked_add(RECORD)?;
        let (before, behind) = self.bytes.split_at_checked(usize::try_from(place).ok()?)?;
        let mut changed = self.bytes.to_vec();
        // A distance across the new record grows by its size.
        let mut stretch = |record: u64, field: u64| {
            let at = record.checked_add(field)?;
            let distance = self.u32(at)?;
            let crosses = record < place && distance != 0 && record.checked_add(distance.into())? >= place;
            if crosses {
                self.put_u32(&mut changed, at, distance.checked_add(RECORD as u32)?);
            }
            Some(())
        };
        for file in &files {
            stretch(*file, 8)?;
            stretch(*file, 12)?;
        }
        for version in &versions {
            stretch(*version, 12)?;
        }
        self.put_u32(&mut changed, last.checked_add(12)?, RECORD as u32);
        let count = self.u16(libc.checked_add(2)?)?.checked_add(1)?;
        self.put_u16(&mut changed, libc.checked_add(2)?, count);
        let mut record = vec![0; RECORD as usize];
        self.put_u32(&mut record, 0, sysv_hash(GUARD.as_bytes()));
        self.put_u16(&mut record, 6, index);
        self.put_u32(&mut record, 8, name_at);
        let (changed_before, _) = changed.split_at_checked(before.len())?;
        let (_, changed_behind) = changed.split_at_checked(self.bytes.len().checked_sub(behind.len())?)?;
        Some(Added { table: [changed_before, &record, changed_behind].concat(), place, size: RECORD })
    }

    fn u32(&self, at: u64) -> Option<u32> {
        self.encoding.u32(self.bytes.get(usize::try_from(at).ok()?..)?)
    }

    fn u16(&self, at: u64) -> Option<u16> {
        self.encoding.u16(self.bytes.get(usize::try_from(at).ok()?..)?)
    }

    fn put_u32(&self, bytes: &mut [u8], at: u64, value: u32) {
        put(bytes, usize::try_from(at).unwrap_or(usize::MAX), &u32_bytes(self.encoding, value));
    }

    fn put_u16(&self, bytes: &mut [u8], at: u64, value: u16) {
        put(bytes, usize::try_from(at).unwrap_or(usize::MAX), &u16_bytes(self.encoding, value));
    }
}
