//! The dynamic table: the linker's instructions to the dynamic loader.
//!
//! It is read through `PT_DYNAMIC`, as the loader does; a `.dynamic` section may differ and is ignored.

use object::elf;
use object::endian::Endianness;

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{Class, Encoding, Table, TableRecord, raw};

/// The tag of an entry: `DT_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u64);

macro_rules! tags {
    ($($(#[$doc:meta])* $name:ident = $value:ident;)*) => {
        impl Tag {
            $($(#[$doc])* pub const $name: Tag = Tag(elf::$value.0 as u64);)*
        }
    };
}

tags! {
    /// The end of the table.
    NULL = DT_NULL;
    /// Name of a library that is needed.
    NEEDED = DT_NEEDED;
    /// Size of the relocations of the PLT.
    PLTRELSZ = DT_PLTRELSZ;
    /// The GOT of the PLT.
    PLTGOT = DT_PLTGOT;
    /// System V hash table.
    HASH = DT_HASH;
    /// Strings.
    STRTAB = DT_STRTAB;
    /// Symbols.
    SYMTAB = DT_SYMTAB;
    /// Relocations with addends.
    RELA = DT_RELA;
    /// Their size.
    RELASZ = DT_RELASZ;
    /// Size of one.
    RELAENT = DT_RELAENT;
    /// Size of the strings.
    STRSZ = DT_STRSZ;
    /// Size of a symbol.
    SYMENT = DT_SYMENT;
    /// Function to run at the start.
    INIT = DT_INIT;
    /// Function to run at the end.
    FINI = DT_FINI;
    /// The object's own name.
    SONAME = DT_SONAME;
    /// Search path, inherited by what it loads.
    RPATH = DT_RPATH;
    /// Symbols are looked for in the object itself first.
    SYMBOLIC = DT_SYMBOLIC;
    /// Relocations with the addend in place.
    REL = DT_REL;
    /// Their size.
    RELSZ = DT_RELSZ;
    /// Size of one.
    RELENT = DT_RELENT;
    /// Whether the PLT's relocations are `DT_REL` or `DT_RELA`.
    PLTREL = DT_PLTREL;
    /// For debuggers.
    DEBUG = DT_DEBUG;
    /// Relocations change read-only segments.
    TEXTREL = DT_TEXTREL;
    /// The relocations of the PLT.
    JMPREL = DT_JMPREL;
    /// All symbols are bound at the start.
    BIND_NOW = DT_BIND_NOW;
    /// Functions to run at the start.
    INIT_ARRAY = DT_INIT_ARRAY;
    /// Functions to run at the end.
    FINI_ARRAY = DT_FINI_ARRAY;
    /// Size of the former.
    INIT_ARRAYSZ = DT_INIT_ARRAYSZ;
    /// Size of the latter.
    FINI_ARRAYSZ = DT_FINI_ARRAYSZ;
    /// Search path of the object alone.
    RUNPATH = DT_RUNPATH;
    /// Flags.
    FLAGS = DT_FLAGS;
    /// Functions to run before all others.
    PREINIT_ARRAY = DT_PREINIT_ARRAY;
    /// Size of the former.
    PREINIT_ARRAYSZ = DT_PREINIT_ARRAYSZ;
    /// Size of the packed relative relocations.
    RELRSZ = DT_RELRSZ;
    /// Packed relative relocations.
    RELR = DT_RELR;
    /// Size of a word of them.
    RELRENT = DT_RELRENT;
    /// GNU hash table.
    GNU_HASH = DT_GNU_HASH;
    /// Version of each symbol.
    VERSYM = DT_VERSYM;
    /// How many of the relocations come first and are relative (RELA).
    RELACOUNT = DT_RELACOUNT;
    /// How many of the relocations come first and are relative (REL).
    RELCOUNT = DT_RELCOUNT;
    /// More flags.
    FLAGS_1 = DT_FLAGS_1;
    /// Versions that are defined.
    VERDEF = DT_VERDEF;
    /// How many.
    VERDEFNUM = DT_VERDEFNUM;
    /// Versions that are needed.
    VERNEED = DT_VERNEED;
    /// How many.
    VERNEEDNUM = DT_VERNEEDNUM;
    /// When the object was prelinked: seconds since 1970.
    GNU_PRELINKED = DT_GNU_PRELINKED;
    /// Libraries it was prelinked against.
    GNU_LIBLIST = DT_GNU_LIBLIST;
    /// Checksum, of prelink.
    CHECKSUM = DT_CHECKSUM;
    /// Filter.
    FILTER = DT_FILTER;
    /// Auxiliary filter.
    AUXILIARY = DT_AUXILIARY;
    /// Libraries that audit.
    AUDIT = DT_AUDIT;
    /// Libraries that audit what this one needs.
    DEPAUDIT = DT_DEPAUDIT;
}

/// Tags that the `object` crate does not name: bionic's (`bionic/libc/include/elf.h`).
impl Tag {
    /// `DT_ANDROID_REL`: packed relocations, addends in place.
    pub const ANDROID_REL: Tag = Tag(0x6000_000f);
    /// `DT_ANDROID_RELSZ`.
    pub const ANDROID_RELSZ: Tag = Tag(0x6000_0010);
    /// `DT_ANDROID_RELA`: packed relocations with addends.
    pub const ANDROID_RELA: Tag = Tag(0x6000_0011);
    /// `DT_ANDROID_RELASZ`.
    pub const ANDROID_RELASZ: Tag = Tag(0x6000_0012);
    /// `DT_ANDROID_RELR`, before the tag had an official number.
    pub const ANDROID_RELR: Tag = Tag(0x6fff_e000);
    /// `DT_ANDROID_RELRSZ`.
    pub const ANDROID_RELRSZ: Tag = Tag(0x6fff_e001);

    /// Its name, as `DT_RELA`; the number where it has none.
    pub fn name(self, machine: u16) -> String {
        let tag = elf::DynamicTag(self.0 as i64);
        elf::machine_names(elf::Machine(machine)).dt.name(tag).map_or_else(|| format!("{:#x}", self.0), str::to_owned)
    }
}

/// An entry of the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicEntry {
    /// What it says.
    pub tag: Tag,
    /// A number or an address.
    pub value: u64,
}

impl TableRecord for DynamicEntry {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::Dyn32<Endianness>>(),
            Class::Elf64 => size_of::<elf::Dyn64<Endianness>>(),
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        Some(match encoding.class {
            Class::Elf32 => {
                let entry: &elf::Dyn32<Endianness> = raw(bytes)?;
                // Tags are 32 bits wide there and their upper half must not become all ones.
                Self {
                    tag: Tag(u64::from(entry.d_tag.get_i64(endian).0 as u32)),
                    value: entry.d_val.get(endian).into(),
                }
            }
            Class::Elf64 => {
                let entry: &elf::Dyn64<Endianness> = raw(bytes)?;
                Self { tag: Tag(entry.d_tag.get(endian).0 as u64), value: entry.d_val.get(endian) }
            }
        })
    }
}

/// The dynamic table of an object.
#[derive(Clone, Debug)]
pub struct DynamicTable<'data> {
    table: Table<'data, DynamicEntry>,
    /// Entries before the first `DT_NULL`.
    used: usize,
    address: Vaddr,
}

impl<'data> DynamicTable<'data> {
    /// The dynamic table in `table`, which begins at `address` in memory.
    pub fn new(table: Table<'data, DynamicEntry>, address: Vaddr) -> Self {
        let used = table.iter().position(|entry| entry.tag == Tag::NULL).unwrap_or(table.len());
        Self { table, used, address }
    }

    /// The entries before the end mark.
    pub fn entries(&self) -> impl Iterator<Item = DynamicEntry> + use<'data> {
        self.table.iter().take(self.used)
    }

    /// The value of the last entry with this tag: the one that glibc's loader keeps (`elf/get-dynamic-info.h`).
    pub fn get(&self, tag: Tag) -> Option<u64> {
        self.entries().filter(|entry| entry.tag == tag).last().map(|entry| entry.value)
    }

    /// The values of all entries with this tag, in order.
    pub fn all(&self, tag: Tag) -> impl Iterator<Item = u64> + use<'data> {
        self.entries().filter(move |entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// Number of entries in use.
    pub fn len(&self) -> usize {
        self.used
    }

    /// Whether no entry is in use.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Entries after the end mark, available to an editor.
    pub fn spare_entries(&self) -> usize {
        self.table.len().saturating_sub(self.used).saturating_sub(1)
    }

    /// Its address.
    pub fn address(&self) -> Vaddr {
        self.address
    }

    /// Its file offset.
    pub fn file_offset(&self) -> FileOffset {
        self.table.file_offset()
    }

    /// Its size in bytes, spare entries included.
    pub fn size(&self) -> u64 {
        self.table.bytes().len() as u64
    }

    /// Bits of `DT_FLAGS`: `DF_*`.
    pub fn flags(&self) -> u64 {
        self.get(Tag::FLAGS).unwrap_or(0)
    }

    /// Bits of `DT_FLAGS_1`: `DF_1_*`.
    pub fn flags_1(&self) -> u64 {
        self.get(Tag::FLAGS_1).unwrap_or(0)
    }

    /// Whether all symbols are bound at the start (`DT_BIND_NOW`, `DF_BIND_NOW`, `DF_1_NOW`).
    pub fn binds_now(&self) -> bool {
        self.get(Tag::BIND_NOW).is_some()
            || self.flags() & elf::DF_BIND_NOW.0 != 0
            || self.flags_1() & elf::DF_1_NOW.0 != 0
    }

    /// Whether it is marked as a position-independent program (`DF_1_PIE`).
    pub fn is_pie(&self) -> bool {
        self.flags_1() & elf::DF_1_PIE.0 != 0
    }

    /// Whether relocations change read-only segments (`DT_TEXTREL`, `DF_TEXTREL`).
    pub fn has_text_relocations(&self) -> bool {
        self.get(Tag::TEXTREL).is_some() || self.flags() & elf::DF_TEXTREL.0 != 0
    }

    /// Whether symbols are looked for in the object itself first (`DT_SYMBOLIC`, `DF_SYMBOLIC`).
    pub fn is_symbolic(&self) -> bool {
        self.get(Tag::SYMBOLIC).is_some() || self.flags() & elf::DF_SYMBOLIC.0 != 0
    }
}
