//! The memory of the process: at several load biases, each byte that the original maps is the same in the end.
//!
//! A program at fixed addresses is loaded only at bias 0.

use std::ops::Range;

use object::elf::{PF_W, PF_X, ProgramFlags};

use super::expected::Expected;
use super::{added, pointers};
use crate::image::{Image, Piece};
use crate::loaded::Loaded;
use crate::loaded::slots::Slot;
use crate::ranges::{joined, without};
use crate::verdict::{NotProven, Proof, broken, differs, hex, same};

const WHAT: &str = "memory";
const PERMISSIONS: &str = "permissions";
/// Bytes are compared in chunks of this size; memory is released between chunks.
const PORTION: u64 = 1 << 20;

/// Load biases for both files: a low one; a typical one for libraries on Linux; and one with overflowing sums.
fn load_biases(wide: bool) -> [u64; 3] {
    if wide { [0x1_0000, 0x7f5a_9b3c_d000, 0xffff_ffff_fffe_0000] } else { [0x1_0000, 0xb7d4_9000, 0xffff_0000] }
}

/// Compares all memory.
pub(crate) fn check(
    original: &Loaded<'_, '_>,
    output: &Loaded<'_, '_>,
    moved: &[Range<u64>],
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let biases = expected.load_biases(original.image, load_biases(original.image.encoding.wide));
    let first_words = if expected.moves_dynamic(original.image, output.image) {
        pointers::first_words(original, output)
    } else {
        Vec::new()
    };
    let jump: Vec<Range<u64>> = expected.jump.iter().map(|jump| jump.gap.clone()).collect();
    let apart = joined([original.places.exempt.as_slice(), &first_words, &jump].concat());
    let mut walk = Walk { original, output, moved, biases: &biases, behind: [0, 0] };
    for load in original.image.loads() {
        for range in without(&load.memory(), &apart) {
            walk.compare(range.clone())?;
            proof.memory_bytes = proof.memory_bytes.saturating_add(range.end.saturating_sub(range.start));
        }
    }
    pointers::check_first_words(original.image, output.image, &first_words)?;
    if expected.is_fixed(original.image) {
        pointers::check_plain_words(original.image, original.tables, &apart, moved)?;
    }
    for exempt in &original.places.exempt {
        check_exempt(original, output, exempt)?;
        proof.table_bytes = proof.table_bytes.saturating_add(exempt.end.saturating_sub(exempt.start));
    }
    proof.load_biases = biases;
    if expected.search.is_some() {
        added::check(original.image, output, expected)
    } else {
        check_added(original, output)
    }
}

struct Walk<'w, 'i, 'a> {
    original: &'w Loaded<'i, 'a>,
    output: &'w Loaded<'i, 'a>,
    moved: &'w [Range<u64>],
    biases: &'w [u64],
    behind: [usize; 2],
}

impl Walk<'_, '_, '_> {
    fn compare(&mut self, range: Range<u64>) -> Result<(), NotProven> {
        let mut at = range.start;
        while at < range.end {
            let Some(from) = self.original.image.piece(at) else {
                return Err(broken(self.original.image.which, WHAT, hex(at), "not mapped"));
            };
            let Some(to) = self.output.image.piece(at) else {
                return Err(differs(WHAT, hex(at), "mapped", "not mapped"));
            };
            same(PERMISSIONS, hex(at), from.flags.0, to.flags.0)?;
            let end = from.end.min(to.end).min(range.end);
            match (&from.bytes, &to.bytes) {
                (Some(_), Some(_)) => self.compare_relocated(at..end, &from, &to)?,
                (None, None) => {}
                (Some(bytes), None) | (None, Some(bytes)) => {
                    let size = usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX);
                    if let Some(place) = bytes.iter().take(size).position(|byte| *byte != 0) {
                        let place = at.saturating_add(place as u64);
                        return Err(differs(WHAT, hex(place), shown(&from, at, place), shown(&to, at, place)));
                    }
                    let touched = self.original.slots.touching(&(at..end)).or(self.output.slots.touching(&(at..end)));
                    if let Some(slot) = touched {
                        return Err(differs(WHAT, hex(slot), "a relocated word", "a word of another type"));
                    }
                }
            }
            at = end;
        }
        Ok(())
    }

    /// From one relocated word of either file to the next, and plain bytes between them.
    fn compare_relocated(&mut self, range: Range<u64>, from: &Piece<'_>, to: &Piece<'_>) -> Result<(), NotProven> {
        let word = self.original.image.word_size();
        let mut old_slots = self.original.slots.within(&range).peekable();
        let mut new_slots = self.output.slots.within(&range).peekable();
        let mut at = range.start;
        loop {
            let (old, new) = (old_slots.peek().copied(), new_slots.peek().copied());
            let next = match (old, new) {
                (Some(old), Some(new)) => old.address.min(new.address),
                (Some(slot), None) | (None, Some(slot)) => slot.address,
                (None, None) => return self.compare_plain(at..range.end, range.start, from, to),
            };
            if next < at || next.saturating_add(word) > range.end {
                return Err(differs(WHAT, hex(next), "a relocated word", "a word of another type"));
            }
            if at < next {
                self.compare_plain(at..next, range.start, from, to)?;
            }
            let old = old_slots.next_if(|slot| slot.address == next);
            let new = new_slots.next_if(|slot| slot.address == next);
            self.compare_word(next, (old, from), (new, to), range.start)?;
            at = next.saturating_add(word);
        }
    }

    fn compare_plain(
        &mut self,
        range: Range<u64>,
        start: u64,
        from: &Piece<'_>,
        to: &Piece<'_>,
    ) -> Result<(), NotProven> {
        let mut at = range.start;
        while at < range.end {
            let size = range.end.saturating_sub(at).min(PORTION);
            let place = at.saturating_sub(start);
            let part = |piece: &Piece<'_>| -> Option<Range<usize>> {
                let place = usize::try_from(place).ok()?;
                let end = place.checked_add(usize::try_from(size).ok()?)?;
                piece.bytes?.get(place..end).map(|_| place..end)
            };
            let (old, new) = match (part(from), part(to)) {
                (Some(old), Some(new)) => {
                    (from.bytes.and_then(|bytes| bytes.get(old)), to.bytes.and_then(|bytes| bytes.get(new)))
                }
                _ => (None, None),
            };
            let (Some(old), Some(new)) = (old, new) else {
                return Err(broken(self.output.image.which, WHAT, hex(at), "truncated within a segment"));
            };
            if old != new {
                let differing = old.iter().zip(new).position(|(old, new)| old != new).unwrap_or(0);
                let differing = at.saturating_add(differing as u64);
                return Err(differs(WHAT, hex(differing), shown(from, start, differing), shown(to, start, differing)));
            }
            at = at.saturating_add(size);
            if size == PORTION {
                let end = place.saturating_add(size);
                let [old, new] = &mut self.behind;
                self.original.image.release_behind(old, from.offset.saturating_add(end));
                self.output.image.release_behind(new, to.offset.saturating_add(end));
            }
        }
        Ok(())
    }

    /// The value of the word after relocation, at each bias.
    fn compare_word(
        &self,
        address: u64,
        from: (Option<Slot>, &Piece<'_>),
        to: (Option<Slot>, &Piece<'_>),
        start: u64,
    ) -> Result<(), NotProven> {
        let image = self.original.image;
        let addend = |(slot, piece): (Option<Slot>, &Piece<'_>)| {
            let place = usize::try_from(address.saturating_sub(start)).ok()?;
            let held = image.word(piece.bytes?.get(place..)?)?;
            Some((slot.and_then(|slot| slot.addend).unwrap_or(held), slot.is_some()))
        };
        let (Some(from), Some(to)) = (addend(from), addend(to)) else {
            return Err(broken(image.which, WHAT, hex(address), "truncated relocated word"));
        };
        let value = |(addend, relocated): (u64, bool), bias: u64| {
            image.mask(if relocated { addend.wrapping_add(bias) } else { addend })
        };
        for bias in self.biases.iter().copied() {
            let (old, new) = (value(from, bias), value(to, bias));
            if old != new {
                return Err(differs(WHAT, format!("{address:#x} (loaded at {bias:#x})"), hex(old), hex(new)));
            }
        }
        if self.moved.iter().any(|range| range.contains(&from.0)) && from.1 {
            let problem = format!("the word points to {}, in a moved table", hex(from.0));
            return Err(broken(self.output.image.which, "pointer to a moved table", hex(address), problem));
        }
        Ok(())
    }
}

fn shown(piece: &Piece<'_>, start: u64, address: u64) -> String {
    let place = usize::try_from(address.saturating_sub(start)).ok();
    match place.and_then(|place| piece.bytes?.get(place)) {
        Some(byte) => hex(u64::from(*byte)),
        None => "zero-filled".to_owned(),
    }
}

/// Where the original has its tables, the output has its own, the old bytes, or zeros. No relocation changes them,
/// and their permissions are not extended.
fn check_exempt(original: &Loaded<'_, '_>, output: &Loaded<'_, '_>, exempt: &Range<u64>) -> Result<(), NotProven> {
    for loaded in [original, output] {
        if let Some(address) = loaded.slots.touching(exempt) {
            return Err(broken(
                loaded.image.which,
                "relative relocation",
                hex(address),
                "it changes one of the loader's tables",
            ));
        }
    }
    let dynamic = &original.image.dynamic.memory;
    let mut at = exempt.start;
    while at < exempt.end {
        let from = original.image.piece(at);
        let Some(to) = output.image.piece(at) else {
            if dynamic.contains(&at) {
                return Err(differs(WHAT, hex(at), "mapped", "not mapped"));
            }
            // Freed: the next mapped address.
            let next = output.image.loads().map(|load| load.address).filter(|start| *start > at).min();
            at = next.unwrap_or(u64::MAX).min(exempt.end);
            continue;
        };
        let end = from.as_ref().map_or(to.end, |from| from.end.min(to.end)).min(exempt.end);
        let old_flags = from.as_ref().map_or(ProgramFlags(0), |from| from.flags);
        let (lost, gained) = (old_flags.without(to.flags), to.flags.without(old_flags));
        let joins = gained == PF_X && joins_code(original.image, output.image, at);
        if (gained.0 != 0 && !joins) || lost.without(PF_X).0 != 0 || (dynamic.contains(&at) && (lost | gained).0 != 0) {
            return Err(differs(PERMISSIONS, hex(at), hex(old_flags.0.into()), hex(to.flags.0.into())));
        }
        for dead in without(&(at..end), &output.places.named) {
            let before = original.image.at(dead.clone());
            let after = output.image.at(dead.clone()).unwrap_or(&[]);
            let before = before.unwrap_or(&[]);
            let odd = after.iter().enumerate().find(|(place, byte)| **byte != 0 && before.get(*place) != Some(*byte));
            if let Some((place, byte)) = odd {
                let old = before.get(place).map_or_else(String::new, |byte| hex(u64::from(*byte)));
                return Err(differs(WHAT, hex(dead.start.saturating_add(place as u64)), old, hex(u64::from(*byte))));
            }
        }
        at = end;
    }
    Ok(())
}

/// Whether the output's segment at an address contains code of the original: tables become executable if two parts of
/// a split segment are joined again.
fn joins_code(original: &Image<'_>, output: &Image<'_>, address: u64) -> bool {
    let Some(load) = output.loads().find(|load| load.memory().contains(&address)) else { return false };
    let (range, flags) = (load.memory(), load.flags);
    let mut code = original.loads().filter(|old| old.flags.contains(PF_X));
    flags.contains(PF_X) && code.any(|old| old.memory().start < range.end && range.start < old.memory().end)
}

/// Memory mapped only in the output: its tables, or zeros.
fn check_added(original: &Loaded<'_, '_>, output: &Loaded<'_, '_>) -> Result<(), NotProven> {
    let mapped: Vec<Range<u64>> = original.image.loads().map(|load| load.memory()).collect();
    let mapped = joined(mapped);
    for load in output.image.loads() {
        for added in without(&load.memory(), &mapped) {
            if load.flags.contains(PF_W) {
                return Err(differs(PERMISSIONS, hex(added.start), "not mapped", "writable"));
            }
            if load.flags.contains(PF_X) && !joins_code(original.image, output.image, added.start) {
                return Err(differs(PERMISSIONS, hex(added.start), "not mapped", "executable"));
            }
            for dead in without(&added, &output.places.named) {
                if dead.end == load.memory().end {
                    return Err(differs(WHAT, hex(dead.start), "not mapped", "mapped, but nothing is there"));
                }
                let part = dead.start.max(load.address)..dead.end.min(load.backed().end);
                let bytes = if part.start < part.end { output.image.at(part.clone()).unwrap_or(&[]) } else { &[] };
                if let Some(place) = bytes.iter().position(|byte| *byte != 0) {
                    return Err(differs(WHAT, hex(part.start.saturating_add(place as u64)), "not mapped", "used"));
                }
            }
        }
    }
    Ok(())
}
