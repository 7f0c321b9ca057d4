//! The tables that may move, and the run of them around the relocations.
//!
//! Linkers put the loader's tables one behind the other near the start of the file. Only the dynamic table and section
//! headers say where they are, so within that run they can be laid out anew. Everything else keeps its address: code and
//! data find each other by distance.

use std::ops::Range;

use coldstart_elf::{DynamicTable, ElfFile, SectionHeader, SectionKind, Segment, Symbol, SymbolKind, Tag, Vaddr};

use crate::layout::part;
use crate::refusal::Refusal;

/// `SHT_GNU_HASH`, `SHT_HASH`, `SHT_GNU_versym`, `SHT_GNU_verdef`, `SHT_GNU_verneed` (gABI; LSB core, 10.2.2.2).
const GNU_HASH: SectionKind = SectionKind::Other(0x6fff_fff6);
const SYSV_HASH: SectionKind = SectionKind::Other(5);
const VERSYM: SectionKind = SectionKind::Other(0x6fff_ffff);
const VERDEF: SectionKind = SectionKind::Other(0x6fff_fffd);
const VERNEED: SectionKind = SectionKind::Other(0x6fff_fffe);

/// A table that only the dynamic table and its section header point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoaderTable {
    /// The tag that names it.
    pub(crate) tag: Tag,
    /// Its section's number.
    pub(crate) section: usize,
    pub(crate) address: Vaddr,
    pub(crate) offset: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
}

impl LoaderTable {
    pub(crate) fn end(&self) -> u64 {
        self.address.0.saturating_add(self.size)
    }

    pub(crate) fn file_range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.size)
    }
}

/// Neighbouring tables with the relocations among them.
#[derive(Debug)]
pub(crate) struct FrontRun {
    /// Number of the segment that holds it, among all segments.
    pub(crate) segment: usize,
    /// In order of their addresses.
    pub(crate) tables: Vec<LoaderTable>,
    /// The first section behind the run in the same segment, by address and offset.
    pub(crate) next: Option<(Vaddr, u64)>,
}

impl FrontRun {
    /// The addresses from the first table's start to the last one's end.
    pub(crate) fn addresses(&self) -> Range<u64> {
        let start = self.tables.first().map_or(0, |table| table.address.0);
        start..self.tables.iter().map(LoaderTable::end).max().unwrap_or(start)
    }

    /// The same in the file.
    pub(crate) fn file_range(&self) -> Range<u64> {
        let start = self.tables.first().map_or(0, |table| table.offset);
        start..self.tables.iter().map(|table| table.file_range().end).max().unwrap_or(start)
    }

    /// Where in the file an address of the run's segment is, or would be; wraps around.
    pub(crate) fn offset_of(&self, address: u64) -> u64 {
        address.wrapping_sub(self.addresses().start).wrapping_add(self.file_range().start)
    }
}

/// The section that holds exactly what a dynamic tag names.
pub(crate) fn find(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, tag: Tag) -> Option<LoaderTable> {
    let address = Vaddr(dynamic.get(tag)?);
    let kind_fits = |kind| match tag {
        Tag::GNU_HASH => kind == GNU_HASH,
        Tag::HASH => kind == SYSV_HASH,
        Tag::SYMTAB => kind == SectionKind::DynamicSymbols,
        Tag::STRTAB => kind == SectionKind::Strings,
        Tag::VERSYM => kind == VERSYM,
        Tag::VERDEF => kind == VERDEF,
        Tag::VERNEED => kind == VERNEED,
        Tag::RELA => kind == SectionKind::Rela,
        Tag::REL => kind == SectionKind::Rel,
        _ => matches!(kind, SectionKind::Rel | SectionKind::Rela),
    };
    let fits = |header: &SectionHeader| header.is_loaded() && header.address == address && kind_fits(header.kind);
    let (section, found) = file.sections().iter().enumerate().find(|(_, section)| fits(&section.header))?;
    let header = &found.header;
    // The loader goes by the segment, and tools by the section: they must agree.
    (file.offset_of(address) == Some(header.offset)).then_some(LoaderTable {
        tag,
        section,
        address,
        offset: header.offset.0,
        size: header.size,
        alignment: header.alignment,
    })
}

/// All tables that may move.
pub(crate) fn all(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, relocations: Tag) -> Vec<LoaderTable> {
    let tags = [
        Tag::GNU_HASH,
        Tag::HASH,
        Tag::SYMTAB,
        Tag::STRTAB,
        Tag::VERSYM,
        Tag::VERDEF,
        Tag::VERNEED,
        relocations,
        Tag::JMPREL,
    ];
    tags.into_iter().filter_map(|tag| find(file, dynamic, tag)).collect()
}

/// The tables around the relocations, as far as only fillers lie between them and behind them.
///
/// # Errors
/// If somebody's bytes stand behind them.
pub(crate) fn front_run(
    file: &ElfFile<'_>,
    relocations: &LoaderTable,
    tables: &[LoaderTable],
) -> Result<FrontRun, Refusal> {
    let run = run_around(file, relocations, tables)?;
    let segment = file.segments().get(run.segment).ok_or(Refusal::NoDynamicTable)?;
    let behind_run = run.next.map_or(segment.file_end().0, |(address, _)| address.0);
    if !is_padding(file, run.addresses().end, behind_run) {
        let offset = file.offset_of(Vaddr(run.addresses().end)).unwrap_or_default();
        return Err(Refusal::Payload { offset, size: behind_run.saturating_sub(run.addresses().end) });
    }
    Ok(run)
}

/// The tables around one of them, as far as only fillers lie between them.
pub(crate) fn run_around(
    file: &ElfFile<'_>,
    anchor: &LoaderTable,
    tables: &[LoaderTable],
) -> Result<FrontRun, Refusal> {
    let segment_number = file
        .segments()
        .iter()
        .position(|segment| Some(segment) == file.segment_at(anchor.address))
        .ok_or_else(|| Refusal::Layout("its tables lie in no segment".to_owned()))?;
    let segment = file.segments().get(segment_number).ok_or(Refusal::NoDynamicTable)?;
    // Every section of the segment, the tables among them by their number.
    let mut sections: Vec<(usize, &SectionHeader)> = file
        .sections()
        .iter()
        .map(|section| &section.header)
        .enumerate()
        .filter(|(_, header)| header.is_loaded() && header.file_size() > 0 && lies_in(header, segment))
        .collect();
    sections.sort_by_key(|(_, header)| header.address);
    let as_table = |number: usize| tables.iter().find(|table| table.section == number && table.size > 0).copied();
    let at = sections.iter().position(|(number, _)| *number == anchor.section);
    let at = at.ok_or_else(|| Refusal::SectionsLie("the segment of its tables".to_owned()))?;
    let (before, behind) = sections.split_at_checked(at).unwrap_or((&[], &[]));
    let mut run = Vec::new();
    for (number, header) in before.iter().rev() {
        let first = run.last().unwrap_or(anchor);
        match as_table(*number) {
            Some(table) if is_padding(file, header.address.0.saturating_add(header.size), first.address.0) => {
                run.push(table);
            }
            _ => break,
        }
    }
    run.reverse();
    run.push(*anchor);
    let mut next = None;
    for (number, header) in behind.iter().skip(1) {
        let last = run.last().unwrap_or(anchor);
        match as_table(*number) {
            Some(table) if is_padding(file, last.end(), table.address.0) => run.push(table),
            _ => {
                next = Some((header.address, header.offset.0));
                break;
            }
        }
    }
    Ok(FrontRun { segment: segment_number, tables: run, next })
}

fn lies_in(header: &SectionHeader, segment: &Segment) -> bool {
    header.address >= segment.address && header.address < segment.file_end()
}

/// Bytes that say nothing: linkers' padding, and what patchelf writes over sections that it has moved elsewhere.
const FILLERS: [u8; 2] = [0, b'X'];

/// Whether bytes of the file say nothing; not those of a range that runs backwards.
pub(crate) fn is_filler(file: &ElfFile<'_>, range: Range<u64>) -> bool {
    part(file.bytes(), range).is_some_and(says_nothing)
}

fn says_nothing(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| FILLERS.contains(byte))
}

/// Whether nothing stands between two addresses. Tables that overlap have no padding.
fn is_padding(file: &ElfFile<'_>, from: u64, to: u64) -> bool {
    let Some(size) = to.checked_sub(from) else { return false };
    size == 0 || file.memory_bytes("padding", Vaddr(from), size).is_ok_and(says_nothing)
}

/// Tags whose values are no addresses.
const OTHER_TAGS: &[Tag] = &[
    Tag::NEEDED,
    Tag::PLTRELSZ,
    Tag::RELASZ,
    Tag::RELAENT,
    Tag::STRSZ,
    Tag::SYMENT,
    Tag::SONAME,
    Tag::RPATH,
    Tag::SYMBOLIC,
    Tag::RELSZ,
    Tag::RELENT,
    Tag::RELRSZ,
    Tag::RELRENT,
    Tag::PLTREL,
    Tag::DEBUG,
    Tag::BIND_NOW,
    Tag::INIT_ARRAYSZ,
    Tag::FINI_ARRAYSZ,
    Tag::RUNPATH,
    Tag::FLAGS,
    Tag::PREINIT_ARRAYSZ,
    Tag::RELACOUNT,
    Tag::RELCOUNT,
    Tag::FLAGS_1,
    Tag::VERDEFNUM,
    Tag::VERNEEDNUM,
    Tag::FILTER,
    Tag::AUXILIARY,
    Tag::AUDIT,
    Tag::DEPAUDIT,
    Tag::CHECKSUM,
];

/// Refuses what points at the tables and would point at something else when they have moved.
pub(crate) fn check_pointers(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    run: &FrontRun,
    relocations: Tag,
) -> Result<(), Refusal> {
    let moving = run.addresses();
    let is_ours = |tag| run.tables.iter().any(|table| table.tag == tag) || tag == relocations;
    for entry in dynamic.entries() {
        if moving.contains(&entry.value) && !OTHER_TAGS.contains(&entry.tag) && !is_ours(entry.tag) {
            let tag = entry.tag.name(file.encoding().machine);
            return Err(Refusal::UnknownPointer { tag, address: Vaddr(entry.value) });
        }
    }
    let symbols = file.dynamic_symbols(dynamic)?;
    let names_a_place =
        |symbol: &Symbol| symbol.has_address() || (symbol.is_defined() && symbol.kind == SymbolKind::Section);
    let inside = symbols.iter().find(|symbol| names_a_place(symbol) && moving.contains(&symbol.value.0));
    match inside {
        Some(symbol) => Err(Refusal::SymbolInTables {
            name: String::from_utf8_lossy(symbols.name(&symbol)).into_owned(),
            address: symbol.value,
        }),
        None => Ok(()),
    }
}
