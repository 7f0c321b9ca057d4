//! References to the file's own definitions that the output binds: relative relocations instead of look-ups by name.
//!
//! Which ones may be bound follows from the original and the edit alone. glibc does not look up local and hidden symbols
//! (`RESOLVE_MAP` of `elf/dl-reloc.c`), and searches an object with `DT_SYMBOLIC` first for its own references
//! (`_dl_map_object_from_fd` of `elf/dl-load.c`). All others need the edit's word that nothing comes before.

use std::collections::BTreeMap;

use object::elf::{
    self, Machine, RelocationType, STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_NOTYPE, STT_OBJECT, STV_HIDDEN,
    STV_INTERNAL, STV_PROTECTED,
};

use crate::edit::BindEdit;
use crate::image::Image;
use crate::image::dynamic::tag;
use crate::tables::Tables;
use crate::tables::relocations::Record;
use crate::tables::symbols::{is_string, string, symbol};

/// `DF_SYMBOLIC`.
const SYMBOLIC: u64 = 2;
/// `DF_BIND_NOW` and `DF_1_NOW`.
const BIND_NOW: u64 = 8;
const NOW_1: u64 = 1;

/// A reference of the original that is relative in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The word.
    pub(crate) address: u64,
    /// Its value without the load bias.
    pub(crate) value: u64,
}

/// How a relocation makes a word of its symbol's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sum {
    /// Address plus addend.
    WithAddend,
    /// The address alone.
    Plain,
    /// The address alone, for calls.
    Call,
}

/// Relocations of whole words with a symbol (each psABI's table of relocations).
fn sum_of(machine: Machine, wide: bool, kind: RelocationType) -> Option<Sum> {
    use Sum::{Call, Plain, WithAddend};
    let sums: &[(RelocationType, Sum)] = match (machine, wide) {
        (elf::EM_X86_64, true) => {
            &[(elf::R_X86_64_64, WithAddend), (elf::R_X86_64_GLOB_DAT, Plain), (elf::R_X86_64_JUMP_SLOT, Call)]
        }
        (elf::EM_AARCH64, true) => {
            &[(elf::R_AARCH64_ABS64, WithAddend), (elf::R_AARCH64_GLOB_DAT, Plain), (elf::R_AARCH64_JUMP_SLOT, Call)]
        }
        (elf::EM_RISCV, true) => &[(elf::R_RISCV_64, WithAddend), (elf::R_RISCV_JUMP_SLOT, Call)],
        (elf::EM_RISCV, false) => &[(elf::R_RISCV_32, WithAddend), (elf::R_RISCV_JUMP_SLOT, Call)],
        (elf::EM_386, false) => {
            &[(elf::R_386_32, WithAddend), (elf::R_386_GLOB_DAT, Plain), (elf::R_386_JMP_SLOT, Call)]
        }
        (elf::EM_ARM, false) => {
            &[(elf::R_ARM_ABS32, WithAddend), (elf::R_ARM_GLOB_DAT, Plain), (elf::R_ARM_JUMP_SLOT, Call)]
        }
        _ => &[],
    };
    sums.iter().find(|(of, _)| *of == kind).map(|(_, sum)| *sum)
}

/// The references of the original that the edit may bind.
pub(crate) struct Own<'o> {
    image: &'o Image<'o>,
    tables: &'o Tables<'o>,
    edit: &'o BindEdit,
    is_glibc: bool,
    /// Symbols by whether the object's own hash table finds them by their name.
    are_first: BTreeMap<u32, bool>,
}

impl<'o> Own<'o> {
    pub(crate) fn new((image, tables): (&'o Image<'o>, &'o Tables<'o>), edit: &'o BindEdit) -> Self {
        Self { image, tables, edit, is_glibc: needs(image, tables, b"libc.so.6"), are_first: BTreeMap::new() }
    }

    /// What a reference comes to, if the edit may bind it.
    pub(crate) fn bound(&mut self, record: &Record) -> Option<Bound> {
        let (image, tables, is_glibc) = (self.image, self.tables, self.is_glibc);
        let number = u64::from(record.symbol);
        let sum = sum_of(image.header.machine, image.encoding.wide, record.kind)?;
        let symbol = symbol(image, tables.symbols, number).filter(|_| number != 0)?;
        let is_address = symbol.has_address()
            && symbol.value != 0
            && !symbol.is_reserved()
            && [STT_NOTYPE, STT_OBJECT, STT_FUNC].contains(&symbol.kind());
        let is_common = [STB_GLOBAL, STB_WEAK].contains(&symbol.binding());
        // A call never leaves the object (`_dl_lookup_symbol_x` of elf/dl-lookup.c), but an address may.
        let is_protected = symbol.visibility == STV_PROTECTED && sum == Sum::Call;
        let is_hidden = [STV_HIDDEN, STV_INTERNAL].contains(&symbol.visibility) || is_protected;
        let own_first = is_glibc && is_symbolic(image) || self.edit.not_interposed.contains(&record.symbol);
        let mut is_first =
            || *self.are_first.entry(record.symbol).or_insert_with(|| is_first(image, tables, number, symbol.name));
        let may = is_address
            && (symbol.binding() == STB_LOCAL || is_common && (is_glibc && is_hidden || own_first && is_first()));
        let addend = match (sum, record.addend) {
            (Sum::Plain | Sum::Call, None | Some(0)) => 0,
            (Sum::Plain | Sum::Call, Some(_)) => return None,
            (Sum::WithAddend, Some(addend)) => addend,
            (Sum::WithAddend, None) => held(image, record.offset)?,
        };
        may.then(|| Bound { address: record.offset, value: image.mask(symbol.value.wrapping_add(addend)) })
    }
}

/// The word at an address, as it is in the file.
fn held(image: &Image<'_>, address: u64) -> Option<u64> {
    image.at(address..address.checked_add(image.word_size())?).and_then(|bytes| image.word(bytes))
}

/// Whether the loader looks up the PLT's symbols when it loads the object (`elf_get_dynamic_info` of glibc).
pub(crate) fn binds_now(image: &Image<'_>) -> bool {
    let flags = |tag| image.dynamic.get(tag).unwrap_or(0);
    image.dynamic.get(tag::BIND_NOW).is_some() || flags(tag::FLAGS) & BIND_NOW != 0 || flags(tag::FLAGS_1) & NOW_1 != 0
}

fn is_symbolic(image: &Image<'_>) -> bool {
    let flags = image.dynamic.get(tag::FLAGS).unwrap_or(0);
    image.dynamic.get(tag::SYMBOLIC).is_some() || flags & SYMBOLIC != 0
}

fn needs(image: &Image<'_>, tables: &Tables<'_>, library: &[u8]) -> bool {
    let mut needed = image.dynamic.entries.iter().filter(|entry| entry.tag == tag::NEEDED);
    needed.any(|entry| is_string(tables.strings, entry.value, library))
}

/// Whether the object's own hash table leads from the symbol's name to the symbol.
fn is_first(image: &Image<'_>, tables: &Tables<'_>, number: u64, name: u64) -> bool {
    let Some(name) = string(tables.strings, name) else { return false };
    let names = tables.names(image);
    let found = match (&tables.gnu_hash, &tables.sysv_hash) {
        (Some(table), _) => table.find(image, &names, name),
        (None, Some(table)) => table.find(image, &names, name),
        (None, None) => None,
    };
    found == Some(number)
}
