//! A file as the loader sees it: headers, segments, and memory by address.
//!
//! Everything is read through the `object` crate, so that the proof shares no reader with the planner.

use std::ops::Range;

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use super::dynamic::Dynamic;
use super::verdict::{NotProven, Which, unreadable};
use crate::source::Source;

pub(super) const PT_NULL: u32 = 0;
pub(super) const PT_LOAD: u32 = 1;
pub(super) const PT_DYNAMIC: u32 = 2;
pub(super) const PT_INTERP: u32 = 3;
pub(super) const PT_NOTE: u32 = 4;
pub(super) const PT_PHDR: u32 = 6;
pub(super) const PT_GNU_EH_FRAME: u32 = 0x6474_e550;
pub(super) const PT_GNU_RELRO: u32 = 0x6474_e552;
pub(super) const PT_GNU_PROPERTY: u32 = 0x6474_e553;
pub(super) const PF_X: u32 = 1;
pub(super) const PF_W: u32 = 2;
pub(super) const PF_R: u32 = 4;
/// Memory is given back in steps of this many bytes of the file.
const RELEASED: usize = 16 << 20;

/// The ELF header, numbers as they stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) ident: [u8; 16],
    pub(super) kind: u16,
    pub(super) machine: u16,
    pub(super) version: u32,
    pub(super) entry: u64,
    pub(super) flags: u32,
    pub(super) header_size: u16,
    pub(super) program_header_size: u16,
    pub(super) section_header_size: u16,
    pub(super) program_headers_at: u64,
    pub(super) section_headers_at: u64,
    pub(super) section_names: u16,
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) kind: u32,
    pub(super) flags: u32,
    pub(super) offset: u64,
    pub(super) address: u64,
    pub(super) physical: u64,
    pub(super) file_size: u64,
    pub(super) memory_size: u64,
    pub(super) align: u64,
}

impl Segment {
    /// All addresses that it maps.
    pub(super) fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.memory_size)
    }

    /// Addresses whose bytes come from the file.
    pub(super) fn backed(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.file_size)
    }
}

/// A section header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section<'a> {
    pub(super) name: &'a [u8],
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) address: u64,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) align: u64,
    pub(super) entry_size: u64,
}

impl Section<'_> {
    pub(super) fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }

    /// Whether it is part of the process's memory (`SHF_ALLOC`).
    pub(super) fn is_allocated(&self) -> bool {
        self.flags & 2 != 0
    }

    /// Whether its bytes stand in the file: neither `SHT_NULL` nor `SHT_NOBITS`.
    pub(super) fn is_in_file(&self) -> bool {
        self.kind != 0 && self.kind != 8
    }

    pub(super) fn shown_name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }
}

/// Memory from an address on, up to where its nature changes.
pub(super) struct Piece<'a> {
    /// First address that is no part of it.
    pub(super) end: u64,
    /// Its bytes, or none where the loader fills with zeros.
    pub(super) bytes: Option<&'a [u8]>,
    /// Where the bytes stand in the file.
    pub(super) offset: u64,
    /// `PF_*`.
    pub(super) flags: u32,
}

/// One of the two files.
pub(super) struct Image<'a> {
    pub(super) which: Which,
    pub(super) source: Source<'a>,
    /// Whether its class is ELFCLASS64.
    pub(super) wide: bool,
    pub(super) endian: Endianness,
    pub(super) header: Header,
    pub(super) segments: Vec<Segment>,
    pub(super) sections: Vec<Section<'a>>,
    pub(super) dynamic: Dynamic,
}

impl<'a> Image<'a> {
    pub(super) fn read(which: Which, source: Source<'a>) -> Result<Self, NotProven> {
        match source.bytes.get(4) {
            Some(1) => Self::read_class::<FileHeader32<Endianness>>(which, source),
            Some(2) => Self::read_class::<FileHeader64<Endianness>>(which, source),
            _ => Err(unreadable(which, "it is no ELF file")),
        }
    }

    fn read_class<Class>(which: Which, source: Source<'a>) -> Result<Self, NotProven>
    where
        Class: FileHeader<Endian = Endianness>,
    {
        let wrong = |cause: object::read::Error| unreadable(which, cause);
        let bytes = source.bytes;
        let file = Class::parse(bytes).map_err(wrong)?;
        let endian = file.endian().map_err(wrong)?;
        let ident = bytes.get(..16).and_then(|ident| ident.try_into().ok());
        let header = Header {
            ident: ident.ok_or_else(|| unreadable(which, "it is too short"))?,
            kind: file.e_type(endian).0,
            machine: file.e_machine(endian).0,
            version: file.e_version(endian),
            entry: file.e_entry(endian).into(),
            flags: file.e_flags(endian).0,
            header_size: file.e_ehsize(endian),
            program_header_size: file.e_phentsize(endian),
            section_header_size: file.e_shentsize(endian),
            program_headers_at: file.e_phoff(endian).into(),
            section_headers_at: file.e_shoff(endian).into(),
            section_names: file.e_shstrndx(endian).0,
        };
        let segments = file.program_headers(endian, bytes).map_err(wrong)?;
        let segments = segments.iter().map(|segment| Segment {
            kind: segment.p_type(endian).0,
            flags: segment.p_flags(endian).0,
            offset: segment.p_offset(endian).into(),
            address: segment.p_vaddr(endian).into(),
            physical: segment.p_paddr(endian).into(),
            file_size: segment.p_filesz(endian).into(),
            memory_size: segment.p_memsz(endian).into(),
            align: segment.p_align(endian).into(),
        });
        let headers = file.section_headers(endian, bytes).map_err(wrong)?;
        let named = !headers.is_empty() && header.section_names != 0;
        let names = if named { Some(file.section_strings(endian, bytes, headers).map_err(wrong)?) } else { None };
        let mut sections = Vec::with_capacity(headers.len());
        for header in headers {
            sections.push(Section {
                name: names.map_or(Ok(&[][..]), |names| header.name(endian, names)).map_err(wrong)?,
                kind: header.sh_type(endian).0,
                flags: header.sh_flags(endian).0,
                address: header.sh_addr(endian).into(),
                offset: header.sh_offset(endian).into(),
                size: header.sh_size(endian).into(),
                link: header.sh_link(endian),
                info: header.sh_info(endian),
                align: header.sh_addralign(endian).into(),
                entry_size: header.sh_entsize(endian).into(),
            });
        }
        let wide = file.is_type_64();
        let dynamic = Dynamic::default();
        let mut image = Self { which, source, wide, endian, header, segments: segments.collect(), sections, dynamic };
        super::loads::check_alone(&image)?;
        image.dynamic = Dynamic::read(&image)?;
        Ok(image)
    }

    /// Bytes of a word of this class: 4 or 8.
    pub(super) fn word_size(&self) -> u64 {
        if self.wide { 8 } else { 4 }
    }

    /// Keeps the bits that a word of this class has.
    pub(super) fn mask(&self, value: u64) -> u64 {
        if self.wide { value } else { value & 0xffff_ffff }
    }

    /// A number of 2, 4 or 8 bytes at the beginning of `bytes`.
    pub(super) fn number(&self, bytes: &[u8], size: usize) -> Option<u64> {
        let bytes = bytes.get(..size)?;
        let fold = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        Some(match self.endian {
            Endianness::Little => bytes.iter().rev().fold(0, fold),
            Endianness::Big => bytes.iter().fold(0, fold),
        })
    }

    /// A word at the beginning of `bytes`.
    pub(super) fn word(&self, bytes: &[u8]) -> Option<u64> {
        if self.wide {
            let bytes: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
            Some(if self.endian == Endianness::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
        } else {
            self.number(bytes, 4)
        }
    }

    pub(super) fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == PT_LOAD)
    }

    /// The segments of a kind.
    pub(super) fn segments_of(&self, kind: u32) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.kind == kind)
    }

    /// What is mapped from `address` on.
    pub(super) fn piece(&self, address: u64) -> Option<Piece<'a>> {
        let load = self.loads().find(|load| load.memory().contains(&address))?;
        let flags = load.flags & (PF_R | PF_W | PF_X);
        if !load.backed().contains(&address) {
            return Some(Piece { end: load.memory().end, bytes: None, offset: 0, flags });
        }
        let offset = load.offset.checked_add(address.checked_sub(load.address)?)?;
        let end = load.offset.checked_add(load.file_size)?;
        let bytes = self.source.bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)?;
        Some(Piece { end: load.backed().end, bytes: Some(bytes), offset, flags })
    }

    /// Memory that comes from one piece of the file.
    pub(super) fn at(&self, range: Range<u64>) -> Option<&'a [u8]> {
        let size = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        if size == 0 {
            return Some(&[]);
        }
        self.piece(range.start)?.bytes?.get(..size)
    }

    /// Where the byte at an address stands in the file, the end of a segment included.
    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        let inside = self.loads().find(|load| load.memory().contains(&address));
        let load = inside.or_else(|| self.loads().find(|load| load.memory().end == address))?;
        load.offset.checked_add(address.checked_sub(load.address)?)
    }

    /// Bytes of the file.
    pub(super) fn file(&self, offset: u64, size: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(size)?;
        self.source.bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
    }

    /// Where the program header table stands in memory, if it is mapped.
    pub(super) fn program_header_table(&self) -> Option<Range<u64>> {
        let size = u64::from(self.header.program_header_size).checked_mul(self.segments.len() as u64)?;
        let (start, end) = (self.header.program_headers_at, self.header.program_headers_at.checked_add(size)?);
        let load =
            self.loads().find(|load| load.offset <= start && end <= load.offset.saturating_add(load.file_size))?;
        let address = load.address.checked_add(start.checked_sub(load.offset)?)?;
        Some(address..address.checked_add(size)?)
    }

    /// Gives memory back when enough of the file lies behind.
    pub(super) fn release_behind(&self, done: &mut usize, offset: u64) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.source.bytes.len());
        if offset < *done {
            *done = offset;
        } else if offset.saturating_sub(*done) >= RELEASED {
            (self.source.release)(*done..offset);
            *done = offset;
        }
    }
}
