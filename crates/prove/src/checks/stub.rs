//! The stub that relocates the output itself: known code, with the right numbers, which may relocate these words so late.
//!
//! The loader runs it as `DT_INIT`. Until then the load bias is missing in the words, so nothing may read them earlier: no program's copy of a variable, no
//! thread's copy of its variables, no function that chooses an implementation, and no allocation by the loader.

use std::ops::Range;

use object::elf::{
    self, Machine, PF_R, PF_W, PF_X, PT_GNU_RELRO, PT_INTERP, PT_TLS, STB_LOCAL, STT_FUNC, STT_NOTYPE, STV_HIDDEN,
    STV_INTERNAL,
};

use crate::edit::BindEdit;
use crate::image::Image;
use crate::image::dynamic::tag;
use crate::loaded::slots::Slots;
use crate::ranges::joined;
use crate::stub::{NUMBERS, stub_code};
use crate::tables::relocations::records;
use crate::tables::symbols::{is_string, symbol};
use crate::tables::{Table, Tables};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "stub";
/// Smallest page: loaders round by their own, which the code does again.
const PAGE: u64 = 4096;
/// `DF_1_INITFIRST`.
const INIT_FIRST: u64 = 0x20;
/// What the loader calls before any initialiser runs (`elf/dl-minimal.c` of glibc).
const ALLOCATION: &[&[u8]] = &[b"malloc", b"calloc", b"realloc", b"free"];

/// The stub of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stub {
    /// The code, with the numbers after it.
    pub(crate) code: Range<u64>,
    /// The packed words, with the zero at their end.
    pub(crate) words: Range<u64>,
}

impl Stub {
    /// Finds the stub and checks it, and adds its words to the output's tables.
    pub(crate) fn find<'a>(
        original: (&Image<'_>, &Tables<'_>),
        (output, tables): (&Image<'a>, &mut Tables<'a>),
    ) -> Result<Option<Self>, NotProven> {
        let before = original.0.dynamic.get(tag::INIT);
        let Some(start) = output.dynamic.get(tag::INIT).filter(|now| before != Some(*now)) else { return Ok(None) };
        let wrong = |problem: &str| broken(output.which, WHAT, hex(start), problem);
        if let Some(problem) = too_late(original) {
            return Err(wrong(problem));
        }
        if !tables.relr.is_empty() {
            return Err(wrong("there is a RELR table besides"));
        }
        let code = stub_code(output.header.machine.0).ok_or_else(|| wrong("there is none for this architecture"))?;
        let block = start.saturating_add(code.len() as u64);
        let end = block.saturating_add(NUMBERS.saturating_mul(4) as u64);
        let is_code = output.piece(start).is_some_and(|piece| {
            piece.end >= end && piece.flags.contains(PF_R) && piece.flags.contains(PF_X) && !piece.flags.contains(PF_W)
        });
        let bytes = output.at(start..end).filter(|_| is_code);
        let numbers = bytes.filter(|bytes| bytes.starts_with(code)).and_then(|bytes| bytes.get(code.len()..));
        let numbers = numbers.ok_or_else(|| wrong("DT_INIT leads to other code"))?;
        let distances: Vec<u64> = numbers
            .as_chunks::<4>()
            .0
            .iter()
            .map(|bytes| i64::from(i32::from_le_bytes(*bytes)).cast_unsigned())
            .collect();
        let &[words, base, init, relro, behind_relro] = distances.as_slice() else {
            return Err(wrong("its numbers are missing"));
        };
        let address = |distance: u64| output.mask(block.wrapping_add(distance));
        if address(base) != 0 {
            return Err(wrong("it takes another address for the load bias"));
        }
        let goes_on = (init != 0).then(|| address(init));
        if goes_on != before {
            return Err(differs(WHAT, "the function it goes on to", shown(before), shown(goes_on)));
        }
        let protected = relro_of(original.0);
        if (address(relro), address(behind_relro)) != (protected.start, protected.end) {
            let found = format!("{:x?}", address(relro)..address(behind_relro));
            return Err(differs(WHAT, "the pages it makes writable", format!("{protected:x?}"), found));
        }
        let words = words_at(output, address(words)).ok_or_else(|| wrong("its words have no end, or may change"))?;
        let last = words.end.saturating_sub(output.word_size());
        tables.relr = output.at(words.start..last).ok_or_else(|| wrong("its words are not mapped"))?;
        tables.list.push(Table { tag: tag::RELR, memory: words.clone() });
        tables.list.push(Table { tag: tag::INIT, memory: start..end });
        Ok(Some(Self { code: start..end, words }))
    }

    /// No word that another object or a thread may have read before is relocated by the stub.
    pub(crate) fn check_words(
        original: (&Image<'_>, &Tables<'_>),
        slots: &Slots,
        edit: &BindEdit,
    ) -> Result<(), NotProven> {
        for range in seen_early(original, edit) {
            if let Some(address) = slots.relr_touching(&range) {
                let problem = "another object may read the word before the stub runs";
                return Err(differs(WHAT, hex(address), "relocated by the loader", problem));
            }
        }
        Ok(())
    }
}

fn shown(function: Option<u64>) -> String {
    function.map_or_else(|| "none".to_owned(), hex)
}

/// Why the words of an object cannot wait for its initialisers.
fn too_late((image, tables): (&Image<'_>, &Tables<'_>)) -> Option<&'static str> {
    if image.segments_of(PT_INTERP).next().is_some() {
        return Some("a program's libraries may call it before its initialisers run");
    }
    if image.dynamic.get(tag::FLAGS_1).unwrap_or(0) & INIT_FIRST != 0 {
        return Some("it is initialised before the libraries that it needs (DF_1_INITFIRST)");
    }
    let mut all = tables.relocations.iter().chain(&tables.plt_relocations).flat_map(|table| records(image, *table));
    if all.any(|record| Some(record.kind) == indirect_kind(image.header.machine)) {
        return Some("it chooses functions while it is relocated (IRELATIVE)");
    }
    let defines = |number: u64| {
        symbol(image, tables.symbols, number).is_some_and(|symbol| {
            symbol.is_defined() && ALLOCATION.iter().any(|name| is_string(tables.strings, symbol.name, name))
        })
    };
    (1..tables.symbol_count).any(defines).then_some("it allocates memory for the loader")
}

/// `R_*_IRELATIVE` (each psABI's table of relocations).
fn indirect_kind(machine: Machine) -> Option<elf::RelocationType> {
    Some(match machine {
        elf::EM_X86_64 => elf::R_X86_64_IRELATIVE,
        elf::EM_386 => elf::R_386_IRELATIVE,
        elf::EM_ARM => elf::R_ARM_IRELATIVE,
        elf::EM_AARCH64 => elf::R_AARCH64_IRELATIVE,
        _ => return None,
    })
}

/// The pages that the loader protects after it has relocated an object (`_dl_protect_relro` of glibc).
fn relro_of(image: &Image<'_>) -> Range<u64> {
    let down = |address: u64| address & !PAGE.wrapping_sub(1);
    match image.segments_of(PT_GNU_RELRO).next().map(|segment| segment.memory()) {
        Some(range) => down(range.start)..down(range.end).max(down(range.start)),
        None => 0..0,
    }
}

/// The words from an address through the first zero, in read-only memory.
fn words_at(image: &Image<'_>, start: u64) -> Option<Range<u64>> {
    let piece = image.piece(start)?;
    let bytes = piece.bytes.filter(|_| !piece.flags.contains(PF_W) && piece.flags.contains(PF_R))?;
    let size = image.word_size();
    let words = bytes.chunks_exact(size as usize).map(|bytes| image.word(bytes));
    let count = words.take_while(|word| word.is_some_and(|word| word != 0)).count() as u64;
    let end = start.checked_add(count.checked_add(1)?.checked_mul(size)?)?;
    let last = image.at(end.checked_sub(size)?..end)?;
    (image.word(last) == Some(0) && start.is_multiple_of(size)).then_some(start..end)
}

/// Words that somebody may read before: variables that a program may have a copy of (`R_*_COPY`), and the first values of thread-local ones.
fn seen_early((image, tables): (&Image<'_>, &Tables<'_>), edit: &BindEdit) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = image.segments_of(PT_TLS).map(|segment| segment.backed()).collect();
    for number in 1..tables.symbol_count {
        let Some(symbol) = symbol(image, tables.symbols, number) else { continue };
        let is_kept = u32::try_from(number).is_ok_and(|number| edit.not_interposed.contains(&number));
        let is_hidden = [STV_HIDDEN, STV_INTERNAL].contains(&symbol.visibility) || symbol.binding() == STB_LOCAL;
        if symbol.has_address() && symbol.kind() != STT_FUNC && !is_hidden && !is_kept {
            // The size of a symbol without a type may be unknown, but nothing copies such a one.
            let size = if symbol.kind() == STT_NOTYPE { 0 } else { symbol.size };
            ranges.push(symbol.value..symbol.value.saturating_add(size));
        }
    }
    ranges.retain(|range| !range.is_empty());
    joined(ranges)
}
