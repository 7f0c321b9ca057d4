//! The records of a file's headers: ELF header, program headers, section headers.

use std::ops::Range;

use object::elf::{
    FileType, Machine, ProgramFlags, ProgramType, SHF_ALLOC, SHT_NOBITS, SHT_NULL, SectionFlags, SectionType,
};

/// The ELF header, numbers as they are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) ident: [u8; 16],
    pub(crate) kind: FileType,
    pub(crate) machine: Machine,
    pub(crate) version: u32,
    pub(crate) entry: u64,
    pub(crate) flags: u32,
    pub(crate) header_size: u16,
    pub(crate) program_header_size: u16,
    pub(crate) section_header_size: u16,
    pub(crate) program_headers_at: u64,
    pub(crate) section_headers_at: u64,
    pub(crate) section_names: u16,
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) kind: ProgramType,
    pub(crate) flags: ProgramFlags,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) physical: u64,
    pub(crate) file_size: u64,
    pub(crate) memory_size: u64,
    pub(crate) align: u64,
}

impl Segment {
    /// Its address range in memory.
    pub(crate) fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.memory_size)
    }

    /// Its address range with bytes from the file.
    pub(crate) fn backed(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.file_size)
    }
}

/// A section header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: SectionType,
    pub(crate) flags: SectionFlags,
    pub(crate) address: u64,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) link: u32,
    pub(crate) info: u32,
    pub(crate) align: u64,
    pub(crate) entry_size: u64,
}

impl Section<'_> {
    pub(crate) fn memory(&self) -> Range<u64> {
        self.address..self.address.saturating_add(self.size)
    }

    /// Whether it is loaded (`SHF_ALLOC`).
    pub(crate) fn is_allocated(&self) -> bool {
        self.flags.contains(SHF_ALLOC)
    }

    /// Whether it has bytes in the file: neither `SHT_NULL` nor `SHT_NOBITS`.
    pub(crate) fn is_in_file(&self) -> bool {
        self.kind != SHT_NULL && self.kind != SHT_NOBITS
    }

    pub(crate) fn shown_name(&self) -> String {
        String::from_utf8_lossy(self.name).into_owned()
    }
}
