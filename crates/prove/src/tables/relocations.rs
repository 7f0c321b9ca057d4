//! Relocation records of the two old forms, with and without addends.

use object::Endianness;
use object::elf::{self, Machine, Rel32, Rel64, Rela32, Rela64, RelocationType};
use object::pod::from_bytes;

use crate::image::Image;
use crate::image::encoding::Encoding;

/// Where a record's addend is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// In the relocated word.
    Rel,
    /// In the record.
    Rela,
}

impl Form {
    pub(crate) fn entry_size(self, wide: bool) -> u64 {
        match (self, wide) {
            (Self::Rel, false) => 8,
            (Self::Rela, false) => 12,
            (Self::Rel, true) => 16,
            (Self::Rela, true) => 24,
        }
    }
}

/// A table of relocations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelocationTable<'a> {
    pub(crate) form: Form,
    pub(crate) bytes: &'a [u8],
}

/// A relocation record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) offset: u64,
    pub(crate) kind: RelocationType,
    pub(crate) symbol: u32,
    /// `r_info` as stored; on some architectures it has more than type and symbol.
    pub(crate) info: u64,
    /// None in the form `REL`.
    pub(crate) addend: Option<u64>,
}

/// The relocation type "base plus addend" of an architecture (each psABI's table of relocations), if it has one for
/// one word without a symbol.
pub(crate) fn relative_kind(machine: Machine, wide: bool) -> Option<RelocationType> {
    Some(match (machine, wide) {
        (elf::EM_386, _) => elf::R_386_RELATIVE,
        (elf::EM_X86_64, _) => elf::R_X86_64_RELATIVE,
        (elf::EM_ARM, _) => elf::R_ARM_RELATIVE,
        (elf::EM_AARCH64, true) => elf::R_AARCH64_RELATIVE,
        (elf::EM_AARCH64, false) => elf::R_AARCH64_P32_RELATIVE,
        (elf::EM_RISCV, _) => elf::R_RISCV_RELATIVE,
        (elf::EM_LOONGARCH, _) => elf::R_LARCH_RELATIVE,
        (elf::EM_PPC, _) => elf::R_PPC_RELATIVE,
        (elf::EM_PPC64, _) => elf::R_PPC64_RELATIVE,
        (elf::EM_SPARC | elf::EM_SPARC32PLUS | elf::EM_SPARCV9, _) => elf::R_SPARC_RELATIVE,
        (elf::EM_68K, _) => elf::R_68K_RELATIVE,
        (elf::EM_S390, _) => elf::R_390_RELATIVE,
        (elf::EM_SH, _) => elf::R_SH_RELATIVE,
        (elf::EM_ALPHA, _) => elf::R_ALPHA_RELATIVE,
        _ => return None,
    })
}

/// TLS descriptors are two words.
pub(crate) fn word_count(machine: Machine, kind: RelocationType) -> u64 {
    match (machine, kind) {
        (elf::EM_386, elf::R_386_TLS_DESC)
        | (elf::EM_X86_64, elf::R_X86_64_TLSDESC)
        | (elf::EM_ARM, elf::R_ARM_TLS_DESC)
        | (elf::EM_AARCH64, elf::R_AARCH64_TLSDESC)
        | (elf::EM_RISCV, elf::R_RISCV_TLSDESC) => 2,
        _ => 1,
    }
}

/// The records of a table, in order.
pub(crate) fn records<'a>(image: &Image<'_>, table: RelocationTable<'a>) -> impl Iterator<Item = Record> + use<'a> {
    let (Encoding { wide, endian }, form) = (image.encoding, table.form);
    // MIPS (8) encodes r_info differently; the whole is compared, and no type of it is known here.
    let size = form.entry_size(wide) as usize;
    table.bytes.chunks_exact(size).filter_map(move |bytes| record(bytes, wide, endian, form))
}

fn record(bytes: &[u8], wide: bool, endian: Endianness, form: Form) -> Option<Record> {
    let (offset, info, addend) = match (form, wide) {
        (Form::Rel, false) => {
            let (record, _) = from_bytes::<Rel32<Endianness>>(bytes).ok()?;
            (u64::from(record.r_offset.get(endian)), u64::from(record.r_info.get(endian)), None)
        }
        (Form::Rela, false) => {
            let (record, _) = from_bytes::<Rela32<Endianness>>(bytes).ok()?;
            let addend = record.r_addend.get(endian) as u32;
            (u64::from(record.r_offset.get(endian)), u64::from(record.r_info.get(endian)), Some(u64::from(addend)))
        }
        (Form::Rel, true) => {
            let (record, _) = from_bytes::<Rel64<Endianness>>(bytes).ok()?;
            (record.r_offset.get(endian), record.r_info.get(endian), None)
        }
        (Form::Rela, true) => {
            let (record, _) = from_bytes::<Rela64<Endianness>>(bytes).ok()?;
            (record.r_offset.get(endian), record.r_info.get(endian), Some(record.r_addend.get(endian) as u64))
        }
    };
    let (symbol, kind) = if wide { (info >> 32, info & 0xffff_ffff) } else { (info >> 8, info & 0xff) };
    Some(Record { offset, kind: RelocationType(kind as u32), symbol: symbol as u32, info, addend })
}

/// Whether a record of `DT_REL` or `DT_RELA` is a relative relocation.
pub(crate) fn is_relative(relative: Option<RelocationType>, record: &Record) -> bool {
    relative == Some(record.kind) && record.symbol == 0
}
