//! Android's packed relocations ("APS2"), as bionic's loader reads them (`bionic/linker/linker_reloc_iterators.h`).
//!
//! They are a stream of SLEB128 numbers in groups; a group stores the fields that its relocations share. A group may
//! share every field, and then its relocations take no bytes: a file of 20 bytes can contain 2^63 of them. So nothing
//! is unpacked in advance, and the caller sets the limit.

use std::iter::FusedIterator;

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::{Class, Encoding};
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::relocation::{Relocation, split_info};

const TABLE: &str = "the Android packed relocations";
const MAGIC: &[u8] = b"APS2";

/// `RELOCATION_GROUPED_BY_INFO_FLAG`: one `r_info` for the group.
const GROUPED_BY_INFO: u64 = 1;
/// `RELOCATION_GROUPED_BY_OFFSET_DELTA_FLAG`: the same offset delta throughout the group.
const GROUPED_BY_OFFSET_DELTA: u64 = 2;
/// `RELOCATION_GROUPED_BY_ADDEND_FLAG`: one addend for the group; counts only beside the next flag.
const GROUPED_BY_ADDEND: u64 = 4;
/// `RELOCATION_GROUP_HAS_ADDEND_FLAG`: without it the group's addends are 0.
const GROUP_HAS_ADDEND: u64 = 8;

/// Where a packed relocation's addend is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackedForm {
    /// `DT_ANDROID_REL`: in the relocated word.
    Rel,
    /// `DT_ANDROID_RELA`: in the stream.
    Rela,
}

/// A relocation from the packed stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedRelocation {
    /// `r_offset`: the address of the relocated word.
    pub offset: Vaddr,
    /// `r_info` as a relocation table of this class holds it: symbol and type in one number.
    pub info: u64,
    /// `r_addend`; `None` in [`PackedForm::Rel`].
    pub addend: Option<i64>,
}

impl PackedRelocation {
    /// Converts to the terms of ordinary tables; `encoding` is the file's.
    pub fn relocation(&self, encoding: Encoding) -> Relocation {
        let (symbol, kind) = split_info(self.info, encoding);
        Relocation { offset: self.offset, symbol, kind, addend: self.addend }
    }
}

/// A packed relocation table, in place in the file.
#[derive(Clone, Copy, Debug)]
pub struct PackedRelocations<'data> {
    form: PackedForm,
    count: u64,
    first_offset: u64,
    /// After the two numbers at the beginning.
    groups: Stream<'data>,
    file_offset: FileOffset,
    size: u64,
}

impl<'data> PackedRelocations<'data> {
    /// Reads the beginning of the table in `bytes`, which begin at `file_offset` in the file.
    ///
    /// # Errors
    /// If the magic number or one of the two numbers after it is missing.
    pub fn parse(bytes: &'data [u8], file_offset: FileOffset, encoding: Encoding, form: PackedForm) -> Result<Self> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            let problem = "missing magic number APS2";
            return Err(ElfError::Malformed { table: TABLE, offset: file_offset, problem });
        };
        let position = FileOffset(file_offset.0.saturating_add(MAGIC.len() as u64));
        let mut groups = Stream { bytes: rest, position, class: encoding.class };
        let count = groups.word()?;
        let first_offset = groups.word()?;
        Ok(Self { form, count, first_offset, groups, file_offset, size: bytes.len() as u64 })
    }

    /// The relocation count that the table states. It is unbounded: check it before walking the table, and never
    /// allocate by it.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether the stated count is 0.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Where the addends are stored.
    pub fn form(&self) -> PackedForm {
        self.form
    }

    /// Where in the file it begins.
    pub fn file_offset(&self) -> FileOffset {
        self.file_offset
    }

    /// Size of the packed table in bytes, the magic number included.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The relocations in order, unpacked one at a time.
    ///
    /// There are at most [`PackedRelocations::count`] of them. An error is the last item.
    pub fn iter(&self) -> PackedRelocationIter<'data> {
        PackedRelocationIter {
            form: self.form,
            stream: self.groups,
            unread: self.count,
            group: Group::default(),
            offset: self.first_offset,
            info: 0,
            addend: 0,
        }
    }
}

impl<'data> IntoIterator for &PackedRelocations<'data> {
    type Item = Result<PackedRelocation>;
    type IntoIter = PackedRelocationIter<'data>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'data> ElfFile<'data> {
    /// The packed relocations that the dynamic table names in this form; `None` if it names none.
    ///
    /// # Errors
    /// If the table is not within the part of one segment that comes from the file, or does not begin as it should.
    pub fn android_packed_relocations(
        &self,
        dynamic: &DynamicTable<'_>,
        form: PackedForm,
    ) -> Result<Option<PackedRelocations<'data>>> {
        let (address_tag, size_tag) = match form {
            PackedForm::Rel => (Tag::ANDROID_REL, Tag::ANDROID_RELSZ),
            PackedForm::Rela => (Tag::ANDROID_RELA, Tag::ANDROID_RELASZ),
        };
        let Some(address) = dynamic.get(address_tag).map(Vaddr) else { return Ok(None) };
        let bytes = self.memory_bytes(TABLE, address, dynamic.get(size_tag).unwrap_or(0))?;
        let file_offset = self.offset_of(address).unwrap_or_default();
        PackedRelocations::parse(bytes, file_offset, self.encoding(), form).map(Some)
    }
}

/// The relocations of a [`PackedRelocations`] in order; see [`PackedRelocations::iter`].
///
/// Its `size_hint` stays (0, None) on purpose: the count in the file must not decide how much `collect` allocates.
#[derive(Clone, Debug)]
pub struct PackedRelocationIter<'data> {
    form: PackedForm,
    stream: Stream<'data>,
    /// Remaining relocations, including those of the current group.
    unread: u64,
    group: Group,
    // The next relocation's fields are differences to these.
    offset: u64,
    info: u64,
    addend: i64,
}

/// The fields that a group's relocations share.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    unread: u64,
    /// `None`: each relocation has its own.
    offset_delta: Option<u64>,
    info_is_shared: bool,
    addends_follow: bool,
}

impl PackedRelocationIter<'_> {
    fn open_group(&mut self) -> Result<()> {
        let start = self.stream.position;
        let malformed = |problem| Err(ElfError::Malformed { table: TABLE, offset: start, problem });
        let size = self.stream.word()?;
        // Bionic would apply them all; llvm-readelf refuses. No linker writes this, so the count or the group is
        // wrong.
        if size > self.unread {
            return malformed("a group has more relocations than the table");
        }
        // Undefined flags are ignored, as bionic does.
        let flags = self.stream.word()?;
        let has = |flag| flags & flag != 0;
        let offset_delta = if has(GROUPED_BY_OFFSET_DELTA) { Some(self.stream.word()?) } else { None };
        if has(GROUPED_BY_INFO) {
            self.info = self.stream.word()?;
        }
        match self.form {
            PackedForm::Rel if has(GROUP_HAS_ADDEND) => {
                return malformed("a group has addends, but the table is a DT_ANDROID_REL one");
            }
            PackedForm::Rela if !has(GROUP_HAS_ADDEND) => self.addend = 0,
            PackedForm::Rela if has(GROUPED_BY_ADDEND) => self.addend = self.next_addend()?,
            PackedForm::Rel | PackedForm::Rela => {}
        }
        let addends_follow = has(GROUP_HAS_ADDEND) && !has(GROUPED_BY_ADDEND);
        self.group = Group { unread: size, offset_delta, info_is_shared: has(GROUPED_BY_INFO), addends_follow };
        Ok(())
    }

    /// The stream stores the difference from the previous addend. The loader adds in its own word width.
    fn next_addend(&mut self) -> Result<i64> {
        let addend = self.addend.wrapping_add(self.stream.number()?);
        Ok(match self.stream.class {
            Class::Elf32 => i64::from(addend as i32),
            Class::Elf64 => addend,
        })
    }

    fn read_one(&mut self) -> Result<PackedRelocation> {
        // An empty group still consumes bytes, so this loop ends.
        while self.group.unread == 0 {
            self.open_group()?;
        }
        let delta = match self.group.offset_delta {
            Some(delta) => delta,
            None => self.stream.word()?,
        };
        self.offset = self.stream.cut_to_word(self.offset.wrapping_add(delta));
        if !self.group.info_is_shared {
            self.info = self.stream.word()?;
        }
        if self.group.addends_follow {
            self.addend = self.next_addend()?;
        }
        self.group.unread = self.group.unread.saturating_sub(1);
        self.unread = self.unread.saturating_sub(1);
        let addend = (self.form == PackedForm::Rela).then_some(self.addend);
        Ok(PackedRelocation { offset: Vaddr(self.offset), info: self.info, addend })
    }
}

impl Iterator for PackedRelocationIter<'_> {
    type Item = Result<PackedRelocation>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.unread == 0 {
            return None;
        }
        let relocation = self.read_one();
        if relocation.is_err() {
            self.unread = 0;
        }
        Some(relocation)
    }
}

impl FusedIterator for PackedRelocationIter<'_> {}

/// SLEB128 numbers, back to back (DWARF 5, section 7.6).
#[derive(Clone, Copy, Debug)]
struct Stream<'data> {
    bytes: &'data [u8],
    position: FileOffset,
    class: Class,
}

impl Stream<'_> {
    /// The next number.
    fn number(&mut self) -> Result<i64> {
        let malformed = |problem| ElfError::Malformed { table: TABLE, offset: self.position, problem };
        let mut value = 0u64;
        let mut shift = 0u32;
        let mut rest = self.bytes;
        let mut used = 0u64;
        loop {
            let Some((&byte, behind)) = rest.split_first() else { return Err(malformed("truncated number")) };
            rest = behind;
            used = used.saturating_add(1);
            let payload = u64::from(byte & 0x7f);
            // The tenth byte holds bit 63 and copies of it; anything else would be lost silently.
            if shift > 63 || (shift == 63 && payload != 0 && payload != 0x7f) {
                return Err(malformed("a number is wider than 64 bits"));
            }
            value |= payload.wrapping_shl(shift);
            shift = shift.saturating_add(7);
            if byte & 0x80 == 0 {
                if byte & 0x40 != 0 && shift < 64 {
                    value |= u64::MAX.wrapping_shl(shift);
                }
                break;
            }
        }
        self.bytes = rest;
        self.position = FileOffset(self.position.0.saturating_add(used));
        Ok(value as i64)
    }

    /// The next number as bionic reads it: as a `size_t` of the file's class.
    fn word(&mut self) -> Result<u64> {
        let number = self.number()?;
        Ok(self.cut_to_word(number as u64))
    }

    fn cut_to_word(&self, value: u64) -> u64 {
        match self.class {
            Class::Elf32 => u64::from(value as u32),
            Class::Elf64 => value,
        }
    }
}

#[cfg(test)]
mod tests;
