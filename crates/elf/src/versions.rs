//! Symbol versions: the needed ones by library, the defined ones, and the version of each symbol.
//!
//! The loader checks at the start that every needed version exists, before any symbol lookup. A version's index is
//! local to the object; `DT_VERSYM` holds one for each symbol. See glibc `elf/dl-version.c`.

use object::elf;

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::Encoding;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::strings::Strings;
use crate::version_records::{HIDDEN, Records};

const NEEDED: &str = "the table of needed versions";
const DEFINED: &str = "the table of defined versions";

/// A library and the versions needed from it (`DT_VERNEED`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededFile<'data> {
    /// Its name, as in `DT_NEEDED`.
    pub file: &'data [u8],
    /// The versions, in order.
    pub versions: Vec<NeededVersion<'data>>,
}

/// A needed version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededVersion<'data> {
    /// Its name, such as `GLIBC_2.34`.
    pub name: &'data [u8],
    /// The hash of its name as stored; the loader compares it before the names.
    pub hash: u32,
    /// Whether the program starts without it (`VER_FLG_WEAK`).
    pub is_weak: bool,
    /// Its index in this object, 2 or larger.
    pub index: u16,
}

/// A defined version (`DT_VERDEF`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedVersion<'data> {
    /// Its name.
    pub name: &'data [u8],
    /// The hash of its name as stored.
    pub hash: u32,
    /// Whether it is the file's own entry (`VER_FLG_BASE`): its name is the soname, and no symbol refers to it.
    pub is_base: bool,
    /// Whether it exists for weak references only (`VER_FLG_WEAK`).
    pub is_weak: bool,
    /// Its index in this object; 1 for the file itself.
    pub index: u16,
    /// Names of its parent versions.
    pub parents: Vec<&'data [u8]>,
}

/// The version of a symbol: its entry in `DT_VERSYM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SymbolVersion {
    /// Version index in this object: 0 for local symbols, 1 for unversioned ones.
    pub index: u16,
    /// Whether the symbol is hidden: only references to this exact version bind to it (`name@VERSION` instead of
    /// `name@@VERSION`).
    pub is_hidden: bool,
}

/// The version behind an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionName<'data> {
    /// The version's name.
    pub name: &'data [u8],
    /// The library that provides it; `None` if this object defines it.
    pub file: Option<&'data [u8]>,
}

/// The version tables of an object.
#[derive(Clone, Debug)]
pub struct VersionTable<'data> {
    encoding: Encoding,
    needed: Vec<NeededFile<'data>>,
    defined: Vec<DefinedVersion<'data>>,
    /// By number; at most 32768.
    names: Vec<Option<VersionName<'data>>>,
    /// `DT_VERSYM` and the bytes after it in the segment: the table does not state its length.
    symbols: &'data [u8],
}

impl<'data> VersionTable<'data> {
    /// The version tables that the dynamic table refers to; missing ones are empty.
    ///
    /// # Errors
    /// If a table is in no segment, or an entry is outside it, has a name outside the string table, or is in several
    /// lists.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Self> {
        let strings = file.dynamic_strings(dynamic)?;
        let needed = match records(file, dynamic, NEEDED, Tag::VERNEED)? {
            Some(records) => read_needed(records, &strings, count(dynamic, Tag::VERNEEDNUM))?,
            None => Vec::new(),
        };
        let defined = match records(file, dynamic, DEFINED, Tag::VERDEF)? {
            Some(records) => read_defined(records, &strings, count(dynamic, Tag::VERDEFNUM))?,
            None => Vec::new(),
        };
        let names = names(&needed, &defined);
        let symbols = dynamic.get(Tag::VERSYM).and_then(|address| file.memory_from(Vaddr(address)));
        Ok(Self { encoding: file.encoding(), needed, defined, names, symbols: symbols.unwrap_or_default() })
    }

    /// The libraries with needed versions, in order.
    pub fn needed(&self) -> &[NeededFile<'data>] {
        &self.needed
    }

    /// The defined versions in order, including the file's own.
    pub fn defined(&self) -> &[DefinedVersion<'data>] {
        &self.defined
    }

    /// Whether symbols have versions (`DT_VERSYM`).
    pub fn has_symbol_versions(&self) -> bool {
        !self.symbols.is_empty()
    }

    /// The version of the symbol at index `symbol`, which must be valid: the table does not state its length. `None`
    /// if symbols have no versions.
    pub fn version_of(&self, symbol: u32) -> Option<SymbolVersion> {
        let start = usize::try_from(u64::from(symbol).checked_mul(2)?).ok()?;
        let value = self.encoding.u16(self.symbols.get(start..)?)?;
        Some(SymbolVersion { index: value & !HIDDEN, is_hidden: value & HIDDEN != 0 })
    }

    /// The version at an index. `None` for 0 and for undefined indices; 1 refers to the file itself and has a name
    /// only if the file defines versions.
    pub fn name_of(&self, index: u16) -> Option<VersionName<'data>> {
        self.names.get(usize::from(index)).copied().flatten()
    }
}

/// The entry count that the dynamic table states. Without one, only the list itself tells.
fn count(dynamic: &DynamicTable<'_>, tag: Tag) -> u64 {
    dynamic.get(tag).unwrap_or(u64::MAX)
}

fn records<'data>(
    file: &ElfFile<'data>,
    dynamic: &DynamicTable<'_>,
    name: &'static str,
    tag: Tag,
) -> Result<Option<Records<'data>>> {
    let Some(address) = dynamic.get(tag).map(Vaddr) else { return Ok(None) };
    // The smallest table has one record, of 16 bytes or more.
    let rest = file.memory_from(address).ok_or(ElfError::Unmapped { table: name, address, needed: 16 })?;
    let offset: FileOffset = file.offset_of(address).unwrap_or_default();
    Ok(Some(Records::new(name, rest, offset, file)))
}

/// The offset at `distance` from `at`. An offset past the end is detected when the record is read.
fn step(at: u64, distance: u32) -> u64 {
    at.saturating_add(distance.into())
}

fn read_needed<'data>(
    mut records: Records<'data>,
    strings: &Strings<'data>,
    count: u64,
) -> Result<Vec<NeededFile<'data>>> {
    let (mut files, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let file = records.needed(at)?;
        let mut versions = Vec::new();
        let mut version_at = step(at, file.first);
        for _ in 0..file.count {
            let version = records.needed_version(version_at)?;
            versions.push(NeededVersion {
                name: records.string(strings, version.name, version_at)?,
                hash: version.hash,
                is_weak: version.flags & elf::VER_FLG_WEAK.0 != 0,
                index: version.index & !HIDDEN,
            });
            if version.next == 0 {
                break;
            }
            version_at = step(version_at, version.next);
        }
        files.push(NeededFile { file: records.string(strings, file.file, at)?, versions });
        if file.next == 0 {
            break;
        }
        at = step(at, file.next);
    }
    Ok(files)
}

fn read_defined<'data>(
    mut records: Records<'data>,
    strings: &Strings<'data>,
    count: u64,
) -> Result<Vec<DefinedVersion<'data>>> {
    let (mut versions, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let version = records.defined(at)?;
        let mut names = Vec::new();
        let mut name_at = step(at, version.first);
        for _ in 0..version.count {
            let name = records.defined_name(name_at)?;
            names.push(records.string(strings, name.name, name_at)?);
            if name.next == 0 {
                break;
            }
            name_at = step(name_at, name.next);
        }
        let mut names = names.into_iter();
        versions.push(DefinedVersion {
            name: names.next().unwrap_or_default(),
            hash: version.hash,
            is_base: version.flags & elf::VER_FLG_BASE.0 != 0,
            is_weak: version.flags & elf::VER_FLG_WEAK.0 != 0,
            index: version.index & !HIDDEN,
            parents: names.collect(),
        });
        if version.next == 0 {
            break;
        }
        at = step(at, version.next);
    }
    Ok(versions)
}

/// Names by index. If two versions have the same index, the defined one wins, because glibc enters those last.
fn names<'data>(needed: &[NeededFile<'data>], defined: &[DefinedVersion<'data>]) -> Vec<Option<VersionName<'data>>> {
    let defined = defined.iter().map(|version| (version.index, VersionName { name: version.name, file: None }));
    let needed = needed.iter().flat_map(|file| {
        let name = |version: &NeededVersion<'data>| VersionName { name: version.name, file: Some(file.file) };
        file.versions.iter().map(move |version| (version.index, name(version)))
    });
    let mut names = Vec::new();
    for (index, name) in needed.chain(defined) {
        let index = usize::from(index);
        if names.len() <= index {
            names.resize(index.saturating_add(1), None);
        }
        if let Some(place) = names.get_mut(index) {
            *place = Some(name);
        }
    }
    names
}

#[cfg(test)]
mod tests;
