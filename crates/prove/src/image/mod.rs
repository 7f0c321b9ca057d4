//! A file in the loader's view: headers, segments, and memory by address.
//!
//! Everything is read through the `object` crate's headers.

pub(crate) mod dynamic;
pub(crate) mod encoding;
pub(crate) mod headers;
mod load_rules;

use std::ops::Range;

use object::Endianness;
use object::elf::{FileHeader32, FileHeader64, PF_R, PF_W, PF_X, PT_DYNAMIC, PT_LOAD, ProgramFlags, ProgramType};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use self::dynamic::Dynamic;
use self::encoding::Encoding;
use self::headers::{Header, Section, Segment};
use crate::source::Source;
use crate::verdict::{NotProven, Which, unreadable};

/// Memory is released in steps of this many bytes of the file.
const RELEASED: usize = 16 << 20;

/// Memory from an address up to the next change of its kind.
pub(crate) struct Piece<'a> {
    /// End of the range (exclusive).
    pub(crate) end: u64,
    /// Its bytes; none for zero-filled memory.
    pub(crate) bytes: Option<&'a [u8]>,
    /// File offset of the bytes.
    pub(crate) offset: u64,
    /// `PF_*`.
    pub(crate) flags: ProgramFlags,
}

/// One of the two files.
pub(crate) struct Image<'a> {
    pub(crate) which: Which,
    pub(crate) source: Source<'a>,
    pub(crate) encoding: Encoding,
    pub(crate) header: Header,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sections: Vec<Section<'a>>,
    pub(crate) dynamic: Dynamic,
}

impl<'a> Image<'a> {
    pub(crate) fn read(which: Which, source: Source<'a>) -> Result<Self, NotProven> {
        match source.bytes.get(4) {
            Some(1) => Self::read_class::<FileHeader32<Endianness>>(which, source),
            Some(2) => Self::read_class::<FileHeader64<Endianness>>(which, source),
            _ => Err(unreadable(which, "not an ELF file")),
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
            ident: ident.ok_or_else(|| unreadable(which, "too short"))?,
            kind: file.e_type(endian),
            machine: file.e_machine(endian),
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
            kind: segment.p_type(endian),
            flags: segment.p_flags(endian),
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
                kind: header.sh_type(endian),
                flags: header.sh_flags(endian),
                address: header.sh_addr(endian).into(),
                offset: header.sh_offset(endian).into(),
                size: header.sh_size(endian).into(),
                link: header.sh_link(endian),
                info: header.sh_info(endian),
                align: header.sh_addralign(endian).into(),
                entry_size: header.sh_entsize(endian).into(),
            });
        }
        let encoding = Encoding { wide: file.is_type_64(), endian };
        let segments: Vec<Segment> = segments.collect();
        load_rules::check(which, encoding, &segments, bytes.len() as u64)?;
        let dynamic = Dynamic::default();
        let mut image = Self { which, source, encoding, header, segments, sections, dynamic };
        image.dynamic = image.read_dynamic()?;
        Ok(image)
    }

    fn read_dynamic(&self) -> Result<Dynamic, NotProven> {
        let mut segments = self.segments_of(PT_DYNAMIC);
        let Some(segment) = segments.next() else { return Ok(Dynamic::default()) };
        if segments.next().is_some() {
            return Err(unreadable(self.which, "more than one PT_DYNAMIC"));
        }
        let memory = segment.backed();
        let bytes = self.at(memory.clone()).ok_or_else(|| unreadable(self.which, "PT_DYNAMIC is not mapped"))?;
        Dynamic::read(self.which, self.encoding, memory, bytes)
    }

    /// Bytes of a word of this class: 4 or 8.
    pub(crate) fn word_size(&self) -> u64 {
        self.encoding.word_size()
    }

    /// Truncates a value to the class's word size.
    pub(crate) fn mask(&self, value: u64) -> u64 {
        if self.encoding.wide { value } else { value & 0xffff_ffff }
    }

    /// A number of 2, 4 or 8 bytes at the beginning of `bytes`.
    pub(crate) fn number(&self, bytes: &[u8], size: usize) -> Option<u64> {
        self.encoding.number(bytes, size)
    }

    /// A word at the beginning of `bytes`.
    pub(crate) fn word(&self, bytes: &[u8]) -> Option<u64> {
        self.encoding.word(bytes)
    }

    pub(crate) fn loads(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(|segment| segment.kind == PT_LOAD)
    }

    /// The segments of a kind.
    pub(crate) fn segments_of(&self, kind: ProgramType) -> impl Iterator<Item = &Segment> {
        self.segments.iter().filter(move |segment| segment.kind == kind)
    }

    /// The memory mapped from `address` on.
    pub(crate) fn piece(&self, address: u64) -> Option<Piece<'a>> {
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

    /// Memory from one contiguous range of the file.
    pub(crate) fn at(&self, range: Range<u64>) -> Option<&'a [u8]> {
        let size = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        if size == 0 {
            return Some(&[]);
        }
        self.piece(range.start)?.bytes?.get(..size)
    }

    /// File offset of the byte at an address, or at the end of a segment.
    pub(crate) fn offset_of(&self, address: u64) -> Option<u64> {
        let inside = self.loads().find(|load| load.memory().contains(&address));
        let load = inside.or_else(|| self.loads().find(|load| load.memory().end == address))?;
        load.offset.checked_add(address.checked_sub(load.address)?)
    }

    /// Bytes of the file.
    pub(crate) fn file(&self, offset: u64, size: u64) -> Option<&'a [u8]> {
        let end = offset.checked_add(size)?;
        self.source.bytes.get(usize::try_from(offset).ok()?..usize::try_from(end).ok()?)
    }

    /// Address of the program header table, if it is mapped.
    pub(crate) fn program_header_table(&self) -> Option<Range<u64>> {
        let size = u64::from(self.header.program_header_size).checked_mul(self.segments.len() as u64)?;
        let (start, end) = (self.header.program_headers_at, self.header.program_headers_at.checked_add(size)?);
        let load =
            self.loads().find(|load| load.offset <= start && end <= load.offset.saturating_add(load.file_size))?;
        let address = load.address.checked_add(start.checked_sub(load.offset)?)?;
        Some(address..address.checked_add(size)?)
    }

    /// Releases memory once enough of the file has been processed.
    pub(crate) fn release_behind(&self, done: &mut usize, offset: u64) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.source.bytes.len());
        if offset < *done {
            *done = offset;
        } else if offset.saturating_sub(*done) >= RELEASED {
            (self.source.release)(*done..offset);
            *done = offset;
        }
    }
}
