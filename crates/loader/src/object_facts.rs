//! What the loader looks at in an object before it maps it.
//!
//! Names are bytes: file names on Linux need not be UTF-8, and the loader compares them with `strcmp`.

use coldstart_elf::{ByteOrder, DynamicTable, ElfError, ElfFile, Tag};

use crate::Fault;

/// Width of an object's addresses (`EI_CLASS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// `ELFCLASS32`.
    Bits32,
    /// `ELFCLASS64`.
    #[default]
    Bits64,
    /// Another value, which fits no program.
    Neither,
}

/// Which file it is, whatever it is called: what `fstat` tells of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// What the loader looks at in an object before it maps it (ELF header, `PT_INTERP`, `PT_DYNAMIC`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectFacts {
    /// `EI_CLASS`.
    pub class: Class,
    /// `EI_DATA` is `ELFDATA2LSB`.
    pub little_endian: bool,
    /// `e_machine`.
    pub machine: u16,
    /// `e_flags`: the float ABI on ARM and RISC-V, the ABI on MIPS.
    pub flags: u32,
    /// `DT_SONAME`.
    pub soname: Option<Vec<u8>>,
    /// `DT_NEEDED` entries, in the table's order.
    pub needed: Vec<Vec<u8>>,
    /// `DT_RPATH`.
    pub rpath: Option<Vec<u8>>,
    /// `DT_RUNPATH`.
    pub runpath: Option<Vec<u8>>,
    /// The string of `PT_INTERP`, without its terminating zero.
    pub interpreter: Option<Vec<u8>>,
    /// `DF_1_NODEFLIB` of `DT_FLAGS_1`: the system's directories are not searched for what this object needs.
    pub no_default_libraries: bool,
    /// The file's set-user-ID bit, which secure programs want of what is preloaded into them.
    pub set_user_id: bool,
    /// What keeps it from being loaded as a library; programs have such a fault, and may be started all the same.
    pub fault: Option<Fault>,
}

/// `DF_1_NODEFLIB` of `DT_FLAGS_1` (`elf.h`).
const NO_DEFAULT_LIBRARIES: u64 = 0x800;

impl ObjectFacts {
    /// What the loader looks at in a file. `set_user_id` is no part of its content and stays false.
    ///
    /// # Errors
    /// If the dynamic table or its strings cannot be read.
    pub fn of(file: &ElfFile<'_>) -> Result<Self, ElfError> {
        let mut facts = Self::of_headers(file);
        facts.fault = Fault::of(file)?;
        if let Some(dynamic) = file.dynamic()? {
            let strings = file.dynamic_strings(&dynamic)?;
            facts.enter_dynamic(&dynamic, |offset| strings.get(offset).map(<[u8]>::to_vec));
        }
        Ok(facts)
    }

    /// What the ELF header and the program headers say, `PT_INTERP` included.
    pub(crate) fn of_headers(file: &ElfFile<'_>) -> Self {
        let encoding = file.encoding();
        Self {
            class: if encoding.class == coldstart_elf::Class::Elf64 { Class::Bits64 } else { Class::Bits32 },
            little_endian: encoding.byte_order == ByteOrder::Little,
            machine: encoding.machine,
            flags: file.header().flags,
            interpreter: file.interpreter().map(<[u8]>::to_vec),
            ..Self::default()
        }
    }

    /// Enters what the dynamic table says; `text` tells the string at an offset in the table of strings.
    pub(crate) fn enter_dynamic(&mut self, dynamic: &DynamicTable<'_>, mut text: impl FnMut(u64) -> Option<Vec<u8>>) {
        // Of several entries the loader keeps the last (`elf_get_dynamic_info` in elf/get-dynamic-info.h).
        let mut last = |tag| dynamic.get(tag).and_then(&mut text);
        self.soname = last(Tag::SONAME);
        self.rpath = last(Tag::RPATH);
        self.runpath = last(Tag::RUNPATH);
        self.needed = dynamic.all(Tag::NEEDED).filter_map(&mut text).collect();
        self.no_default_libraries = dynamic.flags_1() & NO_DEFAULT_LIBRARIES != 0;
    }

    /// `DT_RPATH`, unless `DT_RUNPATH` stands beside it, which makes glibc forget it (elf/get-dynamic-info.h).
    pub fn effective_rpath(&self) -> Option<&[u8]> {
        if self.runpath.is_some() { None } else { self.rpath.as_deref() }
    }
}
