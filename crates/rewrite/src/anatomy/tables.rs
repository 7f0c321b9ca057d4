//! The movable tables, and the run of them around the relocations.
//!
//! Linkers place the loader's tables back to back near the start of the file. Only the dynamic table and section
//! headers refer to them, so within that run they can be laid out anew. Everything else keeps its address, because
//! code and data refer to each other by distance.

use coldstart_elf::{
    DynamicTable, ElfFile, FileOffset, FileSpan, Position, SectionHeader, SectionKind, Segment, Symbol, SymbolKind,
    Tag, Vaddr, VaddrSpan,
};

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
    /// Its tag.
    pub(crate) tag: Tag,
    /// The index of its section.
    pub(crate) section: usize,
    pub(crate) memory: VaddrSpan,
    pub(crate) file: FileSpan,
    pub(crate) alignment: u64,
}

/// Neighbouring tables with the relocations among them.
#[derive(Debug)]
pub(crate) struct FrontRun {
    /// Index of its segment.
    pub(crate) segment: usize,
    /// In order of their addresses; at least one.
    pub(crate) tables: Vec<LoaderTable>,
    /// The first section after the run in the same segment, by address and offset.
    pub(crate) next: Option<(Vaddr, FileOffset)>,
}

impl FrontRun {
    /// The addresses from the first table's start to the last one's end.
    pub(crate) fn memory_span(&self) -> VaddrSpan {
        VaddrSpan::around(self.tables.iter().map(|table| table.memory)).unwrap_or_default()
    }

    /// Its file range.
    pub(crate) fn file_span(&self) -> FileSpan {
        FileSpan::around(self.tables.iter().map(|table| table.file)).unwrap_or_default()
    }

    /// The file offset for an address after the run's beginning, or where it would be if the run continued.
    pub(crate) fn offset_of(&self, address: Vaddr) -> Result<FileOffset, Refusal> {
        Ok(self.file_span().start().plus(address.since(self.memory_span().start())?)?)
    }
}

/// The section that covers exactly the range of a dynamic tag.
///
/// # Errors
/// If it exceeds the largest address or offset.
pub(crate) fn find(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, tag: Tag) -> Result<Option<LoaderTable>, Refusal> {
    let Some(address) = dynamic.get(tag).map(Vaddr) else { return Ok(None) };
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
    let found = file.sections().iter().enumerate().find(|(_, section)| fits(&section.header));
    // The loader uses the segment, and tools use the section: they must agree.
    let agrees = |header: &SectionHeader| file.offset_of(address) == Some(header.offset);
    let Some((section, found)) = found.filter(|(_, found)| agrees(&found.header)) else { return Ok(None) };
    let (memory, file) = (found.header.memory_span()?, found.header.file_span()?);
    Ok(Some(LoaderTable { tag, section, memory, file, alignment: found.header.alignment }))
}

/// All movable tables.
///
/// # Errors
/// As [`find`].
pub(crate) fn all(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: Tag,
) -> Result<Vec<LoaderTable>, Refusal> {
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
    tags.into_iter().filter_map(|tag| find(file, dynamic, tag).transpose()).collect()
}

/// The tables around the relocations, with only padding between and after them.
///
/// # Errors
/// If there is other data after them.
pub(crate) fn front_run(
    file: &ElfFile<'_>,
    relocations: &LoaderTable,
    tables: &[LoaderTable],
) -> Result<FrontRun, Refusal> {
    let run = run_around(file, relocations, tables)?;
    let segment = file.segments().get(run.segment).ok_or(Refusal::NoDynamicTable)?;
    let end = run.memory_span().end();
    let behind_run = run.next.map_or(VaddrSpan::new(segment.address, segment.file_size)?.end(), |(address, _)| address);
    if !is_padding(file, end, behind_run) {
        let offset = file.offset_of(end).unwrap_or_default();
        // Tables that reach into what is after them leave nothing between.
        return Err(Refusal::Payload { offset, size: behind_run.since(end).unwrap_or(0) });
    }
    Ok(run)
}

/// The tables around one of them, with only padding between them.
pub(crate) fn run_around(
    file: &ElfFile<'_>,
    anchor: &LoaderTable,
    tables: &[LoaderTable],
) -> Result<FrontRun, Refusal> {
    let segment_number = file
        .segments()
        .iter()
        .position(|segment| Some(segment) == file.segment_at(anchor.memory.start()))
        .ok_or_else(|| Refusal::Layout("its tables are in no segment".to_owned()))?;
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
    let as_table =
        |number: usize| tables.iter().find(|table| table.section == number && !table.memory.is_empty()).copied();
    let at = sections.iter().position(|(number, _)| *number == anchor.section);
    let at = at.ok_or_else(|| Refusal::SectionsLie("the segment of its tables".to_owned()))?;
    let (before, behind) = sections.split_at_checked(at).unwrap_or((&[], &[]));
    let mut run = Vec::new();
    for (number, header) in before.iter().rev() {
        let first = run.last().unwrap_or(anchor);
        match as_table(*number) {
            Some(table) if is_padding(file, header.memory_span()?.end(), first.memory.start()) => {
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
            Some(table) if is_padding(file, last.memory.end(), table.memory.start()) => run.push(table),
            _ => {
                next = Some((header.address, header.offset));
                break;
            }
        }
    }
    Ok(FrontRun { segment: segment_number, tables: run, next })
}

fn lies_in(header: &SectionHeader, segment: &Segment) -> bool {
    header.address.since(segment.address).is_ok_and(|distance| distance < segment.file_size)
}

/// Padding bytes of linkers, and patchelf's filler for sections that it moved.
const FILLERS: [u8; 2] = [0, b'X'];

/// Whether bytes are padding.
pub(crate) fn is_filler(file: &ElfFile<'_>, range: FileSpan) -> bool {
    part(file.bytes(), range).is_some_and(says_nothing)
}

fn says_nothing(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| FILLERS.contains(byte))
}

/// Whether the range between two addresses is empty or padding. Overlapping tables have no padding.
fn is_padding(file: &ElfFile<'_>, from: Vaddr, to: Vaddr) -> bool {
    let Ok(size) = to.since(from) else { return false };
    size == 0 || file.memory_bytes("padding", from, size).is_ok_and(says_nothing)
}

/// Tags whose values are not addresses.
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

/// Refuses references to the tables that would be wrong after the move.
pub(crate) fn check_pointers(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    run: &FrontRun,
    relocations: Tag,
) -> Result<(), Refusal> {
    let moving = run.memory_span();
    let is_ours = |tag| run.tables.iter().any(|table| table.tag == tag) || tag == relocations;
    for entry in dynamic.entries() {
        if moving.contains(Vaddr(entry.value)) && !OTHER_TAGS.contains(&entry.tag) && !is_ours(entry.tag) {
            let tag = entry.tag.name(file.encoding().machine);
            return Err(Refusal::UnknownPointer { tag, address: Vaddr(entry.value) });
        }
    }
    let symbols = file.dynamic_symbols(dynamic)?;
    let names_a_place =
        |symbol: &Symbol| symbol.has_address() || (symbol.is_defined() && symbol.kind == SymbolKind::Section);
    let inside = symbols.iter().find(|symbol| names_a_place(symbol) && moving.contains(symbol.value));
    match inside {
        Some(symbol) => Err(Refusal::SymbolInTables {
            name: String::from_utf8_lossy(symbols.name(&symbol)).into_owned(),
            address: symbol.value,
        }),
        None => Ok(()),
    }
}
