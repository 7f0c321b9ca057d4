//! The records of the version tables as stored. All have the same layout in 32- and 64-bit files.
//!
//! LSB Core, "Symbol Versioning"; `Elfxx_Verneed`, `Elfxx_Vernaux`, `Elfxx_Verdef`, `Elfxx_Verdaux`.

use object::elf;
use object::endian::Endianness;

use crate::address::FileOffset;
use crate::encoding::{Encoding, raw};
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::strings::{NameRoom, Strings};

/// Bit of `DT_VERSYM` and `vna_other`: the version is chosen only by those who ask for it.
pub(crate) const HIDDEN: u16 = elf::VERSYM_HIDDEN.0;

/// A needed file, and its list of versions.
pub(crate) struct NeededRecord {
    pub(crate) file: u32,
    pub(crate) count: u16,
    pub(crate) first: u32,
    pub(crate) next: u32,
}

/// A needed version.
pub(crate) struct NeededVersionRecord {
    pub(crate) hash: u32,
    pub(crate) flags: u16,
    pub(crate) index: u16,
    pub(crate) name: u32,
    pub(crate) next: u32,
}

/// A defined version and its list of names: its own, and those of its parents.
pub(crate) struct DefinedRecord {
    pub(crate) flags: u16,
    pub(crate) index: u16,
    pub(crate) count: u16,
    pub(crate) hash: u32,
    pub(crate) first: u32,
    pub(crate) next: u32,
}

/// A name of a defined version.
pub(crate) struct DefinedNameRecord {
    pub(crate) name: u32,
    pub(crate) next: u32,
}

/// A version table: a linked list of records, each with the distance to the next one.
///
/// Distances are positive, so a list cannot loop. But lists may share records, and a hostile file can have a long
/// list at each step of another: `left` limits the records read in total, and `room` their names.
pub(crate) struct Records<'data> {
    name: &'static str,
    bytes: &'data [u8],
    file_offset: FileOffset,
    encoding: Encoding,
    left: usize,
    room: NameRoom,
}

impl<'data> Records<'data> {
    /// The table in `bytes` of `file`, which begin at `file_offset` and may continue after it.
    pub(crate) fn new(name: &'static str, bytes: &'data [u8], file_offset: FileOffset, file: &ElfFile<'_>) -> Self {
        let encoding = file.encoding();
        // No record has fewer than 8 bytes, and none is in two lists.
        let left = bytes.len() / 8;
        Self { name, bytes, file_offset, encoding, left, room: NameRoom::of(file) }
    }

    pub(crate) fn needed(&mut self, at: u64) -> Result<NeededRecord> {
        let (record, endian) = self.read::<elf::Verneed<Endianness>>(at)?;
        Ok(NeededRecord {
            file: record.vn_file.get(endian),
            count: record.vn_cnt.get(endian),
            first: record.vn_aux.get(endian),
            next: record.vn_next.get(endian),
        })
    }

    pub(crate) fn needed_version(&mut self, at: u64) -> Result<NeededVersionRecord> {
        let (record, endian) = self.read::<elf::Vernaux<Endianness>>(at)?;
        Ok(NeededVersionRecord {
            hash: record.vna_hash.get(endian),
            flags: record.vna_flags.get(endian).0,
            index: record.vna_other.get(endian).0,
            name: record.vna_name.get(endian),
            next: record.vna_next.get(endian),
        })
    }

    pub(crate) fn defined(&mut self, at: u64) -> Result<DefinedRecord> {
        let (record, endian) = self.read::<elf::Verdef<Endianness>>(at)?;
        Ok(DefinedRecord {
            flags: record.vd_flags.get(endian).0,
            index: record.vd_ndx.get(endian).0,
            count: record.vd_cnt.get(endian),
            hash: record.vd_hash.get(endian),
            first: record.vd_aux.get(endian),
            next: record.vd_next.get(endian),
        })
    }

    pub(crate) fn defined_name(&mut self, at: u64) -> Result<DefinedNameRecord> {
        let (record, endian) = self.read::<elf::Verdaux<Endianness>>(at)?;
        Ok(DefinedNameRecord { name: record.vda_name.get(endian), next: record.vda_next.get(endian) })
    }

    /// The string that the record at `at` refers to.
    pub(crate) fn string(&mut self, strings: &Strings<'data>, offset: u32, at: u64) -> Result<&'data [u8]> {
        let name = strings.get(offset.into());
        let name = name.ok_or_else(|| self.malformed(at, "the entry's name is outside the string table"))?;
        self.room.take(name)?;
        Ok(name)
    }

    fn read<T: object::pod::Pod>(&mut self, at: u64) -> Result<(&'data T, Endianness)> {
        let shared = "an entry is in more than one list";
        self.left = self.left.checked_sub(1).ok_or_else(|| self.malformed(at, shared))?;
        let bytes = usize::try_from(at).ok().and_then(|at| self.bytes.get(at..));
        let record = bytes.and_then(raw::<T>);
        let record = record.ok_or_else(|| self.malformed(at, "the entry is not within the segment"))?;
        Ok((record, self.encoding.endian()))
    }

    fn malformed(&self, at: u64, problem: &'static str) -> ElfError {
        let offset = FileOffset(self.file_offset.0.saturating_add(at));
        ElfError::Malformed { table: self.name, offset, problem }
    }
}
