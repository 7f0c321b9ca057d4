//! The properties of an object that the loader checks before mapping it.
//!
//! Names are bytes: file names on Linux need not be UTF-8, and the loader compares them with `strcmp`.

use coldstart_elf::{ByteOrder, DynamicTable, ElfError, ElfFile, NameRoom, Tag};

use crate::Fault;

/// Width of an object's addresses (`EI_CLASS`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// `ELFCLASS32`.
    Bits32,
    /// `ELFCLASS64`.
    #[default]
    Bits64,
    /// Another value, which matches no program.
    Neither,
}

/// The identity of a file, whatever its name, from `fstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Identity {
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// The properties of an object that the loader checks before mapping it (ELF header, `PT_INTERP`, `PT_DYNAMIC`).
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
    /// `DF_1_NODEFLIB` of `DT_FLAGS_1`: the system's directories are not searched for this object's requests.
    pub no_default_libraries: bool,
    /// The file's set-user-ID bit, required of preloaded objects in secure mode.
    pub set_user_id: bool,
    /// What prevents it from being loaded as a library; programs have such a fault, and can still be started.
    pub fault: Option<Fault>,
}

/// `DF_1_NODEFLIB` of `DT_FLAGS_1` (`elf.h`).
const NO_DEFAULT_LIBRARIES: u64 = 0x800;

impl ObjectFacts {
    /// The properties that the loader checks in a file. `set_user_id` is not part of its content and stays false.
    ///
    /// # Errors
    /// If the dynamic table or its strings cannot be read.
    pub fn of(file: &ElfFile<'_>) -> Result<Self, ElfError> {
        let mut facts = Self::of_headers(file);
        facts.fault = Fault::of(file)?;
        if let Some(dynamic) = file.dynamic()? {
            let strings = file.dynamic_strings(&dynamic)?;
            let (mut room, mut overlap) = (NameRoom::of(file), Ok(()));
            facts.enter_dynamic(&dynamic, |offset| {
                if overlap.is_err() {
                    return None;
                }
                let name = strings.get(offset)?;
                overlap = room.take(name);
                Some(name.to_vec())
            });
            overlap?;
        }
        Ok(facts)
    }

    /// The properties in the ELF header and the program headers, including `PT_INTERP`.
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

    /// Enters the properties in the dynamic table; `text` returns the string at an offset in the string table.
    pub(crate) fn enter_dynamic(&mut self, dynamic: &DynamicTable<'_>, mut text: impl FnMut(u64) -> Option<Vec<u8>>) {
        // Of several entries the loader keeps the last (`elf_get_dynamic_info` in elf/get-dynamic-info.h).
        let mut last = |tag| dynamic.get(tag).and_then(&mut text);
        self.soname = last(Tag::SONAME);
        self.rpath = last(Tag::RPATH);
        self.runpath = last(Tag::RUNPATH);
        self.needed = dynamic.all(Tag::NEEDED).filter_map(&mut text).collect();
        self.no_default_libraries = dynamic.flags_1() & NO_DEFAULT_LIBRARIES != 0;
    }

    /// `DT_RPATH`, unless there is a `DT_RUNPATH`: glibc then ignores it (elf/get-dynamic-info.h).
    pub fn effective_rpath(&self) -> Option<&[u8]> {
        if self.runpath.is_some() { None } else { self.rpath.as_deref() }
    }
}
