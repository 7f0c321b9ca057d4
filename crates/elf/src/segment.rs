//! Segments: the kernel's and the dynamic loader's view of a file. (Sections are for linkers and debuggers.)

use object::elf;
use object::endian::Endianness;

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{Class, Encoding, TableRecord, raw};

/// The type of a segment: `p_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// `PT_LOAD`: mapped into memory.
    Load,
    /// `PT_DYNAMIC`: the dynamic table.
    Dynamic,
    /// `PT_INTERP`: the path of the dynamic loader.
    Interpreter,
    /// `PT_NOTE`.
    Note,
    /// `PT_PHDR`: the program headers themselves.
    ProgramHeaders,
    /// `PT_TLS`: the template of thread-local storage.
    ThreadLocal,
    /// `PT_GNU_EH_FRAME`: the search table for the unwind tables.
    EhFrameHeader,
    /// `PT_GNU_STACK`: only its flags matter.
    Stack,
    /// `PT_GNU_RELRO`: made read-only after relocation.
    Relro,
    /// `PT_GNU_PROPERTY`.
    Property,
    /// Another value.
    Other(u32),
}

/// A program header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its type.
    pub kind: SegmentKind,
    /// `p_flags`: 1 execute, 2 write, 4 read.
    pub flags: u32,
    /// `p_offset`.
    pub offset: FileOffset,
    /// `p_vaddr`.
    pub address: Vaddr,
    /// `p_filesz`, in bytes.
    pub file_size: u64,
    /// `p_memsz`, in bytes; zero-filled past the file part.
    pub memory_size: u64,
    /// `p_align`, in bytes; 0 and 1 mean none.
    pub alignment: u64,
}

impl Segment {
    /// Whether its memory may be read: `PF_R`.
    pub fn is_readable(&self) -> bool {
        self.flags & elf::PF_R.0 != 0
    }

    /// Whether its memory may be written: `PF_W`.
    pub fn is_writable(&self) -> bool {
        self.flags & elf::PF_W.0 != 0
    }

    /// Whether its memory may be executed: `PF_X`.
    pub fn is_executable(&self) -> bool {
        self.flags & elf::PF_X.0 != 0
    }

    /// Whether `address` is in its memory.
    pub fn contains(&self, address: Vaddr) -> bool {
        address.0.checked_sub(self.address.0).is_some_and(|distance| distance < self.memory_size)
    }

    /// The end of its memory (exclusive); saturates.
    pub fn end(&self) -> Vaddr {
        Vaddr(self.address.0.saturating_add(self.memory_size))
    }

    /// The end of its file part (exclusive); saturates.
    pub fn file_end(&self) -> Vaddr {
        Vaddr(self.address.0.saturating_add(self.file_size))
    }
}

impl TableRecord for Segment {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::ProgramHeader32<Endianness>>(),
            Class::Elf64 => size_of::<elf::ProgramHeader64<Endianness>>(),
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        macro_rules! fields {
            ($record:ty) => {{
                let segment: &$record = raw(bytes)?;
                Self {
                    kind: SegmentKind::from(segment.p_type.get(endian).0),
                    flags: segment.p_flags.get(endian).0,
                    offset: FileOffset(segment.p_offset.get(endian).into()),
                    address: Vaddr(segment.p_vaddr.get(endian).into()),
                    file_size: segment.p_filesz.get(endian).into(),
                    memory_size: segment.p_memsz.get(endian).into(),
                    alignment: segment.p_align.get(endian).into(),
                }
            }};
        }
        Some(match encoding.class {
            Class::Elf32 => fields!(elf::ProgramHeader32<Endianness>),
            Class::Elf64 => fields!(elf::ProgramHeader64<Endianness>),
        })
    }
}

impl From<u32> for SegmentKind {
    fn from(value: u32) -> Self {
        match elf::ProgramType(value) {
            elf::PT_LOAD => Self::Load,
            elf::PT_DYNAMIC => Self::Dynamic,
            elf::PT_INTERP => Self::Interpreter,
            elf::PT_NOTE => Self::Note,
            elf::PT_PHDR => Self::ProgramHeaders,
            elf::PT_TLS => Self::ThreadLocal,
            elf::PT_GNU_EH_FRAME => Self::EhFrameHeader,
            elf::PT_GNU_STACK => Self::Stack,
            elf::PT_GNU_RELRO => Self::Relro,
            elf::PT_GNU_PROPERTY => Self::Property,
            elf::ProgramType(other) => Self::Other(other),
        }
    }
}
