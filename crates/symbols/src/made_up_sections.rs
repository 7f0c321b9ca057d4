//! Synthesizes sections for a file without section headers, from the loader's data: the dynamic table and the program
//! headers.
//!
//! Tables of known size get the usual section names; the rest of a segment is named by its use: `.text`, `.data`,
//! `.data.rel.ro`, `.rodata`, `.bss`. Several ranges may have the same name.

use coldstart_elf::{DynamicTable, ElfFile, GnuHashTable, SegmentKind, Symbol, SysvHashTable, TableRecord, Tag};

use super::frames::Frames;
use super::sections::{LoadedSection, apart, placed};

/// Shorter gaps between two tables are alignment. In bytes.
const ALIGNMENT: u64 = 32;

/// The synthesized sections, ascending and disjoint.
pub(super) fn made_up_sections(file: &ElfFile<'_>) -> Vec<LoadedSection> {
    let mut tables = Vec::new();
    let mut add = |name: &str, address: u64, size: u64, entry_size: u64| {
        tables.extend(placed(file, name, address, size, entry_size));
    };
    for segment in file.segments() {
        let name = match segment.kind {
            SegmentKind::Interpreter => ".interp",
            SegmentKind::Dynamic => ".dynamic",
            SegmentKind::EhFrameHeader => ".eh_frame_hdr",
            SegmentKind::Note => ".note",
            SegmentKind::ThreadLocal => ".tdata",
            _ => continue,
        };
        let entry_size =
            if segment.kind == SegmentKind::Dynamic { file.encoding().word_size().saturating_mul(2) } else { 0 };
        add(name, segment.address.0, segment.file_size, entry_size);
    }
    if let Some(frames) = Frames::read(file) {
        add(".eh_frame", frames.address, frames.size, 0);
    }
    if let Ok(Some(dynamic)) = file.dynamic() {
        add_tables(file, &dynamic, &mut add);
    }
    let tables = apart(tables);
    let mut all = rest(file, &tables);
    all.extend(tables);
    apart(all)
}

fn add_tables(file: &ElfFile<'_>, dynamic: &DynamicTable<'_>, add: &mut impl FnMut(&str, u64, u64, u64)) {
    let word = file.encoding().word_size();
    let sized = [
        (".dynstr", Tag::STRTAB, Tag::STRSZ, 0),
        (".rela.dyn", Tag::RELA, Tag::RELASZ, word.saturating_mul(3)),
        (".rel.dyn", Tag::REL, Tag::RELSZ, word.saturating_mul(2)),
        (".relr.dyn", Tag::RELR, Tag::RELRSZ, word),
        (".preinit_array", Tag::PREINIT_ARRAY, Tag::PREINIT_ARRAYSZ, word),
        (".init_array", Tag::INIT_ARRAY, Tag::INIT_ARRAYSZ, word),
        (".fini_array", Tag::FINI_ARRAY, Tag::FINI_ARRAYSZ, word),
    ];
    for (name, start, size, entry_size) in sized {
        if let (Some(start), Some(size)) = (dynamic.get(start), dynamic.get(size)) {
            add(name, start, size, entry_size);
        }
    }
    if let (Some(start), Some(size)) = (dynamic.get(Tag::JMPREL), dynamic.get(Tag::PLTRELSZ)) {
        let has_addends = dynamic.get(Tag::PLTREL).map(Tag) == Some(Tag::RELA);
        let (name, words) = if has_addends { (".rela.plt", 3) } else { (".rel.plt", 2) };
        add(name, start, size, word.saturating_mul(words));
    }
    if let (Some(start), Ok(symbols)) = (dynamic.get(Tag::SYMTAB), file.dynamic_symbols(dynamic)) {
        add(".dynsym", start, symbols.table().bytes().len() as u64, Symbol::size(file.encoding().class) as u64);
        if let Some(start) = dynamic.get(Tag::VERSYM) {
            add(".gnu.version", start, (symbols.len() as u64).saturating_mul(2), 2);
        }
    }
    if let Ok(Some(table)) = GnuHashTable::parse(file, dynamic) {
        add(".gnu.hash", table.address().0, table.size(), 0);
    }
    if let Ok(Some(table)) = SysvHashTable::parse(file, dynamic) {
        add(".hash", table.address().0, table.size(), table.word_size());
    }
}

/// The rest of the segments outside the tables.
fn rest(file: &ElfFile<'_>, tables: &[LoadedSection]) -> Vec<LoadedSection> {
    let relro = file.segment(SegmentKind::Relro);
    let headers = headers_end(file);
    let mut edges: Vec<(u64, u64)> = tables.iter().map(|table| (table.section.address, table.end())).collect();
    // The headers themselves are in no section.
    let first = file.load_segments().find(|segment| segment.offset.0 == 0);
    edges.extend(first.map(|first| (first.address.0, first.address.0.saturating_add(headers))));
    edges.sort_unstable();
    let mut found = Vec::new();
    for segment in file.load_segments() {
        let start = segment.address.0;
        let name = match (segment.is_executable(), segment.is_writable()) {
            (true, _) => ".text",
            (false, true) => ".data",
            (false, false) => ".rodata",
        };
        let mut parts = vec![(segment.file_end().0, segment.end().0, ".bss")];
        match relro.filter(|relro| segment.contains(relro.address) && !segment.is_executable()) {
            Some(relro) => {
                let end = relro.end().0.min(segment.file_end().0);
                parts.extend([
                    (start, relro.address.0, name),
                    (relro.address.0, end, ".data.rel.ro"),
                    (end, segment.file_end().0, name),
                ]);
            }
            None => parts.push((start, segment.file_end().0, name)),
        }
        for (from, to, name) in parts {
            for (from, to) in gaps(from, to, &edges) {
                found.extend(placed(file, name, from, to.saturating_sub(from), 0));
            }
        }
    }
    found
}

/// The rest of `from..to` outside the ranges in `taken`, which ascend, without alignment gaps.
fn gaps(from: u64, to: u64, taken: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut gaps = Vec::new();
    let mut at = from;
    for (start, end) in taken.iter().filter(|(start, end)| *end > from && *start < to) {
        if start.saturating_sub(at) >= ALIGNMENT {
            gaps.push((at, *start));
        }
        at = at.max(*end);
    }
    if to.saturating_sub(at) >= ALIGNMENT || (at == from && at < to) {
        gaps.push((at, to));
    }
    gaps
}

/// Size of the ELF header and the program headers at the beginning of the file.
fn headers_end(file: &ElfFile<'_>) -> u64 {
    let header = file.header();
    let size = u64::from(header.segment_entry_size).saturating_mul(file.segments().len() as u64);
    header.segments_offset.0.saturating_add(size).min(file.size())
}
