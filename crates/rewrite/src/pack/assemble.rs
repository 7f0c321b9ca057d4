//! The whole new file as one script, and the way back.

use std::ops::Range;

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, Tag, Vaddr};

use super::decision::{Caution, PackOptions, PackPlan, PackSummary, Room};
use super::headers::{NewHeaders, program_headers};
use super::place::Placed;
use super::relatives::Relatives;
use super::room::{Shape, Slide};
use super::sections::{Moves, RELR_NAME, added_headers, new_address, old_headers};
use super::slots::Entries;
use super::versions::Guard;
use super::way_back::{Changes, way_back};
use crate::anatomy::preface::preface_pieces;
use crate::anatomy::symbols::symbol_patches;
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::{self, Tail};
use crate::anatomy::{PAGE, first_bytes, names_section, program_header_range, zeros};
use crate::edits::Edits;
use crate::ending::Ending;
use crate::layout::{align_down, align_up, word_bytes};
use crate::note::{self, NoteContent, WayBack};
use crate::refusal::Refusal;
use crate::script::Piece;

/// The edit's name in our note.
pub(super) const EDIT: &str = "relr";

/// All that was found out and decided about a file.
pub(super) struct Parts<'a, 'data> {
    pub(super) file: &'a ElfFile<'data>,
    pub(super) dynamic: &'a DynamicTable<'data>,
    pub(super) layout: &'a Layout,
    pub(super) relatives: &'a Relatives<'data>,
    pub(super) guard: &'a Guard,
    pub(super) entries: &'a Entries,
}

/// Where everything goes.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) run: FrontRun,
    pub(super) shape: Shape,
    pub(super) slide: Slide,
    pub(super) placed: Placed,
}

/// The whole pages of the file that are free when the tables end at `end` and nothing slides.
pub(super) fn hole(run: &FrontRun, end: Vaddr) -> Option<Range<u64>> {
    let hole = align_up(run.offset_of(end.0), PAGE)..align_down(run.file_range().end, PAGE);
    (hole.start < hole.end).then_some(hole)
}

/// Puts the plan together.
pub(super) fn assemble(parts: &Parts<'_, '_>, options: &PackOptions) -> Result<PackPlan, Refusal> {
    let Parts { file, dynamic, layout, relatives, .. } = *parts;
    let encoding = file.encoding();
    let names = names_section(file)?;
    let slide = layout.slide;
    let added = [RELR_NAME, note::SECTION_NAME].concat();
    let tail = tail::lay_out(file, names, slide.from, |from| slide.place(from), &added)?;
    let moves = Moves {
        shape: &layout.shape,
        slide: layout.slide,
        placed: &layout.placed,
        tail: &tail,
        run: &layout.run,
        names,
    };
    let new_headers = program_headers(file, &layout.run, &layout.shape, layout.slide, &layout.placed, &tail)?;
    let new_dynamic = dynamic_bytes(parts);
    let section_headers = old_headers(file, &moves);
    let symbols = symbol_patches(file, |section| new_address(file, &moves, section))?;

    let mut edits = Edits::default();
    replace_front(file, layout, &new_headers, &mut edits);
    edits.replace(
        dynamic.file_offset().0..dynamic.file_offset().0.saturating_add(dynamic.size()),
        vec![Piece::Bytes(new_dynamic.clone())],
    );
    edits.patch(relatives.patches.iter().copied());
    edits.patch(symbols.iter().copied());
    edits.replace(tail.from..file.size(), tail.pieces.clone());
    for left in left_behind(file, layout, names, &tail) {
        edits.replace(left.clone(), zeros(left.end.saturating_sub(left.start)).into_iter().collect());
    }
    // The way back names places in the new file; all of them lie before the note, whose size depends on it.
    let mut script = edits.into_script(encoding, file.size())?;
    let changes = Changes {
        parts,
        symbols: &symbols,
        program_headers: &new_headers,
        dynamic: &new_dynamic,
        section_headers: &section_headers,
    };
    let undo = if options.undo { way_back(&changes, &script) } else { Err(WayBack::Declined) };
    let kept = undo.as_ref().err().copied().unwrap_or_default();
    let ending = Ending {
        note: NoteContent { edits: &[EDIT], undo, content: None },
        section_headers,
        // BOLT puts the program headers behind everything else, where they slide with it.
        program_headers: (slide.place(file.header().segments_offset.0), new_headers.len()),
    };
    script = ending.close(file, &script, |offset, size| added_headers(file, &moves, offset, size))?;
    let summary = summary(parts, script.size(), kept);
    Ok(PackPlan { script, summary })
}

/// What moved out of parts of the file that stay: tables outside of the run, and what the tail took in. Tools would take
/// the old bytes for somebody's.
fn left_behind(file: &ElfFile<'_>, layout: &Layout, names: usize, tail: &Tail) -> Vec<Range<u64>> {
    let in_run = layout.run.file_range();
    let tables = layout.placed.tables.iter().filter_map(|table| table.old.map(|old| old.file_range()));
    let mut left: Vec<Range<u64>> =
        tables.filter(|table| table.start < in_run.start || table.end > in_run.end).collect();
    let names = file.sections().get(names).map(|section| section.header);
    let names = names.map(|header| header.offset.0..header.offset.0.saturating_add(header.size));
    // What is loaded stays, though: a program may look at it, as Go's has its section headers in its memory.
    let is_loaded = |range: &Range<u64>| {
        file.load_segments()
            .any(|load| range.start < load.offset.0.saturating_add(load.file_size) && range.end > load.offset.0)
    };
    let for_tools = names.into_iter().chain([tail::section_headers(file)]);
    left.extend(for_tools.filter(|range| range.start < tail.from && !is_loaded(range)));
    // What lies before the run is written anew with the program headers, when these grow.
    let written = program_header_range(file).start..in_run.start;
    left.retain(|left| layout.shape.preface().is_none() || left.end <= written.start || left.start >= written.end);
    left
}

/// Everything from the file's start to the end of the freed room.
fn replace_front(file: &ElfFile<'_>, layout: &Layout, new_headers: &NewHeaders, edits: &mut Edits) {
    let header_size = first_bytes(file).len() as u64;
    edits.replace(0..header_size, vec![Piece::Bytes(first_bytes(file).to_vec())]);
    let old = program_header_range(file);
    let run = layout.run.file_range();
    let start = run.start.saturating_add(layout.shape.run_moves_by());
    let mut before = vec![Piece::Bytes(new_headers.iter().flat_map(|(_, raw)| raw.iter().copied()).collect())];
    match layout.shape.preface() {
        None => edits.replace(old, before),
        // One range up to the run, so that the rest of it follows without a gap.
        Some(preface) => {
            let end = old.start.saturating_add(before.iter().map(Piece::size).sum());
            before.extend(preface_pieces(preface, end, start));
            edits.replace(old.start..run.start, before);
        }
    }
    let address = layout.run.addresses().start.saturating_add(layout.shape.run_moves_by());
    let mut front = layout.placed.pieces(address);
    let end = start.saturating_add(layout.placed.end.0.saturating_sub(address));
    match hole(&layout.run, layout.placed.end).filter(|_| layout.shape == Shape::Hole) {
        Some(hole) => {
            front.extend(zeros(hole.start.saturating_sub(end)));
            front.push(Piece::Hole(hole.end.saturating_sub(hole.start)));
            front.extend(zeros(run.end.saturating_sub(hole.end)));
            edits.replace(run, front);
        }
        None => {
            front.extend(zeros(layout.slide.place(layout.slide.from).saturating_sub(end)));
            edits.replace(run.start..layout.slide.from, front);
        }
    }
}

/// The dynamic table, as long as before.
fn dynamic_bytes(parts: &Parts<'_, '_>) -> Vec<u8> {
    let Parts { file, dynamic, layout, relatives, guard, entries } = *parts;
    let encoding = file.encoding();
    let kept = relatives.kept_bytes();
    // Where the PLT's relocations count as a part of this table, too, they still do.
    let with_plt = dynamic.get(relatives.tags.size).unwrap_or(0).saturating_sub(relatives.table.size());
    let value = |entry: &DynamicEntry| {
        if let Some(table) = layout.placed.of(entry.tag) {
            return table.address;
        }
        match entry.tag {
            tag if tag == relatives.tags.size => kept.saturating_add(with_plt),
            tag if tag == relatives.tags.relative_count => relatives.leading,
            Tag::STRSZ if matches!(guard, Guard::Added(_)) => {
                layout.placed.of(Tag::STRTAB).map_or(entry.value, |table| table.size)
            }
            _ => entry.value,
        }
    };
    let mut bytes = Vec::new();
    for entry in &entries.entries {
        bytes.extend(word_bytes(encoding, entry.tag.0));
        bytes.extend(word_bytes(encoding, value(entry)));
    }
    bytes.resize(usize::try_from(dynamic.size()).unwrap_or(bytes.len()), 0);
    bytes
}

fn summary(parts: &Parts<'_, '_>, size_after: u64, way_back: WayBack) -> PackSummary {
    let Parts { file, layout, relatives, guard, entries, .. } = *parts;
    let mut cautions = Vec::new();
    if *guard == Guard::NotDemanded {
        cautions.push(Caution::NoVersionGuard);
    }
    if relatives.third_values > 0 && relatives.has_addends() {
        cautions.push(Caution::InPlaceValues { count: relatives.third_values });
    }
    PackSummary {
        size_before: file.size(),
        size_after,
        packed: relatives.packed,
        kept_relative: relatives.kept_relative,
        kept_others: relatives.kept_others,
        record_bytes_before: relatives.table.size(),
        record_bytes_after: relatives.kept_bytes(),
        relr_bytes: relatives.relr.len() as u64,
        words_written: relatives.patches.len() as u64,
        room: match layout.shape {
            Shape::Cut => Room::SegmentCut,
            Shape::Split(_) => Room::SegmentSplit,
            Shape::Hole => Room::Hole,
        },
        slots: entries.freed.clone(),
        version_added: matches!(guard, Guard::Added(_)),
        way_back,
        cautions,
    }
}
