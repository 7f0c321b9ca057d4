//! Relocations: one record for each word that the dynamic loader must change.
//!
//! What is not obvious: a record of a 64-bit file takes 24 bytes for 8 bytes of work. In relative relocations, by far
//! the most frequent, 12 of them are always zero or the same. [`crate::RelrTable`] avoids that waste.

use object::elf;
use object::endian::Endianness;

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{Class, Encoding, Table, TableRecord, raw};

/// A relocation, independent of class and form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Relocation {
    /// `r_offset`: the address of the relocated word.
    pub offset: Vaddr,
    /// Index of the symbol in the dynamic symbol table; 0 for none.
    pub symbol: u32,
    /// The relocation type: `R_*` of the architecture.
    pub kind: u32,
    /// `r_addend`; `None` for `REL`, which stores the addend in the word itself.
    pub addend: Option<i64>,
}

/// What a relocation does, independent of the architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RelocationClass {
    /// Nothing (`R_*_NONE`).
    Nothing,
    /// Add the load bias (`R_*_RELATIVE`).
    Relative,
    /// Call a function that chooses an implementation (`R_*_IRELATIVE`).
    IndirectRelative,
    /// Write a symbol's address plus an addend (`R_X86_64_64`, `R_AARCH64_ABS64`...).
    Absolute,
    /// Write a symbol's address into the GOT (`R_*_GLOB_DAT`).
    GlobalData,
    /// Write a function's address into the PLT's GOT (`R_*_JUMP_SLOT`).
    JumpSlot,
    /// Copy a library's variable into the program (`R_*_COPY`).
    Copy,
    /// Module id or offset of thread-local storage, or both.
    ThreadLocal,
    /// Anything else.
    Other,
}

impl RelocationClass {
    /// The class of relocation type `kind` on `machine`, by the architecture's ABI supplement. For many relocations,
    /// [`RelocationClasses`] is faster.
    pub fn of(machine: u16, kind: u32) -> Self {
        let kind = elf::RelocationType(kind);
        match elf::Machine(machine) {
            elf::EM_X86_64 => match kind {
                elf::R_X86_64_NONE => Self::Nothing,
                elf::R_X86_64_RELATIVE | elf::R_X86_64_RELATIVE64 => Self::Relative,
                elf::R_X86_64_IRELATIVE => Self::IndirectRelative,
                elf::R_X86_64_64 => Self::Absolute,
                elf::R_X86_64_GLOB_DAT => Self::GlobalData,
                elf::R_X86_64_JUMP_SLOT => Self::JumpSlot,
                elf::R_X86_64_COPY => Self::Copy,
                elf::R_X86_64_DTPMOD64
                | elf::R_X86_64_DTPOFF64
                | elf::R_X86_64_TPOFF64
                | elf::R_X86_64_DTPOFF32
                | elf::R_X86_64_TPOFF32
                | elf::R_X86_64_TLSDESC => Self::ThreadLocal,
                _ => Self::Other,
            },
            // `object` uses this number's name from before thread-local storage.
            elf::EM_ARM if kind.0 == ARM_TLS_DESC => Self::ThreadLocal,
            elf::EM_PARISC if kind == elf::R_PARISC_COPY => Self::Copy,
            // The rest have regular names, all known to `object`.
            machine => Self::from_name(elf::machine_names(machine).r.name(kind)),
        }
    }

    fn from_name(name: Option<&'static str>) -> Self {
        let Some(name) = name else { return Self::Other };
        // `R_AARCH64_RELATIVE` is `RELATIVE`, `R_386_TLS_TPOFF` is `TLS_TPOFF`.
        let rest = name.strip_prefix("R_").and_then(|name| name.split_once('_')).map_or(name, |(_, rest)| rest);
        // AArch64 with 32-bit addresses numbers the same relocations differently.
        let rest = rest.strip_prefix("P32_").unwrap_or(rest);
        match rest {
            "NONE" => Self::Nothing,
            "RELATIVE" | "RELATIVE64" => Self::Relative,
            "IRELATIVE" => Self::IndirectRelative,
            "32" | "64" | "ABS32" | "ABS64" | "ADDR32" | "ADDR64" | "REL32" => Self::Absolute,
            "GLOB_DAT" => Self::GlobalData,
            "JUMP_SLOT" | "JMP_SLOT" => Self::JumpSlot,
            "COPY" => Self::Copy,
            other if ["TLS", "DTP", "TPREL", "TPOFF"].iter().any(|part| other.contains(part)) => Self::ThreadLocal,
            _ => Self::Other,
        }
    }
}

/// `R_ARM_TLS_DESC` (glibc `elf/elf.h`).
const ARM_TLS_DESC: u32 = 13;

/// [`RelocationClass::of`] for many relocations of one architecture: each type's name is looked up once.
#[derive(Clone, Debug)]
pub struct RelocationClasses {
    machine: u16,
    known: Vec<Option<RelocationClass>>,
}

impl RelocationClasses {
    /// Types below this are cached; every type in use is.
    const REMEMBERED: usize = 2048;

    /// For relocations of `machine`.
    pub fn new(machine: u16) -> Self {
        Self { machine, known: vec![None; Self::REMEMBERED] }
    }

    /// The class of relocation type `kind`.
    #[inline]
    pub fn of(&mut self, kind: u32) -> RelocationClass {
        match self.known.get_mut(kind as usize) {
            Some(Some(class)) => *class,
            Some(unknown) => *unknown.insert(RelocationClass::of(self.machine, kind)),
            None => RelocationClass::of(self.machine, kind),
        }
    }
}

/// The name of a relocation type, such as `R_X86_64_RELATIVE`; its number if it has no name. Where the ABI supplement
/// and binutils differ in spelling, the name that `readelf` prints.
pub fn relocation_type_name(machine: u16, kind: u32) -> String {
    let renamed = match (elf::Machine(machine), elf::RelocationType(kind)) {
        (elf::EM_ARM, elf::RelocationType(ARM_TLS_DESC)) => Some("R_ARM_TLS_DESC"),
        // `object` knows the name of the range that begins with it.
        (elf::EM_PARISC, elf::R_PARISC_COPY) => Some("R_PARISC_COPY"),
        (elf::EM_386, elf::R_386_JMP_SLOT) => Some("R_386_JUMP_SLOT"),
        (elf::EM_AARCH64, elf::R_AARCH64_TLS_DTPMOD) => Some("R_AARCH64_TLS_DTPMOD64"),
        (elf::EM_AARCH64, elf::R_AARCH64_TLS_DTPREL) => Some("R_AARCH64_TLS_DTPREL64"),
        (elf::EM_AARCH64, elf::R_AARCH64_TLS_TPREL) => Some("R_AARCH64_TLS_TPREL64"),
        _ => None,
    };
    if let Some(name) = renamed {
        return name.to_owned();
    }
    let known = elf::machine_names(elf::Machine(machine)).r.name(elf::RelocationType(kind));
    known.map_or_else(|| format!("type {kind}"), str::to_owned)
}

/// Whether the addend is in the record or in the relocated word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelocationForm {
    /// In the word.
    Rel,
    /// In the record.
    Rela,
}

/// A relocation table, as referred to by `DT_REL`, `DT_RELA` or `DT_JMPREL`.
#[derive(Clone, Copy, Debug)]
pub enum RelocationTable<'data> {
    /// With addends in place.
    Rel(Table<'data, RelRecord>),
    /// With explicit addends.
    Rela(Table<'data, RelaRecord>),
}

/// A record of the form `REL`.
#[derive(Clone, Copy, Debug)]
pub struct RelRecord(pub Relocation);

/// A record of the form `RELA`.
#[derive(Clone, Copy, Debug)]
pub struct RelaRecord(pub Relocation);

impl<'data> RelocationTable<'data> {
    /// The table of this form in `bytes`, which begin at `file_offset` in the file.
    pub fn new(form: RelocationForm, bytes: &'data [u8], file_offset: FileOffset, encoding: Encoding) -> Self {
        match form {
            RelocationForm::Rel => Self::Rel(Table::new(bytes, file_offset, encoding)),
            RelocationForm::Rela => Self::Rela(Table::new(bytes, file_offset, encoding)),
        }
    }

    /// Where the addends are stored.
    pub fn form(&self) -> RelocationForm {
        match self {
            Self::Rel(_) => RelocationForm::Rel,
            Self::Rela(_) => RelocationForm::Rela,
        }
    }

    /// Number of relocations.
    pub fn len(&self) -> usize {
        match self {
            Self::Rel(table) => table.len(),
            Self::Rela(table) => table.len(),
        }
    }

    /// Whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of one record in bytes.
    pub fn record_size(&self) -> usize {
        match self {
            Self::Rel(table) => table.record_size(),
            Self::Rela(table) => table.record_size(),
        }
    }

    /// Size of the table in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Rel(table) => table.bytes().len() as u64,
            Self::Rela(table) => table.bytes().len() as u64,
        }
    }

    /// Where in the file it begins.
    pub fn file_offset(&self) -> FileOffset {
        match self {
            Self::Rel(table) => table.file_offset(),
            Self::Rela(table) => table.file_offset(),
        }
    }

    /// The relocation at `index`, from 0.
    pub fn get(&self, index: usize) -> Option<Relocation> {
        match self {
            Self::Rel(table) => table.get(index).map(|record| record.0),
            Self::Rela(table) => table.get(index).map(|record| record.0),
        }
    }

    /// Calls `visit` with each relocation in order. Faster than repeated [`Self::get`].
    pub fn for_each(&self, mut visit: impl FnMut(Relocation)) {
        match self {
            Self::Rel(table) => table.iter().for_each(|record| visit(record.0)),
            Self::Rela(table) => table.iter().for_each(|record| visit(record.0)),
        }
    }
}

impl TableRecord for RelRecord {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::Rel32<Endianness>>(),
            Class::Elf64 => size_of::<elf::Rel64<Endianness>>(),
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        let (offset, (symbol, kind)) = match encoding.class {
            Class::Elf32 => {
                let record: &elf::Rel32<Endianness> = raw(bytes)?;
                (record.r_offset.get(endian).into(), info_32(record.r_info.get(endian)))
            }
            Class::Elf64 => {
                let record: &elf::Rel64<Endianness> = raw(bytes)?;
                (record.r_offset.get(endian), info_64(record.r_info.get(endian), encoding))
            }
        };
        Some(Self(Relocation { offset: Vaddr(offset), symbol, kind, addend: None }))
    }
}

impl TableRecord for RelaRecord {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => size_of::<elf::Rela32<Endianness>>(),
            Class::Elf64 => size_of::<elf::Rela64<Endianness>>(),
        }
    }

    #[inline]
    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        let endian = encoding.endian();
        let (offset, (symbol, kind), addend) = match encoding.class {
            Class::Elf32 => {
                let record: &elf::Rela32<Endianness> = raw(bytes)?;
                let addend = record.r_addend.get(endian).into();
                (record.r_offset.get(endian).into(), info_32(record.r_info.get(endian)), addend)
            }
            Class::Elf64 => {
                let record: &elf::Rela64<Endianness> = raw(bytes)?;
                let addend = record.r_addend.get(endian);
                (record.r_offset.get(endian), info_64(record.r_info.get(endian), encoding), addend)
            }
        };
        Some(Self(Relocation { offset: Vaddr(offset), symbol, kind, addend: Some(addend) }))
    }
}

/// Symbol and type of an `r_info` of the file's class.
pub(crate) fn split_info(info: u64, encoding: Encoding) -> (u32, u32) {
    match encoding.class {
        Class::Elf32 => info_32(info as u32),
        Class::Elf64 => info_64(info, encoding),
    }
}

/// Symbol and type of `r_info` in 32-bit files.
fn info_32(info: u32) -> (u32, u32) {
    (info >> 8, info & 0xff)
}

/// Symbol and type of `r_info` in 64-bit files.
///
/// MIPS packs three types into the word; the loader uses the first. Its little-endian files keep the symbol in the
/// first four bytes and the types after it, so the two halves are swapped (MIPS 64-bit ELF specification, table 29).
/// SPARC's type is the lowest byte, with data for one type above it (glibc `elf/elf.h`, `ELF64_R_TYPE_ID`).
fn info_64(info: u64, encoding: Encoding) -> (u32, u32) {
    if encoding.machine == elf::EM_SPARCV9.0 {
        return ((info >> 32) as u32, (info & 0xff) as u32);
    }
    if encoding.machine != elf::EM_MIPS.0 {
        return ((info >> 32) as u32, info as u32);
    }
    match encoding.byte_order {
        crate::ByteOrder::Little => (info as u32, (info >> 56) as u32),
        crate::ByteOrder::Big => ((info >> 32) as u32, (info & 0xff) as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_names_and_meanings_on_every_machine() {
        let machines = [
            (elf::EM_X86_64, 8, "R_X86_64_RELATIVE"),
            (elf::EM_386, 8, "R_386_RELATIVE"),
            (elf::EM_ARM, 23, "R_ARM_RELATIVE"),
            (elf::EM_AARCH64, 1027, "R_AARCH64_RELATIVE"),
            (elf::EM_RISCV, 3, "R_RISCV_RELATIVE"),
            (elf::EM_S390, 12, "R_390_RELATIVE"),
            (elf::EM_PPC64, 22, "R_PPC64_RELATIVE"),
            (elf::EM_LOONGARCH, 3, "R_LARCH_RELATIVE"),
        ];
        for (machine, kind, name) in machines {
            assert_eq!(relocation_type_name(machine.0, kind), name);
            assert_eq!(RelocationClass::of(machine.0, kind), RelocationClass::Relative, "{name}");
        }
        assert_eq!(RelocationClass::of(elf::EM_386.0, 14), RelocationClass::ThreadLocal);
        assert_eq!(RelocationClass::of(elf::EM_AARCH64.0, 1026), RelocationClass::JumpSlot);
        assert_eq!(RelocationClass::of(elf::EM_AARCH64.0, 257), RelocationClass::Absolute);
        assert_eq!(relocation_type_name(elf::EM_X86_64.0, 999), "type 999");
    }
}
