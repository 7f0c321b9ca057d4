//! Passes the changes to the assembly that all edits share.

use coldstart_elf::{DynamicEntry, DynamicTable, ElfFile, FileOffset, FileSpan, Position, Tag, Vaddr};

use super::alignment::LoadAlignment;
use super::decision::{Caution, PackOptions, PackPlan, PackSummary, Room};
use super::headers::program_headers;
use super::in_place::Changed;
use super::own::passes;
use super::pass::{Pass, PassOutcome, PassReport};
use super::place::Placed;
use super::relatives::{InPlace, Relatives};
use super::room::{Shape, Slide};
use super::sections::{Moves, RELR_NAME, new_address, new_sections, old_headers};
use super::slots::Entries;
use super::stub::{self, CODE_NAME, CodePlace, WORDS_NAME};
use super::versions::Guard;
use super::way_back::{known, rule};
use crate::anatomy::preface::preface_pieces;
use crate::anatomy::symbols::symbol_patches;
use crate::anatomy::tables::FrontRun;
use crate::anatomy::tail::{self, Tail};
use crate::anatomy::{PAGE, first_bytes, names_section, program_header_range, section_header_range, zeros};
use crate::assembly::{Assembly, DynamicInPlace, NewHeaders, NoteText, added_names};
use crate::edits::Edits;
use crate::layout::word_bytes;
use crate::refusal::Refusal;
use crate::script::{Piece, end_of};
use crate::undo::Held;
use crate::way_back::WayBack;

/// The analysis and the decisions about a file.
pub(super) struct Parts<'a, 'data> {
    pub(super) file: &'a ElfFile<'data>,
    pub(super) dynamic: &'a DynamicTable<'data>,
    pub(super) layout: &'a Layout,
    pub(super) relatives: &'a Relatives<'data>,
    pub(super) guard: &'a Guard,
    pub(super) entries: &'a Entries,
    /// Number of records with a symbol that become relative.
    pub(super) bound: u64,
    /// Those among them that stay in their table.
    pub(super) bound_in_place: u64,
    /// Those among `bound` that lead to a pure virtual function.
    pub(super) pure_virtual: u64,
    /// The words of these that change.
    pub(super) in_place: &'a [Changed],
}

/// The new layout.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) run: FrontRun,
    pub(super) shape: Shape,
    pub(super) slide: Slide,
    pub(super) placed: Placed,
    /// Where the stub is, if the file gets one.
    pub(super) stub: Option<CodePlace>,
    pub(super) alignment: LoadAlignment,
    /// Bytes that the file loses because alignments are lower.
    pub(super) lost_by_alignment: u64,
}

/// The whole file pages that are free when the tables end at `end` and nothing slides.
pub(super) fn hole(run: &FrontRun, end: Vaddr) -> Result<Option<FileSpan>, Refusal> {
    whole_pages(run.offset_of(end)?, run.file_span().end())
}

fn whole_pages(start: FileOffset, end: FileOffset) -> Result<Option<FileSpan>, Refusal> {
    let pages = FileSpan::between(start.aligned_up(PAGE)?, end.aligned_down(PAGE));
    Ok(pages.ok().filter(|pages| !pages.is_empty()))
}

impl Layout {
    /// The free bytes that stay in the file, and the pages among them that become a hole.
    fn left_free(&self, sparse: bool) -> Result<(FileSpan, Option<FileSpan>), Refusal> {
        let address = self.run.memory_span().start().plus(self.shape.run_moves_by())?;
        let start = self.run.file_span().start().plus(self.shape.run_moves_by())?;
        let start = start.plus(self.placed.end.since(address)?)?;
        let end = match self.shape {
            Shape::Hole => self.run.file_span().end(),
            Shape::Cut | Shape::Split(_) => self.slide.place(self.slide.from)?,
        };
        // Tables that have grown leave none.
        let free = FileSpan::between(start, end.max(start))?;
        let hole = if sparse { whole_pages(start, end)? } else { None };
        Ok((free, hole))
    }
}

/// Assembles the plan.
pub(super) fn assemble(parts: &Parts<'_, '_>, options: &PackOptions) -> Result<PackPlan, Refusal> {
    let Parts { file, dynamic, layout, relatives, .. } = *parts;
    let names = names_section(file)?;
    let slide = layout.slide;
    let new_names: &[&[u8]] = if layout.stub.is_some() { &[WORDS_NAME, CODE_NAME] } else { &[RELR_NAME] };
    let tail =
        tail::lay_out(file, names, slide.from, |from| slide.place(from), &added_names(new_names.iter().copied()))?;
    let moves = Moves {
        shape: &layout.shape,
        slide: layout.slide,
        placed: &layout.placed,
        tail: &tail,
        run: &layout.run,
        names,
        stub: layout.stub,
    };
    let program_headers = program_headers(file, layout, &tail)?;
    let section_headers = old_headers(file, &moves)?;
    let new_sections = new_sections(file, &moves)?;
    let symbols = symbol_patches(file, |section| new_address(&moves, section))?;

    let mut edits = Edits::default();
    let left_free = layout.left_free(options.sparse)?;
    replace_front(file, layout, &program_headers, left_free, &mut edits)?;
    if let Some(place) = &layout.stub
        && let Some(growth) = &place.grows
    {
        let code = stub::code(file, dynamic, &layout.placed, place.memory.start())?;
        edits.replace(growth.padding, growth.pieces(file, place, code)?);
    }
    edits.patch(relatives.patches.iter().copied());
    edits.patch(parts.in_place.iter().map(|patch| patch.new));
    for left in left_behind(file, layout, names, &tail)? {
        edits.replace(left, zeros(left.start(), left.end())?.into_iter().collect());
    }
    let old_dynamic = FileSpan::new(dynamic.file_offset(), dynamic.size())?;
    let (held, mut words_before) = match &relatives.in_place {
        InPlace::Addends => (Held::Same, Vec::new()),
        InPlace::Zeros => (Held::Zeros, Vec::new()),
        InPlace::Mixed(before) => (Held::Same, before.clone()),
    };
    words_before.extend(&relatives.bound_before);
    words_before.extend(parts.in_place.iter().map(|patch| patch.old));
    let assembly = Assembly {
        file,
        edits,
        tail,
        program_headers,
        // BOLT puts the program headers behind everything else, where they slide with it.
        program_headers_at: slide.place(file.header().segments_offset)?,
        dynamic: Some(DynamicInPlace {
            old: old_dynamic,
            at: slide.place(old_dynamic.start())?,
            bytes: dynamic_bytes(parts)?,
        }),
        symbols,
        section_headers,
        new_sections,
        known: known(parts)?,
        words_before,
        held,
        order: relatives.order.clone(),
    };
    let lowered = (layout.lost_by_alignment > 0).then_some(Pass::LowerAlignment);
    let edits = passes(parts.bound, parts.pure_virtual).chain(lowered).chain([Pass::packing(layout.stub.is_some())]);
    let edits: Vec<&str> = edits.map(Pass::name).collect();
    let world = options.world().filter(|_| parts.bound > 0 || layout.stub.is_some());
    let note = NoteText { edits: &edits, world, content: None };
    let (script, kept) = assembly.finish(note, rule(parts, options.undo))?;
    let summary = summary(parts, script.size(), left_free.1, kept);
    Ok(PackPlan { script, summary })
}

/// What moved out of parts of the file that stay: tables outside of the run, and what the tail took in. Tools would
/// take the old bytes for somebody's.
fn left_behind(file: &ElfFile<'_>, layout: &Layout, names: usize, tail: &Tail) -> Result<Vec<FileSpan>, Refusal> {
    let in_run = layout.run.file_span();
    let tables = layout.placed.tables.iter().filter_map(|table| table.role.old().map(|old| old.file));
    let mut left: Vec<FileSpan> =
        tables.filter(|table| table.start() < in_run.start() || table.end() > in_run.end()).collect();
    let mut for_tools = vec![section_header_range(file)?];
    if let Some(names) = file.sections().get(names) {
        for_tools.insert(0, FileSpan::new(names.header.offset, names.header.size)?);
    }
    // What is loaded stays, though: a program may look at it, as Go's has its section headers in its memory.
    let loads = file.load_segments().map(|load| load.file_span()).collect::<Result<Vec<_>, _>>()?;
    let is_loaded = |range: &FileSpan| loads.iter().any(|load| range.overlaps(load));
    left.extend(for_tools.into_iter().filter(|range| range.start() < tail.from && !is_loaded(range)));
    // What is before the run is written anew with the program headers, when these grow.
    if layout.shape.preface().is_some() {
        let written = FileSpan::between(program_header_range(file)?.start(), in_run.start())?;
        left.retain(|left| left.end() <= written.start() || left.start() >= written.end());
    }
    Ok(left)
}

/// Everything from the file's start to the end of the freed space.
fn replace_front(
    file: &ElfFile<'_>,
    layout: &Layout,
    new_headers: &NewHeaders,
    (free, hole): (FileSpan, Option<FileSpan>),
    edits: &mut Edits,
) -> Result<(), Refusal> {
    let first = first_bytes(file);
    edits.replace(FileSpan::first(first.len() as u64), vec![Piece::Bytes(first.to_vec())]);
    let old = program_header_range(file)?;
    let run = layout.run.file_span();
    let by = layout.shape.run_moves_by();
    let start = run.start().plus(by)?;
    let mut before = vec![Piece::Bytes(new_headers.iter().flat_map(|(_, raw)| raw.iter().copied()).collect())];
    match layout.shape.preface() {
        None => edits.replace(old, before),
        // One range up to the run, so that the rest of it follows without a gap.
        Some(preface) => {
            let end = old.start().plus(end_of(&before)?.0)?;
            before.extend(preface_pieces(preface, end, start)?);
            edits.replace(FileSpan::between(old.start(), run.start())?, before);
        }
    }
    let mut front = layout.placed.pieces(layout.run.memory_span().start().plus(by)?)?;
    match hole {
        Some(hole) => {
            front.extend(zeros(free.start(), hole.start())?);
            front.push(Piece::Hole(hole.size()));
            front.extend(zeros(hole.end(), free.end())?);
        }
        None => front.extend(zeros(free.start(), free.end())?),
    }
    let until = if layout.shape == Shape::Hole { run.end() } else { layout.slide.from };
    edits.replace(FileSpan::between(run.start(), until)?, front);
    Ok(())
}

/// The dynamic table, as long as before.
fn dynamic_bytes(parts: &Parts<'_, '_>) -> Result<Vec<u8>, Refusal> {
    let Parts { file, dynamic, layout, relatives, guard, entries, .. } = *parts;
    let encoding = file.encoding();
    let kept = relatives.kept_bytes();
    // If the PLT's relocations count as part of this table, they still do.
    let with_plt = dynamic.get(relatives.tags.size).unwrap_or(0).checked_sub(relatives.table.size());
    let with_plt = with_plt.and_then(|plt| plt.checked_add(kept));
    let size = with_plt.ok_or_else(|| Refusal::Layout("the size of its relocations overflows".to_owned()))?;
    let value = |entry: &DynamicEntry| {
        if let Some(table) = layout.placed.of(entry.tag) {
            return table.memory.start().0;
        }
        match entry.tag {
            Tag::INIT => layout.stub.map_or(entry.value, |stub| stub.memory.start().0),
            tag if tag == relatives.tags.size => size,
            tag if tag == relatives.tags.relative_count => relatives.leading,
            Tag::STRSZ if matches!(guard, Guard::Added(_)) => {
                layout.placed.of(Tag::STRTAB).map_or(entry.value, |table| table.memory.size())
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
    Ok(bytes)
}

/// What `lower-alignment` did, if anything.
fn lowered(file: &ElfFile<'_>, layout: &Layout) -> Option<PassReport> {
    let bytes = Some(layout.lost_by_alignment).filter(|bytes| *bytes > 0)?;
    let largest = |alignment: LoadAlignment| file.load_segments().map(|load| alignment.of(load)).max().unwrap_or(0);
    let outcome = PassOutcome::Lowered { from: largest(LoadAlignment::Kept), to: largest(layout.alignment), bytes };
    Some(PassReport { pass: Pass::LowerAlignment, outcome })
}

fn summary(parts: &Parts<'_, '_>, size_after: u64, hole: Option<FileSpan>, way_back: WayBack) -> PackSummary {
    let Parts { file, layout, relatives, guard, entries, .. } = *parts;
    let mut cautions = Vec::new();
    if *guard == Guard::NotDemanded {
        cautions.push(Caution::NoVersionGuard);
    }
    if relatives.third_values > 0 && relatives.has_addends() {
        cautions.push(Caution::InPlaceValues { count: relatives.third_values });
    }
    PackSummary {
        passes: lowered(file, layout).into_iter().collect(),
        own_references: None,
        size_before: file.size(),
        size_after,
        packed: relatives.packed,
        bound: parts.bound,
        pure_virtual: parts.pure_virtual,
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
        hole_bytes: hole.map_or(0, |hole| hole.size()),
        slots: entries.freed.clone(),
        version_added: matches!(guard, Guard::Added(_)),
        way_back,
        cautions,
    }
}
