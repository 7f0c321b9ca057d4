//! Every parser of the crate, called with any bytes: what the hostile-input test and the fuzz targets share.
//!
//! A function for each parser; it returns whatever the bytes are, and asserts what must hold for what was read. Bytes that
//! begin like an ELF file go in through [`ElfFile`]; others are taken for a table, so that a fuzzer need not build a file
//! around it. Walks are bounded by [`MOST_STEPS`], because a few bytes may stand for more than a lifetime of entries.

pub mod android_packed;
pub mod debug;
pub mod file;
pub mod hash;
pub mod notes;
pub mod relocations;
pub mod relr;
pub mod symbols;
pub mod unwind;
pub mod versions;

use std::hint::black_box;

use coldstart_elf::{ByteOrder, Class, DynamicTable, ElfFile, Encoding};

/// No walk goes further.
pub const MOST_STEPS: usize = 2000;

/// A parser's name and the function that calls it.
pub type Exercise = (&'static str, fn(&[u8]));

/// All of them. The names are those of the fuzz targets.
pub const ALL: &[Exercise] = &[
    ("elf_file", file::exercise),
    ("elf_symbols", symbols::exercise),
    ("elf_relocations", relocations::exercise),
    ("elf_relr", relr::exercise),
    ("elf_notes", notes::exercise),
    ("elf_versions", versions::exercise),
    ("elf_hash", hash::exercise),
    ("elf_unwind", unwind::exercise),
    ("elf_debug", debug::exercise),
    ("elf_android_packed", android_packed::exercise),
];

/// What the bytes of an input are.
pub enum Input<'data> {
    /// An ELF file with what its dynamic table says, if it has one that can be read.
    File(Box<ElfFile<'data>>, Option<DynamicTable<'data>>),
    /// A table in the given encoding. The last number is for the parser's own choices.
    Table(&'data [u8], Encoding, u8),
    /// Neither.
    Nothing,
}

/// Takes bytes for an ELF file, or for a table behind a byte that says how it is written.
pub fn open(bytes: &[u8]) -> Input<'_> {
    if bytes.starts_with(b"\x7fELF") {
        let Ok(file) = ElfFile::parse(bytes) else { return Input::Nothing };
        let dynamic = file.dynamic().ok().flatten();
        return Input::File(Box::new(file), dynamic);
    }
    let Some((choice, table)) = bytes.split_first() else { return Input::Nothing };
    let class = if choice & 1 == 0 { Class::Elf64 } else { Class::Elf32 };
    let byte_order = if choice & 2 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    // x86-64, and MIPS, whose relocations are written in their own way.
    let machine = if choice & 4 == 0 { 62 } else { 8 };
    Input::Table(table, Encoding { class, byte_order, machine }, choice >> 3)
}

/// Goes through an iterator as far as is allowed, and keeps the compiler from leaving the work out.
pub fn walk<T>(items: impl IntoIterator<Item = T>) {
    items.into_iter().take(MOST_STEPS).for_each(|item| {
        black_box(item);
    });
}
