//! Sections: the linker's and debugger's view of a file. The loader ignores them, so they may be missing or wrong.

use object::elf;
use object::endian::Endianness;

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{Class, Encoding, TableRecord, raw};

/// A section header with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'data> {
    /// Its name; empty if it has none.
    pub name: &'data [u8],
    /// The remaining fields.
    pub header: SectionHeader,
}

/// The type of a section: `sh_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SectionKind {
    /// `SHT_NULL`: no section.
    Null,
    /// `SHT_PROGBITS`: program-defined contents.
    Program,
    /// `SHT_SYMTAB`.
    SymbolTable,
    /// `SHT_DYNSYM`.
    DynamicSymbols,
    /// `SHT_STRTAB`.
    Strings,
    /// `SHT_REL`.
    Rel,
    /// `SHT_RELA`.
    Rela,
    /// `SHT_RELR`.
    Relr,
    /// `SHT_NOBITS`: zeros without bytes in the file.
    Zeros,
    /// `SHT_NOTE`.
    Note,
    /// `SHT_INIT_ARRAY`.
    InitArray,
    /// `SHT_FINI_ARRAY`.
    FiniArray,
    /// `SHT_PREINIT_ARRAY`.
    PreinitArray,
    /// Another value.
    Other(u32),
}

/// A section header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SectionHeader {
    /// `sh_name`: offset of its name in the section name table.
    pub name_offset: u32,
    /// Its type.
    pub kind: SectionKind,
    /// `sh_flags`.
    pub flags: u64,
    /// `sh_addr`; 0 if it is not loaded.
    pub address: Vaddr,
    /// `sh_offset`.
    pub offset: FileOffset,
    /// `sh_size`, in bytes.
    pub size: u64,
    /// `sh_link`: index of a related section.
    pub link: u32,
    /// `sh_info`.
    pub info: u32,
    /// `sh_addralign`, in bytes.
    pub alignment: u64,
    /// `sh_entsize`, in bytes.
    pub entry_size: u64,
}

impl SectionHeader {
    /// Whether it is part of the program's memory: `SHF_ALLOC`.
    pub fn is_loaded(&self) -> bool {
        self.flags & elf::SHF_ALLOC.0 != 0
    }

    /// `SHF_WRITE`.
    pub fn is_writable(&self) -> bool {
        self.flags & elf::SHF_WRITE.0 != 0
    }

    /// `SHF_EXECINSTR`.
    pub fn is_executable(&self) -> bool {
        self.flags & elf::SHF_EXECINSTR.0 != 0
    }

    /// `SHF_TLS`: its addresses belong to the TLS template, not to memory.
    pub fn is_thread_local(&self) -> bool {
        self.flags & elf::SHF_TLS.0 != 0
    }

    /// `SHF_COMPRESSED`.
    pub fn is_compressed(&self) -> bool {
        self.flags & elf::SHF_COMPRESSED.0 != 0
    }

    /// Whether `address` is in it at run time.
    pub fn contains(&self, address: Vaddr) -> bool {
        self.is_loaded() && address.0.checked_sub(self.address.0).is_some_and(|distance| distance < self.size)
    }

    /// Its size in the file, in bytes.
    pub fn file_size(&self) -> u64 {
        if matches!(self.kind, SectionKind::Zeros | SectionKind::Null) { 0 } else { self.size }
    }
}

impl TableRecord for SectionHeader {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::SectionHeader32<Endianness>>(),
            Class::Elf64 => size_of::<elf::SectionHeader64<Endianness>>(),
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        macro_rules! fields {
            ($record:ty, $flags:ident) => {{
                let section: &$record = raw(bytes)?;
                Self {
                    name_offset: section.sh_name.get(endian),
                    kind: SectionKind::from(section.sh_type.get(endian).0),
                    flags: section.sh_flags.$flags(endian).0,
                    address: Vaddr(section.sh_addr.get(endian).into()),
                    offset: FileOffset(section.sh_offset.get(endian).into()),
                    size: section.sh_size.get(endian).into(),
                    link: section.sh_link.get(endian),
                    info: section.sh_info.get(endian),
                    alignment: section.sh_addralign.get(endian).into(),
                    entry_size: section.sh_entsize.get(endian).into(),
                }
            }};
        }
        Some(match encoding.class {
            Class::Elf32 => fields!(elf::SectionHeader32<Endianness>, get_u64),
            Class::Elf64 => fields!(elf::SectionHeader64<Endianness>, get),
        })
    }
}

impl From<u32> for SectionKind {
    fn from(value: u32) -> Self {
        match elf::SectionType(value) {
            elf::SHT_NULL => Self::Null,
            elf::SHT_PROGBITS => Self::Program,
            elf::SHT_SYMTAB => Self::SymbolTable,
            elf::SHT_DYNSYM => Self::DynamicSymbols,
            elf::SHT_STRTAB => Self::Strings,
            elf::SHT_REL => Self::Rel,
            elf::SHT_RELA => Self::Rela,
            elf::SHT_RELR => Self::Relr,
            elf::SHT_NOBITS => Self::Zeros,
            elf::SHT_NOTE => Self::Note,
            elf::SHT_INIT_ARRAY => Self::InitArray,
            elf::SHT_FINI_ARRAY => Self::FiniArray,
            elf::SHT_PREINIT_ARRAY => Self::PreinitArray,
            elf::SectionType(other) => Self::Other(other),
        }
    }
}
