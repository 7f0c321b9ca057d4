//! The tables that the dynamic table refers to: their addresses and sizes.
//!
//! Most tables do not state their size: hash tables, symbols and versions end where following them ends.

pub(crate) mod hash_tables;
pub(crate) mod notes;
pub(crate) mod relocations;
pub(crate) mod symbols;
pub(crate) mod version_lists;

use std::ops::Range;

use object::elf::SHT_PROGBITS;

use self::hash_tables::{GnuHash, SysvHash};
use self::relocations::{Form, RelocationTable, is_relative, records, relative_kind, word_count};
use self::symbols::{Names, symbol_size};
use crate::image::Image;
use crate::image::dynamic::{tag, tag_name};
use crate::image::headers::Section;
use crate::verdict::{NotProven, broken};

/// A table of the loader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its tag.
    pub(crate) tag: u64,
    pub(crate) memory: Range<u64>,
}

/// All tables of a file.
#[derive(Debug, Default)]
pub(crate) struct Tables<'a> {
    pub(crate) list: Vec<Table>,
    pub(crate) symbols: &'a [u8],
    pub(crate) symbol_count: u64,
    pub(crate) strings: &'a [u8],
    pub(crate) symbol_versions: Option<&'a [u8]>,
    pub(crate) gnu_hash: Option<GnuHash<'a>>,
    pub(crate) sysv_hash: Option<SysvHash<'a>>,
    /// `DT_REL`, `DT_RELA`, without the part in `DT_JMPREL`.
    pub(crate) relocations: Vec<RelocationTable<'a>>,
    pub(crate) plt_relocations: Option<RelocationTable<'a>>,
    pub(crate) relr: &'a [u8],
}

impl<'a> Tables<'a> {
    pub(crate) fn read(image: &Image<'a>) -> Result<Self, NotProven> {
        let mut tables = Self::default();
        tables.read_relocations(image)?;
        if let Some(start) = image.dynamic.get(tag::STRTAB) {
            let size = image.dynamic.get(tag::STRSZ).unwrap_or(0);
            tables.strings = tables.add(image, tag::STRTAB, start, size)?;
            if tables.strings.last().is_some_and(|last| *last != 0) {
                return Err(broken(image.which, "dynamic strings", "their end", "the last one is not terminated"));
            }
        }
        tables.read_hash_tables(image)?;
        tables.read_symbols(image)?;
        for (tag, size) in [
            (tag::VERNEED, version_lists::needed_size as fn(&Image<'_>, u64) -> Option<u64>),
            (tag::VERDEF, version_lists::defined_size),
        ] {
            if let Some(start) = image.dynamic.get(tag) {
                let size = size(image, start).ok_or_else(|| {
                    broken(image.which, "symbol versions", format!("{start:#x}"), "the list has no end")
                })?;
                let size = size.max(section_at(image, start).map_or(0, |section| section.size));
                tables.add(image, tag, start, size)?;
            }
        }
        Ok(tables)
    }

    fn add(&mut self, image: &Image<'a>, tag: u64, start: u64, size: u64) -> Result<&'a [u8], NotProven> {
        let memory = start..start.saturating_add(size);
        let bytes = image.at(memory.clone()).ok_or_else(|| {
            let name = tag_name(tag);
            broken(
                image.which,
                "dynamic table",
                &name,
                format!("its table at {start:#x} is not within one mapped range"),
            )
        })?;
        self.list.push(Table { tag, memory });
        Ok(bytes)
    }

    fn read_hash_tables(&mut self, image: &Image<'a>) -> Result<(), NotProven> {
        let lost = |start: u64| broken(image.which, "hash table", format!("{start:#x}"), "it extends past its segment");
        if let Some(start) = image.dynamic.get(tag::GNU_HASH) {
            let table = GnuHash::read(image, start).ok_or_else(|| lost(start))?;
            let size = table.size.max(section_at(image, start).map_or(0, |section| section.size));
            self.add(image, tag::GNU_HASH, start, size)?;
            self.gnu_hash = Some(table);
        }
        if let Some(start) = image.dynamic.get(tag::HASH) {
            let table = SysvHash::read(image, start).ok_or_else(|| lost(start))?;
            self.add(image, tag::HASH, start, table.size)?;
            self.sysv_hash = Some(table);
        }
        Ok(())
    }

    fn read_symbols(&mut self, image: &Image<'a>) -> Result<(), NotProven> {
        let Some(start) = image.dynamic.get(tag::SYMTAB) else { return Ok(()) };
        let size = symbol_size(image);
        let hashed = self.sysv_hash.as_ref().map(|table| table.symbol_count);
        let gnu_hashed = self.gnu_hash.as_ref().map(|table| table.symbol_count);
        let section = section_at(image, start).and_then(|section| section.size.checked_div(size));
        let mut count = hashed.max(gnu_hashed).max(section).unwrap_or(0);
        if section.is_none() {
            let all = self.relocations.iter().chain(&self.plt_relocations);
            let used =
                all.flat_map(|table| records(image, *table)).map(|record| u64::from(record.symbol).saturating_add(1));
            count = count.max(used.max().unwrap_or(0));
        }
        self.symbols = self.add(image, tag::SYMTAB, start, count.saturating_mul(size))?;
        self.symbol_count = count;
        if let Some(start) = image.dynamic.get(tag::VERSYM) {
            self.symbol_versions = Some(self.add(image, tag::VERSYM, start, count.saturating_mul(2))?);
        }
        Ok(())
    }

    fn read_relocations(&mut self, image: &Image<'a>) -> Result<(), NotProven> {
        let plt = image.dynamic.get(tag::JMPREL).map(|start| {
            let size = image.dynamic.get(tag::PLTRELSZ).unwrap_or(0);
            let form = if image.dynamic.get(tag::PLTREL) == Some(tag::REL) { Form::Rel } else { Form::Rela };
            (form, start, start.saturating_add(size))
        });
        for (form, tag, size_tag, entry_tag) in
            [(Form::Rel, tag::REL, tag::RELSZ, tag::RELENT), (Form::Rela, tag::RELA, tag::RELASZ, tag::RELAENT)]
        {
            let Some(start) = image.dynamic.get(tag) else { continue };
            let mut size = image.dynamic.get(size_tag).unwrap_or(0);
            // _ELF_DYNAMIC_DO_RELOC of glibc: a table that ends with the PLT's relocations counts without them.
            if let Some((plt_form, plt_start, plt_end)) = plt
                && plt_form == form
                && plt_start >= start
                && plt_end == start.saturating_add(size)
            {
                size = plt_start.saturating_sub(start);
            }
            let entry = form.entry_size(image.encoding.wide);
            let stated = image.dynamic.get(entry_tag);
            if stated != Some(entry) || size.checked_rem(entry) != Some(0) {
                let problem = format!("{size:#x} bytes are not a multiple of the entry size {stated:?}");
                return Err(broken(image.which, "relocation table", format!("{start:#x}"), problem));
            }
            let bytes = self.add(image, tag, start, size)?;
            self.relocations.push(RelocationTable { form, bytes });
        }
        if let Some((form, start, end)) = plt {
            let bytes = self.add(image, tag::JMPREL, start, end.saturating_sub(start))?;
            self.plt_relocations = Some(RelocationTable { form, bytes });
        }
        if let Some(start) = image.dynamic.get(tag::RELR) {
            let word = image.word_size();
            let size = image.dynamic.get(tag::RELRSZ).unwrap_or(0);
            let entry = image.dynamic.get(tag::RELRENT);
            if entry != Some(word) || size.checked_rem(word) != Some(0) || start.checked_rem(word) != Some(0) {
                let problem = format!("{size:#x} bytes with entry size {entry:?} are not aligned words");
                return Err(broken(image.which, "relocation table", format!("{start:#x}"), problem));
            }
            self.relr = self.add(image, tag::RELR, start, size)?;
        }
        Ok(())
    }

    pub(crate) fn get(&self, tag: u64) -> Option<&Range<u64>> {
        self.list.iter().find(|table| table.tag == tag).map(|table| &table.memory)
    }

    /// The dynamic symbols with their strings.
    pub(crate) fn names<'n>(&self, image: &'n Image<'n>) -> Names<'n>
    where
        'a: 'n,
    {
        Names { image, symbols: self.symbols, strings: self.strings }
    }

    /// Every address that non-relative relocations change, sorted, with its size in bytes.
    pub(crate) fn other_targets(&self, image: &Image<'_>) -> Vec<(u64, u64)> {
        let relative = relative_kind(image.header.machine, image.encoding.wide);
        let all = self.relocations.iter().chain(&self.plt_relocations).flat_map(|table| records(image, *table));
        let all = all.filter(|record| !is_relative(relative, record));
        // Type 0 is "none" on every architecture.
        let targets = all.filter(|record| record.kind.0 != 0).map(|record| {
            (record.offset, word_count(image.header.machine, record.kind).saturating_mul(image.word_size()))
        });
        let mut targets: Vec<_> = targets.collect();
        targets.sort_unstable();
        targets
    }
}

/// The allocated section of a table that begins at an address.
fn section_at<'s>(image: &'s Image<'_>, start: u64) -> Option<&'s Section<'s>> {
    image.sections.iter().find(|section| {
        section.is_allocated()
            && section.is_in_file()
            && section.address == start
            && section.size > 0
            && section.kind != SHT_PROGBITS
    })
}
