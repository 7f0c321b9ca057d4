//! The ELF header: the first 52 or 64 bytes of every ELF file.

use object::elf;
use object::endian::Endianness;

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{ByteOrder, Class, Encoding, raw};
use crate::error::{ElfError, Result};
use crate::kind::FileKind;

/// The type of an ELF file: `e_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileType {
    /// `ET_REL`: for a linker, as are kernel modules.
    Relocatable,
    /// `ET_EXEC`: a program at fixed addresses.
    Executable,
    /// `ET_DYN`: a shared object or a position-independent program.
    Dynamic,
    /// `ET_CORE`: a core dump.
    Core,
    /// Another value.
    Other(u16),
}

/// The ELF header, independent of the class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Class, byte order, architecture.
    pub encoding: Encoding,
    /// `EI_OSABI`.
    pub os_abi: u8,
    /// `EI_ABIVERSION`.
    pub abi_version: u8,
    /// `e_type`.
    pub file_type: FileType,
    /// `e_flags`: architecture-specific bits.
    pub flags: u32,
    /// `e_entry`; 0 if the file is not a program.
    pub entry: Vaddr,
    /// `e_phoff`.
    pub segments_offset: FileOffset,
    /// `e_phnum` as stored; see [`crate::ElfFile::segments`] for the count when it does not fit.
    pub segment_count: u16,
    /// `e_phentsize`, in bytes.
    pub segment_entry_size: u16,
    /// `e_shoff`; 0 without a section header table.
    pub sections_offset: FileOffset,
    /// `e_shnum` as stored.
    pub section_count: u16,
    /// `e_shentsize`, in bytes.
    pub section_entry_size: u16,
    /// `e_shstrndx` as stored.
    pub section_names_index: u16,
}

impl Header {
    /// Where the table of section headers ends: for an AppImage, where its image begins. 0 without such a table.
    pub fn end_of_section_headers(&self) -> u64 {
        let table = u64::from(self.section_count).saturating_mul(u64::from(self.section_entry_size));
        self.sections_offset.0.saturating_add(table)
    }

    /// Reads the header at the start of a file.
    ///
    /// # Errors
    /// If the file is not an ELF file, ends within the header, or has an undefined class, byte order or version.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let kind = FileKind::of(bytes);
        if kind != FileKind::Elf {
            return Err(ElfError::NotElf(kind));
        }
        // `e_ident` of the ELF specification: magic number, class, byte order, version, ABI, its version.
        let Some(&[_, _, _, _, class, byte_order, version, os_abi, abi_version, ..]) = bytes.first_chunk::<16>() else {
            return Err(cut_off(bytes, 16));
        };
        let refused = |field, value: u8, at| ElfError::Header { field, value: value.into(), offset: FileOffset(at) };
        let class = match elf::FileClass(class) {
            elf::ELFCLASS32 => Class::Elf32,
            elf::ELFCLASS64 => Class::Elf64,
            other => return Err(refused("class", other.0, 4)),
        };
        let (byte_order, endian) = match elf::DataEncoding(byte_order) {
            elf::ELFDATA2LSB => (ByteOrder::Little, Endianness::Little),
            elf::ELFDATA2MSB => (ByteOrder::Big, Endianness::Big),
            other => return Err(refused("byte order", other.0, 5)),
        };
        if elf::FileVersion(version) != elf::EV_CURRENT {
            return Err(refused("version", version, 6));
        }
        macro_rules! fields {
            ($record:ty, $size:literal) => {{
                let header: &$record = raw(bytes).ok_or_else(|| cut_off(bytes, $size))?;
                let machine = header.e_machine.get(endian).0;
                Self {
                    encoding: Encoding { class, byte_order, machine },
                    os_abi,
                    abi_version,
                    file_type: FileType::from(header.e_type.get(endian).0),
                    flags: header.e_flags.get(endian).0,
                    entry: Vaddr(header.e_entry.get(endian).into()),
                    segments_offset: FileOffset(header.e_phoff.get(endian).into()),
                    segment_count: header.e_phnum.get(endian),
                    segment_entry_size: header.e_phentsize.get(endian),
                    sections_offset: FileOffset(header.e_shoff.get(endian).into()),
                    section_count: header.e_shnum.get(endian),
                    section_entry_size: header.e_shentsize.get(endian),
                    section_names_index: header.e_shstrndx.get(endian).0,
                }
            }};
        }
        Ok(match class {
            Class::Elf32 => fields!(elf::FileHeader32<Endianness>, 52),
            Class::Elf64 => fields!(elf::FileHeader64<Endianness>, 64),
        })
    }

    /// The architecture's name, such as `x86-64` or `aarch64`; the number if it is unknown.
    pub fn machine_name(&self) -> String {
        let machine = elf::Machine(self.encoding.machine);
        match machine {
            elf::EM_X86_64 => "x86-64".to_owned(),
            elf::EM_386 => "i386".to_owned(),
            _ => match machine.name() {
                Some(name) => name.trim_start_matches("EM_").to_lowercase(),
                None => format!("machine {}", machine.0),
            },
        }
    }
}

fn cut_off(bytes: &[u8], needed: u64) -> ElfError {
    ElfError::OutOfFile { table: "the ELF header", offset: FileOffset(0), needed, available: bytes.len() as u64 }
}

impl From<u16> for FileType {
    fn from(value: u16) -> Self {
        match elf::FileType(value) {
            elf::ET_REL => Self::Relocatable,
            elf::ET_EXEC => Self::Executable,
            elf::ET_DYN => Self::Dynamic,
            elf::ET_CORE => Self::Core,
            elf::FileType(other) => Self::Other(other),
        }
    }
}
