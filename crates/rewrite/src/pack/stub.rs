//! The pass `stub`: relative relocations as packed words that code in the file applies, for loaders without RELR.
//!
//! It is elfhack's idea. What differs: the words are RELR's, only the hook `DT_INIT` is used, and words that somebody may read before that
//! code runs keep their relocations ([`early_words`]).

use std::collections::BTreeSet;

use coldstart_elf::{
    DynamicTable, ElfFile, FileOffset, FileSpan, Position, RelocationClass, RelocationClasses, Segment, SegmentKind,
    Symbol, SymbolBinding, SymbolKind, SymbolVisibility, Tag, Vaddr, VaddrSpan,
};
use coldstart_prove::{STUB_NUMBERS, stub_code};

use super::Subject;
use super::alignment::LoadAlignment;
use super::place::Placed;
use super::room::{Inserted, Slide, alignment, first_behind};
use crate::anatomy::tables::{FrontRun, is_filler};
use crate::anatomy::{PAGE, zeros};
use crate::refusal::Refusal;
use crate::script::Piece;

/// Names of the sections.
pub(super) const CODE_NAME: &[u8] = b".coldstart.stub";
pub(super) const WORDS_NAME: &[u8] = b".coldstart.words";
/// The code's alignment, in bytes.
pub(super) const ALIGNMENT: u64 = 16;
/// `DF_1_INITFIRST`.
const INIT_FIRST: u64 = 0x20;
/// What the loader calls before any initialiser runs (`elf/dl-minimal.c` of glibc).
const ALLOCATION: &[&[u8]] = &[b"malloc", b"calloc", b"realloc", b"free"];

/// Refuses what cannot wait for its initialisers.
pub(super) fn check(subject: &Subject<'_, '_>) -> Result<(), Refusal> {
    let Subject { file, dynamic, relocations, .. } = *subject;
    let machine = file.encoding().machine;
    if stub_code(machine).is_none() {
        return Err(Refusal::NoStub);
    }
    if file.interpreter().is_some() {
        return Err(Refusal::NeededEarly("its libraries may call a program before its own initialisers run"));
    }
    if dynamic.flags_1() & INIT_FIRST != 0 {
        return Err(Refusal::NeededEarly("it is initialised before the libraries that it needs (DF_1_INITFIRST)"));
    }
    let mut classes = RelocationClasses::new(machine);
    let mut is_indirect = false;
    for table in relocations.all_tables() {
        table.for_each(|relocation| {
            is_indirect |= classes.of(relocation.kind) == RelocationClass::IndirectRelative;
        });
    }
    if is_indirect {
        return Err(Refusal::NeededEarly("it chooses functions while it is relocated (IRELATIVE)"));
    }
    let symbols = file.dynamic_symbols(dynamic)?;
    let is_named = |symbol: &Symbol| ALLOCATION.iter().any(|name| symbols.is_named(symbol, name));
    let allocates = symbols.iter().any(|symbol| symbol.is_defined() && is_named(&symbol));
    match allocates {
        true => Err(Refusal::NeededEarly("the loader allocates memory by it, before any initialiser runs")),
        false => Ok(()),
    }
}

/// Words that somebody may read before the stub runs: variables that a program may have a copy of (`R_*_COPY`), and the first values of
/// thread-local ones. In a closed world, no program has a copy of those in `not_interposed`. Ascending, without overlaps.
pub(super) fn early_words(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    not_interposed: &BTreeSet<u32>,
) -> Result<Vec<VaddrSpan>, Refusal> {
    let mut spans = Vec::new();
    if let Some(template) = file.segment(SegmentKind::ThreadLocal) {
        spans.push(VaddrSpan::new(template.address, template.file_size)?);
    }
    let may_be_copied = |symbol: &Symbol| {
        symbol.has_address()
            && symbol.binding != SymbolBinding::Local
            && !matches!(symbol.visibility, SymbolVisibility::Hidden | SymbolVisibility::Internal)
            && !matches!(symbol.kind, SymbolKind::Function | SymbolKind::None)
    };
    for (number, symbol) in (0..).zip(file.dynamic_symbols(dynamic)?.iter()) {
        if may_be_copied(&symbol) && !not_interposed.contains(&number) {
            spans.push(VaddrSpan::new(symbol.value, symbol.size)?);
        }
    }
    spans.retain(|span| !span.is_empty());
    spans.sort_unstable_by_key(VaddrSpan::key);
    let mut joined: Vec<VaddrSpan> = Vec::with_capacity(spans.len());
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start() <= last.end() => {
                *last = VaddrSpan::between(last.start(), last.end().max(span.end()))?;
            }
            _ => joined.push(span),
        }
    }
    Ok(joined)
}

/// Bytes of the code with its numbers.
pub(super) fn size(file: &ElfFile<'_>) -> u64 {
    let code = stub_code(file.encoding().machine).unwrap_or_default();
    // Constants: no overflow.
    (code.len() as u64).wrapping_add((STUB_NUMBERS as u64).wrapping_mul(4))
}

/// Where the code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodePlace {
    pub(super) memory: VaddrSpan,
    /// The segment that grows for it, if it is not among the tables.
    pub(super) grows: Option<Growth>,
}

/// A segment of code that becomes longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) segment: usize,
    /// The padding behind it in the file that the code takes.
    pub(super) padding: FileSpan,
    /// Bytes put in behind the padding, for what it has not.
    pub(super) inserted: u64,
}

/// A place behind a segment of code, if the tables are not in one.
///
/// # Errors
/// [`Refusal::NoCodeRoom`].
pub(super) fn behind_code(file: &ElfFile<'_>, run: &FrontRun, loads: LoadAlignment) -> Result<CodePlace, Refusal> {
    let fits = |segment: &Segment| {
        segment.kind == SegmentKind::Load
            && segment.is_executable()
            && segment.is_readable()
            && !segment.is_writable()
            && segment.file_size == segment.memory_size
            && segment.offset > run.file_span().start()
    };
    let candidates = file.segments().iter().enumerate().filter(|(_, segment)| fits(segment));
    for (number, segment) in candidates {
        if let Some(place) = behind(file, number, segment, loads)? {
            return Ok(place);
        }
    }
    Err(Refusal::NoCodeRoom)
}

fn behind(
    file: &ElfFile<'_>,
    number: usize,
    segment: &Segment,
    loads: LoadAlignment,
) -> Result<Option<CodePlace>, Refusal> {
    let end = segment.memory_span()?.end();
    let memory = VaddrSpan::new(end.aligned_up(ALIGNMENT)?, size(file))?;
    let later = file.load_segments().filter(|other| other.address >= end);
    let next = later.min_by_key(|other| other.address);
    if next.is_some_and(|next| next.address.aligned_down(loads.of(next).max(PAGE)) < memory.end()) {
        return Ok(None);
    }
    let from = segment.file_span()?.end();
    let wanted = memory.end().since(end)?;
    let there = first_behind(file, from).since(from)?;
    let padding = FileSpan::new(from, wanted.min(there))?;
    if !is_filler(file, padding) {
        return Ok(None);
    }
    let inserted = match wanted.checked_sub(there) {
        None | Some(0) => 0,
        Some(missing) => FileOffset(missing).aligned_up(alignment(file, from, loads)?)?.0,
    };
    Ok(Some(CodePlace { memory, grows: Some(Growth { segment: number, padding, inserted }) }))
}

impl Growth {
    /// What is put in, if anything.
    pub(super) fn inserted(&self) -> Option<Inserted> {
        (self.inserted > 0).then(|| Inserted { at: self.padding.end(), bytes: self.inserted })
    }

    /// The pieces that replace the padding.
    pub(super) fn pieces(&self, file: &ElfFile<'_>, place: &CodePlace, code: Vec<u8>) -> Result<Vec<Piece>, Refusal> {
        let end = file.segments().get(self.segment).ok_or(Refusal::NoCodeRoom)?.memory_span()?.end();
        let total = self.padding.size().checked_add(self.inserted).ok_or(Refusal::NoCodeRoom)?;
        let mut pieces: Vec<Piece> = zeros(end, place.memory.start())?.into_iter().collect();
        pieces.push(Piece::Bytes(code));
        pieces.extend(zeros(place.memory.end(), end.plus(total)?)?);
        Ok(pieces)
    }

    /// The code's offset in the new file.
    pub(super) fn offset(&self, file: &ElfFile<'_>, place: &CodePlace, slide: &Slide) -> Result<FileOffset, Refusal> {
        let segment = file.segments().get(self.segment).ok_or(Refusal::NoCodeRoom)?;
        Ok(slide.place(segment.offset)?.plus(place.memory.start().since(segment.address)?)?)
    }
}

/// The code with its numbers.
///
/// # Errors
/// If the file spans more than 2 GiB.
pub(super) fn code(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    placed: &Placed,
    at: Vaddr,
) -> Result<Vec<u8>, Refusal> {
    let mut bytes = stub_code(file.encoding().machine).unwrap_or_default().to_vec();
    let block = at.plus(bytes.len() as u64)?;
    let words = placed.relr().ok_or(Refusal::NoCodeRoom)?.memory.start();
    let init = dynamic.get(Tag::INIT).map_or(block, Vaddr);
    let protected = protected(file)?;
    for target in [words, Vaddr(0), init, protected.start(), protected.end()] {
        // As the processor does: modulo the address size.
        let distance = i32::try_from(target.0.wrapping_sub(block.0).cast_signed());
        let distance = distance.map_err(|_| Refusal::Layout("it spans more than 2 GiB".to_owned()))?;
        bytes.extend(distance.to_le_bytes());
    }
    Ok(bytes)
}

/// The pages that the loader protects after it has relocated the object (`_dl_protect_relro` of glibc).
fn protected(file: &ElfFile<'_>) -> Result<VaddrSpan, Refusal> {
    let Some(segment) = file.segment(SegmentKind::Relro) else { return Ok(VaddrSpan::default()) };
    let span = segment.memory_span()?;
    let start = span.start().aligned_down(PAGE);
    Ok(VaddrSpan::between(start, span.end().aligned_down(PAGE).max(start))?)
}
