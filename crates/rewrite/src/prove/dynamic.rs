//! The dynamic table: the loader's list of everything else.

use std::collections::BTreeSet;
use std::ops::Range;

use super::image::{Image, PT_DYNAMIC};
use super::verdict::{NotProven, broken, unreadable};

pub(super) mod tag {
    pub(crate) const NEEDED: u64 = 1;
    pub(crate) const PLTRELSZ: u64 = 2;
    pub(crate) const PLTGOT: u64 = 3;
    pub(crate) const HASH: u64 = 4;
    pub(crate) const STRTAB: u64 = 5;
    pub(crate) const SYMTAB: u64 = 6;
    pub(crate) const RELA: u64 = 7;
    pub(crate) const RELASZ: u64 = 8;
    pub(crate) const RELAENT: u64 = 9;
    pub(crate) const STRSZ: u64 = 10;
    pub(crate) const SYMENT: u64 = 11;
    pub(crate) const INIT: u64 = 12;
    pub(crate) const FINI: u64 = 13;
    pub(crate) const SONAME: u64 = 14;
    pub(crate) const RPATH: u64 = 15;
    pub(crate) const SYMBOLIC: u64 = 16;
    pub(crate) const REL: u64 = 17;
    pub(crate) const RELSZ: u64 = 18;
    pub(crate) const RELENT: u64 = 19;
    pub(crate) const PLTREL: u64 = 20;
    pub(crate) const DEBUG: u64 = 21;
    pub(crate) const TEXTREL: u64 = 22;
    pub(crate) const JMPREL: u64 = 23;
    pub(crate) const BIND_NOW: u64 = 24;
    pub(crate) const INIT_ARRAYSZ: u64 = 27;
    pub(crate) const FINI_ARRAYSZ: u64 = 28;
    pub(crate) const RUNPATH: u64 = 29;
    pub(crate) const FLAGS: u64 = 30;
    pub(crate) const PREINIT_ARRAYSZ: u64 = 33;
    pub(crate) const RELRSZ: u64 = 35;
    pub(crate) const RELR: u64 = 36;
    pub(crate) const RELRENT: u64 = 37;
    pub(crate) const GNU_HASH: u64 = 0x6fff_fef5;
    pub(crate) const DEPAUDIT: u64 = 0x6fff_fefb;
    pub(crate) const AUDIT: u64 = 0x6fff_fefc;
    pub(crate) const VERSYM: u64 = 0x6fff_fff0;
    pub(crate) const RELACOUNT: u64 = 0x6fff_fff9;
    pub(crate) const RELCOUNT: u64 = 0x6fff_fffa;
    pub(crate) const FLAGS_1: u64 = 0x6fff_fffb;
    pub(crate) const VERDEF: u64 = 0x6fff_fffc;
    pub(crate) const VERDEFNUM: u64 = 0x6fff_fffd;
    pub(crate) const VERNEED: u64 = 0x6fff_fffe;
    pub(crate) const VERNEEDNUM: u64 = 0x6fff_ffff;
    pub(crate) const AUXILIARY: u64 = 0x7fff_fffd;
    pub(crate) const FILTER: u64 = 0x7fff_ffff;
}

/// The name of a tag, or its number.
pub(super) fn tag_name(tag: u64) -> String {
    match u32::try_from(tag).ok().and_then(|tag| object::elf::DynamicTag(i64::from(tag)).name()) {
        Some(name) => name.to_owned(),
        None => format!("{tag:#x}"),
    }
}

/// An entry of the dynamic table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) tag: u64,
    pub(super) value: u64,
}

/// The dynamic table of a file, up to its first `DT_NULL`.
#[derive(Clone, Debug, Default)]
pub(super) struct Dynamic {
    pub(super) entries: Vec<Entry>,
    /// All of `PT_DYNAMIC`, with the entries behind the end.
    pub(super) memory: Range<u64>,
    /// Whether there is such a segment.
    pub(super) exists: bool,
}

impl Dynamic {
    /// As `elf_get_dynamic_info` of glibc reads it: by address, up to the first `DT_NULL`.
    pub(super) fn read(image: &Image<'_>) -> Result<Self, NotProven> {
        let mut segments = image.segments_of(PT_DYNAMIC);
        let Some(segment) = segments.next() else { return Ok(Self::default()) };
        if segments.next().is_some() {
            return Err(unreadable(image.which, "it has more than one PT_DYNAMIC"));
        }
        let memory = segment.backed();
        let bytes = image.at(memory.clone()).ok_or_else(|| unreadable(image.which, "PT_DYNAMIC is not mapped"))?;
        let word = image.word_size() as usize;
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = BTreeSet::new();
        for (number, bytes) in bytes.chunks_exact(word.saturating_mul(2)).enumerate() {
            let value = bytes.get(word..).and_then(|bytes| image.word(bytes));
            let (Some(tag), Some(value)) = (image.word(bytes), value) else { break };
            if tag == 0 {
                return Ok(Self { entries, memory, exists: true });
            }
            let repeats = [tag::NEEDED, tag::AUXILIARY, tag::FILTER].contains(&tag);
            if !repeats && !seen.insert(tag) {
                let problem = format!("{} stands there a second time", tag_name(tag));
                return Err(broken(image.which, "dynamic table", format!("entry {number}"), problem));
            }
            entries.push(Entry { tag, value });
        }
        Err(broken(image.which, "dynamic table", "its end", "no DT_NULL ends it"))
    }

    pub(super) fn get(&self, tag: u64) -> Option<u64> {
        self.entries.iter().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }
}
