//! The pages that relocation touches: the tables, the symbols, and the relocated words.
//!
//! There can be a million relocations, so the mapping from an address to a page caches the last segment, and repeated
//! touches of a page cost one comparison.

use coldstart_elf::{
    ElfFile, Relocation, RelocationClass, RelocationClasses, RelocationTable, SymbolBinding, SymbolVisibility, Tag,
    Vaddr,
};

use super::readahead::Disk;
use crate::file_pages::page_of;
use crate::object::Object;

/// Maps addresses to file pages, for addresses mostly in the same segment.
struct Places<'file, 'data> {
    file: &'file ElfFile<'data>,
    /// The file part of the last segment: address, size, file offset.
    last: (u64, u64, u64),
}

impl<'file, 'data> Places<'file, 'data> {
    fn new(file: &'file ElfFile<'data>) -> Self {
        Self { file, last: (0, 0, 0) }
    }

    #[inline]
    fn page(&mut self, address: Vaddr) -> Option<u64> {
        let within = |(start, size, offset): (u64, u64, u64)| {
            let distance = address.0.checked_sub(start).filter(|distance| *distance < size)?;
            Some(page_of(offset.saturating_add(distance)))
        };
        if let Some(page) = within(self.last) {
            return Some(page);
        }
        let segment = self.file.segment_at(address)?;
        self.last = (segment.address.0, segment.file_size, segment.offset.0);
        within(self.last)
    }

    #[inline]
    fn touch(&mut self, disk: &mut Disk, address: Vaddr) {
        if let Some(page) = self.page(address) {
            disk.touch(page);
        }
    }
}

pub(super) fn relr(object: &Object<'_>, disk: &mut Disk) {
    let Some(relr) = &object.relocations.relr else { return };
    let mut places = Places::new(&object.file);
    let start = relr.file_offset().0;
    let (first, last) = (page_of(start), page_of(start.saturating_add(relr.size().max(1)).saturating_sub(1)));
    let words = (relr.word_count() as u64).max(1);
    let total = relr.relocation_count().max(1);
    disk.touch(first);
    // The table is small, and its pages progress with the words: one page of it for an equal share of the words.
    let (mut done, mut table_page) = (0_u64, first);
    for address in relr.addresses() {
        let word = done.saturating_mul(words).checked_div(total).unwrap_or(0);
        let page = page_of(start.saturating_add(word.saturating_mul(object.file.encoding().word_size())));
        if page != table_page {
            table_page = page;
            disk.touch(page);
        }
        places.touch(disk, address);
        done = done.saturating_add(1);
    }
    disk.touch(last);
}

pub(super) fn tables(object: &Object<'_>, disk: &mut Disk) {
    let mut lookups = Lookups::new(object);
    let mut places = Places::new(&object.file);
    for table in object.relocations.tables() {
        for_each(table, disk, |disk, relocation| lookups.relocate(disk, &mut places, &relocation));
    }
    // glibc does not support these; bionic unpacks them in the same way.
    let encoding = object.file.encoding();
    let most = usize::try_from(object.file.size() / encoding.word_size()).unwrap_or(usize::MAX);
    for tag in [Tag::ANDROID_REL, Tag::ANDROID_RELA] {
        if let Some(address) = object.tag(tag) {
            places.touch(disk, Vaddr(address));
        }
    }
    for table in &object.relocations.android {
        // A few bytes can encode any number of relocations.
        for relocation in table.iter().take(most).map_while(Result::ok) {
            lookups.relocate(disk, &mut places, &relocation.relocation(encoding));
        }
    }
}

/// With lazy binding, each word still gets the load bias added, and the loader's own two words are filled in
/// (`elf_machine_lazy_rel`, `elf_machine_runtime_setup`).
pub(super) fn plt(object: &Object<'_>, disk: &mut Disk) {
    let Some(table) = &object.relocations.plt else { return };
    let mut lookups = Lookups::new(object);
    let mut places = Places::new(&object.file);
    let is_lazy = object.dynamic.as_ref().is_some_and(|dynamic| !dynamic.binds_now());
    if is_lazy && let Some(got) = object.tag(Tag::PLTGOT) {
        places.touch(disk, Vaddr(got));
    }
    for_each(table, disk, |disk, relocation| {
        if is_lazy && relocation.symbol != 0 {
            places.touch(disk, relocation.offset);
        } else {
            lookups.relocate(disk, &mut places, &relocation);
        }
    });
}

/// Visits all relocations of a table, after touching the page of each record.
fn for_each(table: &RelocationTable<'_>, disk: &mut Disk, mut visit: impl FnMut(&mut Disk, Relocation)) {
    let size = table.record_size() as u64;
    let mut offset = table.file_offset().0;
    let mut page = None;
    table.for_each(|relocation| {
        let here = page_of(offset);
        if page != Some(here) {
            page = Some(here);
            disk.touch(here);
        }
        visit(disk, relocation);
        offset = offset.saturating_add(size);
    });
}

/// The requesting object's pages that a symbol lookup touches.
struct Lookups<'object, 'data> {
    object: &'object Object<'data>,
    classes: RelocationClasses,
    symbols: u64,
    symbol_size: u64,
    strings: Option<u64>,
    versions: Option<u64>,
    /// Adjacent relocations often have the same symbol, and the loader caches the last one, too.
    last: u32,
}

impl<'object, 'data> Lookups<'object, 'data> {
    fn new(object: &'object Object<'data>) -> Self {
        let place = |tag| object.tag(tag).and_then(|address| object.file.offset_of(Vaddr(address)));
        let table = object.dynamic_symbols.table();
        Self {
            object,
            classes: RelocationClasses::new(object.file.encoding().machine),
            symbols: table.file_offset().0,
            symbol_size: table.record_size() as u64,
            strings: place(Tag::STRTAB).map(|offset| offset.0),
            versions: place(Tag::VERSYM).map(|offset| offset.0),
            last: 0,
        }
    }

    #[inline]
    fn relocate(&mut self, disk: &mut Disk, places: &mut Places<'_, '_>, relocation: &Relocation) {
        if relocation.symbol != 0 {
            self.look_up(disk, relocation.symbol);
        } else if let Some(addend) = relocation.addend
            && self.classes.of(relocation.kind) == RelocationClass::IndirectRelative
        {
            places.touch(disk, Vaddr(addend as u64));
        }
        places.touch(disk, relocation.offset);
    }

    /// In the order of `elf/do-rel.h` and `RESOLVE_MAP`: version, symbol, name.
    fn look_up(&mut self, disk: &mut Disk, index: u32) {
        if self.last == index {
            return;
        }
        self.last = index;
        let Some(symbol) = self.object.dynamic_symbols.get(index) else { return };
        let index = u64::from(index);
        if let Some(versions) = self.versions {
            disk.touch(page_of(versions.saturating_add(index.saturating_mul(2))));
        }
        disk.touch(page_of(self.symbols.saturating_add(index.saturating_mul(self.symbol_size))));
        // These cannot be interposed, so nothing is looked up.
        let is_own = symbol.binding == SymbolBinding::Local
            || matches!(symbol.visibility, SymbolVisibility::Hidden | SymbolVisibility::Internal);
        if let Some(strings) = self.strings.filter(|_| !is_own) {
            disk.touch(page_of(strings.saturating_add(symbol.name_offset.into())));
        }
    }
}
