//! Checks candidates against the code: whether they are instructions, and function starts.
//!
//! An unwind entry is trusted, because the unwinder relies on it, unless another one overlaps it. All other
//! candidates must agree with the decoded code of their unwind entry. A symbol outside all entries (hand-written
//! code) is trusted if its range can be decoded completely and the last instruction ends at its end, which is rarely
//! true for tables in the code.

use std::collections::BTreeSet;

use coldstart_elf::{ElfFile, Vaddr};

use super::decode::{CodeKind, Decoded, LONGEST, decode};
use super::frames::Frame;
use super::functions::{Dropped, StartSource};

/// The known facts about an object's code.
pub(super) struct Inner<'a, 'data, W> {
    pub(super) file: &'a ElfFile<'data>,
    pub(super) kind: CodeKind,
    /// Ascending, each start once.
    pub(super) frames: &'a [Frame],
    /// Start and end of functions by their symbols, ascending, each start once.
    pub(super) symbols: &'a [Extent],
    /// Relocation targets, ascending, without starts of unwind entries.
    pub(super) targets: &'a [u64],
    /// Whether the start of an address is requested.
    pub(super) is_wanted: &'a W,
}

/// First address, and first address behind.
type Extent = (u64, u64);
/// Address, size and proof.
type Start = (u64, Option<u64>, StartSource);

/// All proven starts, unordered.
pub(super) fn inner_starts<W: Fn(u64) -> bool>(inner: &Inner<'_, '_, W>, dropped: &mut Dropped) -> Vec<Start> {
    let doubtful = overlapping(inner, dropped);
    let mut starts = Vec::new();
    for (number, frame) in inner.frames.iter().enumerate() {
        if !(inner.is_wanted)(frame.start) || doubtful.contains(&number) {
            continue;
        }
        if inner.may_begin(frame.start) {
            starts.push((frame.start, Some(frame.end.saturating_sub(frame.start)), StartSource::Unwind));
        } else {
            dropped.no_code = dropped.no_code.saturating_add(1);
        }
    }
    let (covered, alone): (Vec<Extent>, Vec<Extent>) =
        inner.symbols.iter().copied().partition(|(start, _)| inner.frame_number(*start).is_some());
    starts.extend(inside(inner, &covered, dropped));
    starts.extend(without_frames(inner, &alone, dropped));
    starts
}

impl<W: Fn(u64) -> bool> Inner<'_, '_, W> {
    fn bytes(&self, start: u64, end: u64) -> &[u8] {
        let bytes = self.file.memory_from(Vaddr(start)).unwrap_or_default();
        let size = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        bytes.get(..size).unwrap_or(bytes)
    }

    fn may_begin(&self, address: u64) -> bool {
        self.kind.may_begin(address, self.bytes(address, address.saturating_add(LONGEST as u64)))
    }

    /// The entry that contains an address; of several that overlap, the nearest.
    fn frame_number(&self, address: u64) -> Option<usize> {
        let before = self.frames.partition_point(|frame| frame.start <= address).checked_sub(1)?;
        self.frames.get(before).filter(|frame| address < frame.end).map(|_| before)
    }

    /// Decodes the code from `start` to `end` for addresses in it. AArch64 needs no proof other than alignment.
    fn decode(&self, start: u64, end: u64, places: &[u64]) -> Decoded {
        match self.kind {
            CodeKind::X86(bitness) => decode(bitness, self.bytes(start, end), start, places),
            CodeKind::Aarch64 => Decoded {
                is_instruction: places.iter().map(|place| place.is_multiple_of(4)).collect(),
                is_clean: true,
                ..Decoded::default()
            },
        }
    }
}

/// Numbers of entries that begin inside another one, or hold another one, where the code does not agree with both.
/// Ascending.
fn overlapping<W: Fn(u64) -> bool>(inner: &Inner<'_, '_, W>, dropped: &mut Dropped) -> BTreeSet<usize> {
    let mut doubtful = BTreeSet::new();
    // The entry that reaches furthest so far, and those that begin inside of it: they are held against its code
    // together, so that no code is taken apart twice, however the entries lie.
    let mut outer: Option<(usize, Frame)> = None;
    let mut nested: Vec<(usize, Frame)> = Vec::new();
    for (number, frame) in inner.frames.iter().enumerate() {
        if let Some((_, holder)) = outer
            && frame.start < holder.end
        {
            nested.push((number, *frame));
        }
        if outer.is_none_or(|(_, outer)| outer.end < frame.end) {
            contradicting(inner, outer, &nested, &mut doubtful);
            nested.clear();
            outer = Some((number, *frame));
        }
    }
    contradicting(inner, outer, &nested, &mut doubtful);
    dropped.overlapping = dropped.overlapping.saturating_add(doubtful.len() as u64);
    doubtful
}

/// Adds the entries of `nested` that `outer`'s code has no instruction for, and then `outer` itself.
fn contradicting<W: Fn(u64) -> bool>(
    inner: &Inner<'_, '_, W>,
    outer: Option<(usize, Frame)>,
    nested: &[(usize, Frame)],
    doubtful: &mut BTreeSet<usize>,
) {
    let (Some((outer_number, outer)), Some((_, last))) = (outer, nested.last()) else { return };
    let is_asked_for = |frame: &Frame| (inner.is_wanted)(frame.start);
    if !is_asked_for(&outer) && !nested.iter().any(|(_, frame)| is_asked_for(frame)) {
        return;
    }
    let places: Vec<u64> = nested.iter().map(|(_, frame)| frame.start).collect();
    // The last one's first instruction has to be whole.
    let decoded = inner.decode(outer.start, last.start.saturating_add(LONGEST as u64), &places);
    let wrong: Vec<usize> =
        nested.iter().zip(decoded.is_instruction).filter(|(_, is)| !is).map(|((number, _), _)| *number).collect();
    if !wrong.is_empty() {
        doubtful.extend(wrong);
        doubtful.insert(outer_number);
    }
}

/// Symbols and targets of relocations inside of unwind entries. `symbols` are those that an entry covers, ascending.
fn inside<W: Fn(u64) -> bool>(inner: &Inner<'_, '_, W>, symbols: &[Extent], dropped: &mut Dropped) -> Vec<Start> {
    let mut starts = Vec::new();
    let (mut symbols, mut targets) = (symbols, inner.targets);
    for frame in inner.frames {
        let within = |place: &u64| (frame.start..frame.end).contains(place);
        let (symbols, targets) = (
            take(&mut symbols, |(start, _)| *start < frame.start, |(start, _)| within(start)),
            take(&mut targets, |target| *target < frame.start, |target| within(target)),
        );
        let is_inner = |start: &u64| *start != frame.start && (inner.is_wanted)(*start);
        let mut places: Vec<u64> =
            symbols.iter().map(|(start, _)| *start).chain(targets.iter().copied()).filter(is_inner).collect();
        if places.is_empty() {
            continue;
        }
        places.sort_unstable();
        places.dedup();
        let decoded = inner.decode(frame.start, frame.end, &places);
        for (number, place) in places.iter().enumerate() {
            let says = |flags: &[bool]| flags.get(number).copied().unwrap_or(false);
            let symbol =
                symbols.binary_search_by_key(place, |(start, _)| *start).ok().and_then(|found| symbols.get(found));
            if !says(&decoded.is_instruction) {
                dropped.mid_instruction = dropped.mid_instruction.saturating_add(1);
            } else if !inner.may_begin(*place) {
                dropped.no_code = dropped.no_code.saturating_add(1);
            } else if let Some((start, end)) = symbol {
                starts.push((*place, Some(end.saturating_sub(*start)), StartSource::Symbol));
            } else if decoded.is_clean && !decoded.has_indirect_jump && says(&decoded.is_behind_a_jump) {
                starts.push((*place, None, StartSource::Relocation));
            } else {
                // What code runs into, or jumps to by a table, is a label of its function.
                dropped.labels = dropped.labels.saturating_add(1);
            }
        }
    }
    starts
}

/// Leaves out what is before, and takes what is within.
fn take<'a, T>(list: &mut &'a [T], is_before: impl Fn(&T) -> bool, is_within: impl Fn(&T) -> bool) -> &'a [T] {
    let rest = list.get(list.iter().take_while(|item| is_before(item)).count()..).unwrap_or_default();
    let (within, rest) =
        rest.split_at_checked(rest.iter().take_while(|item| is_within(item)).count()).unwrap_or_default();
    *list = rest;
    within
}

/// Symbols that no unwind entry covers.
fn without_frames<W: Fn(u64) -> bool>(
    inner: &Inner<'_, '_, W>,
    symbols: &[Extent],
    dropped: &mut Dropped,
) -> Vec<Start> {
    let mut starts = Vec::new();
    let mut symbols = symbols;
    while let Some(((start, end), rest)) = symbols.split_first() {
        // Symbols inside of this one (a second way into the same function) have to agree with its code.
        let count = rest.iter().take_while(|(inner_start, _)| inner_start < end).count();
        let (nested, rest) = rest.split_at_checked(count).unwrap_or_default();
        symbols = rest;
        let mut places: Vec<u64> = std::iter::once(*start).chain(nested.iter().map(|(start, _)| *start)).collect();
        if !places.iter().any(|place| (inner.is_wanted)(*place)) {
            continue;
        }
        // An entry that begins inside must agree, too.
        let first = inner.frames.partition_point(|frame| frame.start <= *start);
        let behind = inner.frames.partition_point(|frame| frame.start < *end);
        let frames = inner.frames.get(first..behind).unwrap_or_default();
        places.extend(frames.iter().map(|frame| frame.start));
        places.sort_unstable();
        let decoded = inner.decode(*start, *end, &places);
        let is_proven = decoded.is_clean && decoded.is_instruction.iter().all(|is| *is);
        let wanted = std::iter::once((*start, *end))
            .chain(nested.iter().copied())
            .filter(|(start, _)| (inner.is_wanted)(*start));
        for (start, end) in wanted {
            match (is_proven, inner.may_begin(start)) {
                (true, true) => starts.push((start, Some(end.saturating_sub(start)), StartSource::Symbol)),
                (true, false) => dropped.no_code = dropped.no_code.saturating_add(1),
                (false, _) => dropped.mid_instruction = dropped.mid_instruction.saturating_add(1),
            }
        }
    }
    starts
}
