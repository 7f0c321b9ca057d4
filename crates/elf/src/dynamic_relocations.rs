//! All relocations of an object, as its dynamic table names them.

use crate::address::Vaddr;
use crate::android_packed::{PackedForm, PackedRelocations};
use crate::dynamic::{DynamicTable, Tag};
use crate::error::Result;
use crate::file::ElfFile;
use crate::relocation::{RelocationForm, RelocationTable};
use crate::relr::RelrTable;
use crate::section::SectionKind;

/// The relocation tables that the dynamic loader processes.
#[derive(Clone, Debug, Default)]
pub struct DynamicRelocations<'data> {
    /// `DT_REL`, without what also belongs to the PLT.
    pub rel: Option<RelocationTable<'data>>,
    /// `DT_RELA`, without what also belongs to the PLT.
    pub rela: Option<RelocationTable<'data>>,
    /// `DT_JMPREL`: the relocations of the PLT, which may be put off until a function is called.
    pub plt: Option<RelocationTable<'data>>,
    /// `DT_RELR`.
    pub relr: Option<RelrTable<'data>>,
    /// `DT_ANDROID_REL` and `DT_ANDROID_RELA`. Their size does not bound the relocation count.
    pub android: Vec<PackedRelocations<'data>>,
}

impl<'data> DynamicRelocations<'data> {
    /// The tables, without the PLT's.
    pub fn tables(&self) -> impl Iterator<Item = &RelocationTable<'data>> {
        self.rel.iter().chain(&self.rela)
    }

    /// All tables, the PLT's last, in the loader's order.
    pub fn all_tables(&self) -> impl Iterator<Item = &RelocationTable<'data>> {
        self.tables().chain(&self.plt)
    }
}

impl<'data> ElfFile<'data> {
    /// The relocations of a dynamic object.
    ///
    /// # Errors
    /// If a table is not within the part of one segment that comes from the file.
    pub fn dynamic_relocations(&self, dynamic: &DynamicTable<'_>) -> Result<DynamicRelocations<'data>> {
        let plt_form = match dynamic.get(Tag::PLTREL).map(Tag) {
            Some(Tag::RELA) => RelocationForm::Rela,
            Some(_) => RelocationForm::Rel,
            // Old MIPS files and hand-made ones omit it; then only one form is present.
            None if dynamic.get(Tag::RELA).is_some() => RelocationForm::Rela,
            None => RelocationForm::Rel,
        };
        let plt = range(dynamic, Tag::JMPREL, Tag::PLTRELSZ);
        let without_plt = |form, (address, size): (Vaddr, u64)| match plt {
            // Some linkers count the PLT's relocations in both ranges; glibc does the same (`elf/do-rel.h`).
            Some((plt_address, plt_size))
                if plt_form == form
                    && plt_address >= address
                    && address.0.checked_add(size) == plt_address.0.checked_add(plt_size) =>
            {
                (address, size.saturating_sub(plt_size))
            }
            _ => (address, size),
        };
        let table = |name, form, place: Option<(Vaddr, u64)>| match place {
            Some((address, size)) if size > 0 => {
                let bytes = self.memory_bytes(name, address, size)?;
                let offset = self.offset_of(address).unwrap_or_default();
                Ok(Some(RelocationTable::new(form, bytes, offset, self.encoding())))
            }
            _ => Ok(None),
        };
        let of_form = |name, form, start, size| {
            table(name, form, range(dynamic, start, size).map(|place| without_plt(form, place)))
        };
        let relr = range(dynamic, Tag::RELR, Tag::RELRSZ)
            .or_else(|| range(dynamic, Tag::ANDROID_RELR, Tag::ANDROID_RELRSZ))
            .filter(|(_, size)| *size > 0);
        let android = |form| self.android_packed_relocations(dynamic, form);
        Ok(DynamicRelocations {
            android: android(PackedForm::Rel)?.into_iter().chain(android(PackedForm::Rela)?).collect(),
            rel: of_form("DT_REL", RelocationForm::Rel, Tag::REL, Tag::RELSZ)?,
            rela: of_form("DT_RELA", RelocationForm::Rela, Tag::RELA, Tag::RELASZ)?,
            plt: table("DT_JMPREL", plt_form, plt)?,
            relr: match relr {
                Some((address, size)) => {
                    let bytes = self.memory_bytes("DT_RELR", address, size)?;
                    Some(RelrTable::new(bytes, self.offset_of(address).unwrap_or_default(), self.encoding()))
                }
                None => None,
            },
        })
    }

    /// The relocations that a static program applies to itself: its loaded relocation sections. (The program's start
    /// code finds them through symbols, so a stripped program without section headers shows none.)
    ///
    /// # Errors
    /// If a table extends past the end of the file.
    pub fn static_relocations(&self) -> Result<DynamicRelocations<'data>> {
        let mut found = DynamicRelocations::default();
        for section in self.sections().iter().map(|section| &section.header).filter(|header| header.is_loaded()) {
            let form = match section.kind {
                SectionKind::Rel => RelocationForm::Rel,
                SectionKind::Rela => RelocationForm::Rela,
                _ => continue,
            };
            let table = RelocationTable::new(form, self.section_bytes(section)?, section.offset, self.encoding());
            match form {
                RelocationForm::Rel => found.rel.get_or_insert(table),
                RelocationForm::Rela => found.rela.get_or_insert(table),
            };
        }
        Ok(found)
    }
}

fn range(dynamic: &DynamicTable<'_>, start: Tag, size: Tag) -> Option<(Vaddr, u64)> {
    Some((Vaddr(dynamic.get(start)?), dynamic.get(size)?))
}
