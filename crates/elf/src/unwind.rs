//! Start and end of functions, from the unwind tables (`.eh_frame`), which stripped files have too.
//!
//! They serve exceptions and stack traces, and compilers write them for nearly every function. Entries are found as
//! at run time: through `PT_GNU_EH_FRAME` and its search table, so no section is needed.

use std::ops::Range;

use gimli::{BaseAddresses, EhFrame, EhFrameOffset, RunTimeEndian, UnwindSection};

use crate::address::{FileOffset, Vaddr};
use crate::debug_file::is_debug_file;
use crate::dynamic::Tag;
use crate::encoding::{ByteOrder, Encoding};
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::header::FileType;
use crate::segment::SegmentKind;
use crate::unwind_entries::{Entries, Reader, UnwindEntry};
use crate::unwind_search::{SearchHeader, SearchTable};

const NAME: &str = "the unwind tables";
/// Entries that start at the same address and are tried one by one: empty ones come from code that the linker
/// dropped. More would let a hostile file make each search slow.
const TRIED_ENTRIES: usize = 8;

/// The unwind tables of an object.
#[derive(Clone, Debug)]
pub struct UnwindTable<'data> {
    bytes: &'data [u8],
    frames: EhFrame<Reader<'data>>,
    frames_address: Vaddr,
    bases: BaseAddresses,
    encoding: Encoding,
    /// Whether a section says where the entries end, so that a zero among them does not.
    has_section: bool,
    index: Index<'data>,
}

/// How to find the entry of an address.
#[derive(Clone, Debug)]
enum Index<'data> {
    /// Through the file's own search table.
    Table(SearchTable<'data>),
    /// Through a sorted list of all entries, built when the tables were opened.
    List(Vec<(Vaddr, u64)>),
}

impl<'data> UnwindTable<'data> {
    /// Opens the unwind tables. Without a search table, all entries are read once. `None` without unwind tables, and
    /// for relocatable and debug files, which lack the addresses or the bytes.
    ///
    /// # Errors
    /// If the search table (or, without one, an entry) is malformed, or if they are not in a segment.
    pub fn parse(file: &ElfFile<'data>) -> Result<Option<Self>> {
        if file.header().file_type == FileType::Relocatable || is_debug_file(file) {
            return Ok(None);
        }
        let Some(segment) = file.segment(SegmentKind::EhFrameHeader).filter(|segment| segment.file_size > 0) else {
            return Self::without_header(file);
        };
        let bytes = file.file_bytes("the search table of the unwind tables", segment.offset, segment.file_size)?;
        let header = SearchHeader::parse(bytes, segment.address, segment.offset, file.encoding())?;
        let frames = Frames::at(file, header.frames)?;
        frames.open(header.table).map(Some)
    }

    /// A program linked without the header registers its tables itself; only the section gives their address.
    fn without_header(file: &ElfFile<'data>) -> Result<Option<Self>> {
        let section = file.section(".eh_frame").filter(|section| section.header.is_loaded());
        let Some(section) = section.filter(|section| section.header.file_size() > 0) else { return Ok(None) };
        Frames::at(file, section.header.address)?.open(None).map(Some)
    }

    /// Number of entries: functions, or parts of functions that were moved apart.
    pub fn entry_count(&self) -> usize {
        match &self.index {
            Index::Table(table) => table.len(),
            Index::List(list) => list.len(),
        }
    }

    /// Size of the file's search table in bytes; `None` without one.
    pub fn search_table_size(&self) -> Option<u64> {
        match &self.index {
            Index::Table(table) => Some(table.byte_size()),
            Index::List(_) => None,
        }
    }

    /// Address of the entries (`.eh_frame`).
    pub fn address(&self) -> Vaddr {
        self.frames_address
    }

    /// The function (or part of one) that contains `address`; `None` without a well-formed entry. Takes logarithmic
    /// time.
    pub fn function_at(&self, address: Vaddr) -> Option<Range<Vaddr>> {
        match &self.index {
            Index::Table(table) => {
                let mut pairs = table.backwards_from(address).take(TRIED_ENTRIES).peekable();
                let (nearest, _) = *pairs.peek()?;
                let same_start = pairs.take_while(|(start, _)| *start == nearest);
                let mut ranges = same_start.filter_map(|(_, entry)| self.range_of(entry));
                ranges.find(|range| range.contains(&address))
            }
            Index::List(list) => {
                let behind = list.partition_point(|(start, _)| *start <= address);
                let (start, size) = *list.get(behind.checked_sub(1)?)?;
                Some(start..start.checked_add(size)?).filter(|range| range.contains(&address))
            }
        }
    }

    /// The start addresses of all functions and parts, ascending.
    pub fn functions(&self) -> impl Iterator<Item = Vaddr> {
        (0..self.entry_count()).filter_map(|number| match &self.index {
            Index::Table(table) => table.get(number).map(|(start, _)| start),
            Index::List(list) => list.get(number).map(|(start, _)| *start),
        })
    }

    /// All entries with a size, ascending by start, and the size of the tables in bytes as far as they can be read. Malformed entries are left out;
    /// one that extends past the end ends the reading. Takes time in proportion to the file.
    pub fn entries(&self) -> (Vec<UnwindEntry>, u64) {
        let mut all = Entries::new(self.bytes, &self.frames, &self.bases, self.encoding, self.has_section);
        let entries = all.by_ref().filter_map(|entry| entry.ok()).filter(|entry| entry.range.start < entry.range.end);
        let mut entries: Vec<UnwindEntry> = entries.collect();
        // Nearly in order already, which the stable sort makes use of.
        entries.sort_by_key(|entry| (entry.range.start, entry.range.end));
        (entries, all.size() as u64)
    }

    /// The address range of the entry at `entry`.
    fn range_of(&self, entry: Vaddr) -> Option<Range<Vaddr>> {
        let offset = usize::try_from(entry.0.checked_sub(self.frames_address.0)?).ok()?;
        let get = |frames: &EhFrame<Reader<'data>>, bases: &BaseAddresses, at| frames.cie_from_offset(bases, at);
        let entry = self.frames.fde_from_offset(&self.bases, EhFrameOffset(offset), get).ok()?;
        let start = Vaddr(entry.initial_address());
        Some(start..start.checked_add(entry.len())?)
    }
}

/// The entries, before the lookup method is chosen.
struct Frames<'data> {
    bytes: &'data [u8],
    address: Vaddr,
    has_section: bool,
    file_offset: FileOffset,
    encoding: Encoding,
    bases: BaseAddresses,
}

impl<'data> Frames<'data> {
    fn at(file: &ElfFile<'data>, address: Vaddr) -> Result<Self> {
        let bytes = file.memory_from(address).ok_or(ElfError::Unmapped { table: NAME, address, needed: 4 })?;
        // A zero ends the entries. Some linkers omit it; then the section's size does, if there are sections.
        let section = file.section(".eh_frame").filter(|section| section.header.address == address);
        let size = section.and_then(|section| usize::try_from(section.header.file_size()).ok());
        let bytes = size.and_then(|size| bytes.get(..size)).unwrap_or(bytes);
        let mut bases = BaseAddresses::default().set_eh_frame(address.0);
        // "Data-relative" pointers are relative to the global offset table.
        let dynamic = file.dynamic().ok().flatten();
        if let Some(got) = dynamic.and_then(|dynamic| dynamic.get(Tag::PLTGOT)) {
            bases = bases.set_got(got);
        }
        let file_offset = file.offset_of(address).unwrap_or_default();
        Ok(Self { bytes, address, has_section: size.is_some(), file_offset, encoding: file.encoding(), bases })
    }

    fn open(self, table: Option<SearchTable<'data>>) -> Result<UnwindTable<'data>> {
        let endian = match self.encoding.byte_order {
            ByteOrder::Little => RunTimeEndian::Little,
            ByteOrder::Big => RunTimeEndian::Big,
        };
        let mut frames = EhFrame::new(self.bytes, endian);
        frames.set_address_size(if self.encoding.word_size() == 4 { 4 } else { 8 });
        let index = match table {
            Some(table) => Index::Table(table),
            None => Index::List(self.list(&frames)?),
        };
        Ok(UnwindTable {
            bytes: self.bytes,
            frames,
            frames_address: self.address,
            bases: self.bases,
            encoding: self.encoding,
            has_section: self.has_section,
            index,
        })
    }

    /// Start and size of all entries that have a size, in ascending order.
    fn list(&self, frames: &EhFrame<Reader<'data>>) -> Result<Vec<(Vaddr, u64)>> {
        let mut list = Vec::new();
        // As unwinders read them that have no search table: to the first zero.
        for entry in Entries::new(self.bytes, frames, &self.bases, self.encoding, false) {
            let UnwindEntry { range, .. } = entry.map_err(|(at, problem)| self.malformed(at, &problem))?;
            let size = range.end.0.saturating_sub(range.start.0);
            if size > 0 {
                list.push((range.start, size));
            }
        }
        list.sort_unstable();
        Ok(list)
    }

    fn malformed(&self, at: usize, problem: &gimli::Error) -> ElfError {
        let problem = match problem {
            gimli::Error::UnexpectedEof(_) => "an entry extends past the end, here or next",
            gimli::Error::UnknownAugmentation => "an entry has an unknown augmentation",
            gimli::Error::UnknownVersion(_) => "an entry has an unknown version",
            _ => "an entry is malformed, here or next",
        };
        ElfError::Malformed { table: NAME, offset: FileOffset(self.file_offset.0.saturating_add(at as u64)), problem }
    }
}

#[cfg(test)]
mod tests;
