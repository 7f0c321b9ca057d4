//! The dynamic table, the loader's index of all other tables.

use std::collections::BTreeSet;
use std::ops::Range;

use super::encoding::Encoding;
use crate::verdict::{NotProven, Which, broken};

/// Tags as stored in a word of a file.
pub(crate) mod tag {
    use object::elf;

    /// None of the tags in `object` is negative.
    const fn number(tag: elf::DynamicTag) -> u64 {
        tag.0.cast_unsigned()
    }

    pub(crate) const NULL: u64 = number(elf::DT_NULL);
    pub(crate) const NEEDED: u64 = number(elf::DT_NEEDED);
    pub(crate) const PLTRELSZ: u64 = number(elf::DT_PLTRELSZ);
    pub(crate) const PLTGOT: u64 = number(elf::DT_PLTGOT);
    pub(crate) const HASH: u64 = number(elf::DT_HASH);
    pub(crate) const STRTAB: u64 = number(elf::DT_STRTAB);
    pub(crate) const SYMTAB: u64 = number(elf::DT_SYMTAB);
    pub(crate) const RELA: u64 = number(elf::DT_RELA);
    pub(crate) const RELASZ: u64 = number(elf::DT_RELASZ);
    pub(crate) const RELAENT: u64 = number(elf::DT_RELAENT);
    pub(crate) const STRSZ: u64 = number(elf::DT_STRSZ);
    pub(crate) const SYMENT: u64 = number(elf::DT_SYMENT);
    pub(crate) const INIT: u64 = number(elf::DT_INIT);
    pub(crate) const FINI: u64 = number(elf::DT_FINI);
    pub(crate) const SONAME: u64 = number(elf::DT_SONAME);
    pub(crate) const RPATH: u64 = number(elf::DT_RPATH);
    pub(crate) const SYMBOLIC: u64 = number(elf::DT_SYMBOLIC);
    pub(crate) const REL: u64 = number(elf::DT_REL);
    pub(crate) const RELSZ: u64 = number(elf::DT_RELSZ);
    pub(crate) const RELENT: u64 = number(elf::DT_RELENT);
    pub(crate) const PLTREL: u64 = number(elf::DT_PLTREL);
    pub(crate) const DEBUG: u64 = number(elf::DT_DEBUG);
    pub(crate) const TEXTREL: u64 = number(elf::DT_TEXTREL);
    pub(crate) const JMPREL: u64 = number(elf::DT_JMPREL);
    pub(crate) const BIND_NOW: u64 = number(elf::DT_BIND_NOW);
    pub(crate) const INIT_ARRAYSZ: u64 = number(elf::DT_INIT_ARRAYSZ);
    pub(crate) const FINI_ARRAYSZ: u64 = number(elf::DT_FINI_ARRAYSZ);
    pub(crate) const RUNPATH: u64 = number(elf::DT_RUNPATH);
    pub(crate) const FLAGS: u64 = number(elf::DT_FLAGS);
    pub(crate) const PREINIT_ARRAYSZ: u64 = number(elf::DT_PREINIT_ARRAYSZ);
    pub(crate) const RELRSZ: u64 = number(elf::DT_RELRSZ);
    pub(crate) const RELR: u64 = number(elf::DT_RELR);
    pub(crate) const RELRENT: u64 = number(elf::DT_RELRENT);
    pub(crate) const GNU_HASH: u64 = number(elf::DT_GNU_HASH);
    pub(crate) const DEPAUDIT: u64 = number(elf::DT_DEPAUDIT);
    pub(crate) const AUDIT: u64 = number(elf::DT_AUDIT);
    pub(crate) const VERSYM: u64 = number(elf::DT_VERSYM);
    pub(crate) const RELACOUNT: u64 = number(elf::DT_RELACOUNT);
    pub(crate) const RELCOUNT: u64 = number(elf::DT_RELCOUNT);
    pub(crate) const FLAGS_1: u64 = number(elf::DT_FLAGS_1);
    pub(crate) const VERDEF: u64 = number(elf::DT_VERDEF);
    pub(crate) const VERDEFNUM: u64 = number(elf::DT_VERDEFNUM);
    pub(crate) const VERNEED: u64 = number(elf::DT_VERNEED);
    pub(crate) const VERNEEDNUM: u64 = number(elf::DT_VERNEEDNUM);
    pub(crate) const AARCH64_BTI_PLT: u64 = number(elf::DT_AARCH64_BTI_PLT);
    pub(crate) const AARCH64_PAC_PLT: u64 = number(elf::DT_AARCH64_PAC_PLT);
    pub(crate) const AARCH64_VARIANT_PCS: u64 = number(elf::DT_AARCH64_VARIANT_PCS);
    pub(crate) const MIPS_RLD_MAP_REL: u64 = number(elf::DT_MIPS_RLD_MAP_REL);
    pub(crate) const AUXILIARY: u64 = number(elf::DT_AUXILIARY);
    pub(crate) const FILTER: u64 = number(elf::DT_FILTER);
}

/// The name of a tag, or its number.
pub(crate) fn tag_name(tag: u64) -> String {
    match u32::try_from(tag).ok().and_then(|tag| object::elf::DynamicTag(i64::from(tag)).name()) {
        Some(name) => name.to_owned(),
        None => format!("{tag:#x}"),
    }
}

/// An entry of the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) tag: u64,
    pub(crate) value: u64,
}

/// The dynamic table of a file, up to its first `DT_NULL`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dynamic {
    pub(crate) entries: Vec<Entry>,
    /// All of `PT_DYNAMIC`, with the entries after the end.
    pub(crate) memory: Range<u64>,
    /// Whether the file has such a segment.
    pub(crate) exists: bool,
}

impl Dynamic {
    /// As `elf_get_dynamic_info` of glibc reads it: by address, up to the first `DT_NULL`.
    pub(crate) fn read(which: Which, encoding: Encoding, memory: Range<u64>, bytes: &[u8]) -> Result<Self, NotProven> {
        let word = encoding.word_size() as usize;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        for (number, bytes) in bytes.chunks_exact(word.saturating_mul(2)).enumerate() {
            let value = bytes.get(word..).and_then(|bytes| encoding.word(bytes));
            let (Some(tag), Some(value)) = (encoding.word(bytes), value) else { break };
            if tag == tag::NULL {
                return Ok(Self { entries, memory, exists: true });
            }
            let repeats = [tag::NEEDED, tag::AUXILIARY, tag::FILTER].contains(&tag);
            if !repeats && !seen.insert(tag) {
                let problem = format!("duplicate {}", tag_name(tag));
                return Err(broken(which, "dynamic table", format!("entry {number}"), problem));
            }
            entries.push(Entry { tag, value });
        }
        Err(broken(which, "dynamic table", "its end", "missing DT_NULL"))
    }

    pub(crate) fn get(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }
}
