//! An ELF file: its header, segments and sections, and the mapping from addresses to bytes.

use crate::address::{FileOffset, Vaddr};
use crate::address_map::AddressMap;
use crate::dynamic::{DynamicEntry, DynamicTable, Tag};
use crate::encoding::{Encoding, Table, TableRecord};
use crate::error::{ElfError, Result};
use crate::header::Header;
use crate::section::{Section, SectionHeader, SectionKind};
use crate::segment::{Segment, SegmentKind};
use crate::strings::{NameRoom, Strings};

/// `e_phnum` when the count is in the first section header (`PN_XNUM`).
const COUNT_IS_ELSEWHERE: u16 = 0xffff;
/// `e_shstrndx` when the index is in the first section header (`SHN_XINDEX`).
const INDEX_IS_ELSEWHERE: u16 = 0xffff;

/// An ELF file in memory.
///
/// Parsing needs the header and the program headers only. Sections are read if possible; an error in them is kept as
/// [`ElfFile::section_problem`], because the loader ignores sections.
#[derive(Clone, Debug)]
pub struct ElfFile<'data> {
    bytes: &'data [u8],
    header: Header,
    segments: Vec<Segment>,
    address_map: AddressMap,
    sections: Vec<Section<'data>>,
    section_problem: Option<ElfError>,
}

impl<'data> ElfFile<'data> {
    /// Reads the header, the program headers and the section headers.
    ///
    /// # Errors
    /// If the file is not an ELF file, or ends within its header or its program headers.
    pub fn parse(bytes: &'data [u8]) -> Result<Self> {
        let header = Header::parse(bytes)?;
        let first_section = first_section(bytes, &header);
        let segments = read_segments(bytes, &header, first_section.as_ref())?;
        let loads = segments.iter().enumerate().filter(|(_, segment)| segment.kind == SegmentKind::Load);
        let address_map = AddressMap::new(loads.map(|(index, load)| (load.address.0, load.memory_size, index)));
        let (sections, section_problem) = match read_sections(bytes, &header, first_section.as_ref()) {
            Ok(sections) => (sections, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        Ok(Self { bytes, header, segments, address_map, sections, section_problem })
    }

    /// The whole file.
    pub fn bytes(&self) -> &'data [u8] {
        self.bytes
    }

    /// Size of the file in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The ELF header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Class, byte order, machine.
    pub fn encoding(&self) -> Encoding {
        self.header.encoding
    }

    /// All program headers in order.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The segments that are mapped, in the order of the headers.
    pub fn load_segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == SegmentKind::Load)
    }

    /// The first segment of this kind.
    pub fn segment(&self, kind: SegmentKind) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.kind == kind)
    }

    /// All sections in order, including the null section at 0. Empty without a valid section header table.
    pub fn sections(&self) -> &[Section<'data>] {
        &self.sections
    }

    /// Why the section headers could not be read, if the file has any.
    pub fn section_problem(&self) -> Option<&ElfError> {
        self.section_problem.as_ref()
    }

    /// The first section with this name.
    pub fn section(&self, name: &str) -> Option<&Section<'data>> {
        self.sections.iter().find(|section| section.name == name.as_bytes())
    }

    /// The bytes of a section in the file; empty for `SHT_NOBITS`.
    ///
    /// # Errors
    /// If it extends past the end of the file.
    pub fn section_bytes(&self, section: &SectionHeader) -> Result<&'data [u8]> {
        self.file_bytes("a section", section.offset, section.file_size())
    }

    /// `size` bytes of the file from `offset`.
    ///
    /// # Errors
    /// If they extend past the end of the file; `table` names them then.
    pub fn file_bytes(&self, table: &'static str, offset: FileOffset, size: u64) -> Result<&'data [u8]> {
        within(self.bytes, table, offset, size)
    }

    /// The segment that `address` belongs to. Of overlapping segments, the last one: it is mapped over the others.
    pub fn segment_at(&self, address: Vaddr) -> Option<&Segment> {
        self.segments.get(self.address_map.find(address.0)?)
    }

    /// File offset of the byte at `address`; `None` for zero-filled and unmapped memory.
    pub fn offset_of(&self, address: Vaddr) -> Option<FileOffset> {
        let segment = self.segment_at(address)?;
        let distance = address.0.checked_sub(segment.address.0).filter(|distance| *distance < segment.file_size)?;
        segment.offset.checked_add(distance)
    }

    /// `size` bytes at `address`, as they are in the file before relocation.
    ///
    /// # Errors
    /// If they are not all within the part of one segment that comes from the file; `table` names them then.
    pub fn memory_bytes(&self, table: &'static str, address: Vaddr, size: u64) -> Result<&'data [u8]> {
        let rest = self.memory_from(address);
        match usize::try_from(size).ok().and_then(|size| rest?.get(..size)) {
            Some(bytes) => Ok(bytes),
            None => Err(ElfError::Unmapped { table, address, needed: size }),
        }
    }

    /// The bytes from `address` to the end of its segment's part of the file; `None` if there are none.
    pub fn memory_from(&self, address: Vaddr) -> Option<&'data [u8]> {
        let segment = self.segment_at(address)?;
        let distance = address.0.checked_sub(segment.address.0)?;
        let size = segment.file_size.checked_sub(distance).filter(|size| *size > 0)?;
        let start = usize::try_from(segment.offset.checked_add(distance)?.0).ok()?;
        let rest = self.bytes.get(start..)?;
        // A truncated file gives the bytes it has.
        Some(usize::try_from(size).ok().and_then(|size| rest.get(..size)).unwrap_or(rest))
            .filter(|rest| !rest.is_empty())
    }

    /// A table of `size` bytes of records at `address`.
    ///
    /// # Errors
    /// If it is not all within the part of one segment that comes from the file; `name` names it then.
    pub fn table_at<R: TableRecord>(&self, name: &'static str, address: Vaddr, size: u64) -> Result<Table<'data, R>> {
        if size == 0 {
            return Ok(Table::empty(self.encoding()));
        }
        let bytes = self.memory_bytes(name, address, size)?;
        Ok(Table::new(bytes, self.offset_of(address).unwrap_or_default(), self.encoding()))
    }

    /// The dynamic table, as `PT_DYNAMIC` names it; `None` for a static program.
    ///
    /// # Errors
    /// If it extends past the end of the file.
    pub fn dynamic(&self) -> Result<Option<DynamicTable<'data>>> {
        let Some(segment) = self.segment(SegmentKind::Dynamic) else { return Ok(None) };
        // Debug files keep the header but lack its bytes.
        if segment.file_size == 0 {
            return Ok(None);
        }
        let bytes = self.file_bytes("the dynamic table", segment.offset, segment.file_size)?;
        let table: Table<'data, DynamicEntry> = Table::new(bytes, segment.offset, self.encoding());
        Ok(Some(DynamicTable::new(table, segment.address)))
    }

    /// The string table that the dynamic table refers to. Empty without one.
    ///
    /// # Errors
    /// If it is not within the part of one segment that comes from the file.
    pub fn dynamic_strings(&self, dynamic: &DynamicTable<'_>) -> Result<Strings<'data>> {
        let (Some(address), Some(size)) = (dynamic.get(Tag::STRTAB), dynamic.get(Tag::STRSZ)) else {
            return Ok(Strings::default());
        };
        Ok(Strings::new(self.memory_bytes("the dynamic string table", Vaddr(address), size)?))
    }

    /// The path of the dynamic loader, from `PT_INTERP`, without its final zero.
    pub fn interpreter(&self) -> Option<&'data [u8]> {
        let segment = self.segment(SegmentKind::Interpreter)?;
        let bytes = self.file_bytes("the interpreter's path", segment.offset, segment.file_size).ok()?;
        bytes.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())
    }
}

/// `size` bytes from `offset`, or an error with the file size.
pub(crate) fn within<'data>(
    bytes: &'data [u8],
    table: &'static str,
    offset: FileOffset,
    size: u64,
) -> Result<&'data [u8]> {
    let range = || {
        let start = usize::try_from(offset.0).ok()?;
        bytes.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    };
    range().ok_or(ElfError::OutOfFile { table, offset, needed: size, available: bytes.len() as u64 })
}

/// The section header at 0. It holds the numbers that do not fit in the ELF header.
fn first_section(bytes: &[u8], header: &Header) -> Option<SectionHeader> {
    if header.sections_offset.0 == 0 {
        return None;
    }
    let size = SectionHeader::size(header.encoding.class);
    let bytes = within(bytes, "the section headers", header.sections_offset, size as u64).ok()?;
    SectionHeader::decode(bytes, header.encoding)
}

fn read_segments(bytes: &[u8], header: &Header, first_section: Option<&SectionHeader>) -> Result<Vec<Segment>> {
    let count = match (header.segment_count, first_section) {
        (COUNT_IS_ELSEWHERE, Some(section)) => u64::from(section.info),
        (count, _) => u64::from(count),
    };
    let table = headers::<Segment>(bytes, header, PROGRAM_HEADERS, count)?;
    Ok(table.iter().collect())
}

fn read_sections<'data>(
    bytes: &'data [u8],
    header: &Header,
    first_section: Option<&SectionHeader>,
) -> Result<Vec<Section<'data>>> {
    if header.sections_offset.0 == 0 {
        return Ok(Vec::new());
    }
    let count = match (header.section_count, first_section) {
        (0, Some(section)) => section.size,
        (count, _) => u64::from(count),
    };
    let table = headers::<SectionHeader>(bytes, header, SECTION_HEADERS, count)?;
    let names_index = match (header.section_names_index, first_section) {
        (INDEX_IS_ELSEWHERE, Some(section)) => section.link as usize,
        (index, _) => usize::from(index),
    };
    let names = match table.get(names_index) {
        Some(names) if names.kind == SectionKind::Strings => {
            within(bytes, "the section names", names.offset, names.size)?
        }
        _ => &[],
    };
    let names = Strings::new(names);
    let mut room = NameRoom::for_size(bytes.len() as u64);
    let section = |header: SectionHeader| {
        let name = names.get(header.name_offset.into()).unwrap_or_default();
        room.take(name)?;
        Ok(Section { name, header })
    };
    table.iter().map(section).collect()
}

/// One of the two header tables: its name, offset and entry size in the ELF header.
type HeaderTable = (&'static str, fn(&Header) -> (FileOffset, u16));

const PROGRAM_HEADERS: HeaderTable =
    ("the program header table", |header| (header.segments_offset, header.segment_entry_size));
const SECTION_HEADERS: HeaderTable =
    ("the section header table", |header| (header.sections_offset, header.section_entry_size));

/// One of the header tables, with its entry size and bounds checked.
fn headers<'data, R: TableRecord>(
    bytes: &'data [u8],
    header: &Header,
    (name, place): HeaderTable,
    count: u64,
) -> Result<Table<'data, R>> {
    let (offset, entry_size) = place(header);
    if count == 0 {
        return Ok(Table::empty(header.encoding));
    }
    let expected = R::size(header.encoding.class);
    if usize::from(entry_size) != expected {
        let problem = "the ELF header states an invalid entry size";
        return Err(ElfError::Malformed { table: name, offset, problem });
    }
    let size = count.saturating_mul(expected as u64);
    Ok(Table::new(within(bytes, name, offset, size)?, offset, header.encoding))
}
