//! References to `__cxa_pure_virtual` (the pass `pure-virtual`).
//!
//! A C++ class that leaves a function to its heirs has `__cxa_pure_virtual` in its table of virtual functions, which prints a
//! message and ends the program. Libraries with many interfaces have thousands of such words, each with a relocation and a look-up by name.
//! All of them but one can point to a few instructions in the file itself, which jump to where that one leads: so the message, a handler of
//! the program's, and a function that takes this one's place stay as they are.
//!
//! The instructions lie where a linker has left bytes between two functions unused ([`super::unused_code`]).

use std::collections::BTreeMap;

use coldstart_elf::{DynamicRelocations, DynamicTable, ElfFile, FileSpan, Position, Relocation, Vaddr};

use super::in_place::Changed;
use super::unused_code::{Gap, first_gap};
use super::words::Words;
use crate::layout::part;
use crate::refusal::Refusal;
use crate::script::WordPatch;

/// The function of the C++ ABI ("Pure virtual functions", section 3.2.6 of the Itanium C++ ABI).
const NAME: &[u8] = b"__cxa_pure_virtual";
/// `EM_X86_64`.
const X86_64: u16 = 62;
/// `R_X86_64_64`.
const ADDRESS: u32 = 1;
/// `endbr64`, and `jmp *offset(%rip)` without its offset.
const JUMP: [u8; 6] = [0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25];
/// Bytes of the whole.
const SIZE: u64 = 10;
/// `int3`: fills the rest of a gap, where nothing is executed.
const FILLER: u8 = 0xcc;
const WORD: u64 = 8;

/// The words that become relative, and the instructions that they point to.
#[derive(Debug, Default)]
pub(super) struct PureVirtual {
    /// The value of each record in `DT_RELA`, without the load address, by its index in the table.
    pub(super) values: BTreeMap<usize, u64>,
    /// The instructions, as words of the file.
    pub(super) code: Vec<Changed>,
}

/// Finds the records that become relative; `None` if there are not at least two.
///
/// # Errors
/// [`Refusal::NoUnusedCode`], [`Refusal::JumpsUnknown`], or a table that cannot be read.
pub(super) fn find(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
) -> Result<Option<PureVirtual>, Refusal> {
    let references = references(file, dynamic, relocations)?;
    let Some(((_, slot), others)) = references.split_first().filter(|(_, others)| !others.is_empty()) else {
        return Ok(None);
    };
    if file.encoding().machine != X86_64 {
        return Err(Refusal::JumpsUnknown);
    }
    let gap = first_gap(file, dynamic, relocations, SIZE, *slot)?.ok_or(Refusal::NoUnusedCode)?;
    let values = others.iter().map(|(number, _)| (*number, gap.memory.start().0)).collect();
    Ok(Some(PureVirtual { values, code: code(file, &gap, *slot)? }))
}

/// The records by their index, with the words that they change.
fn references(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
) -> Result<Vec<(usize, Vaddr)>, Refusal> {
    let symbols = file.dynamic_symbols(dynamic)?;
    let mut words = Words::new(file);
    let mut is_it: BTreeMap<u32, bool> = BTreeMap::new();
    let mut found = Vec::new();
    let Some(table) = &relocations.rela else { return Ok(found) };
    let mut numbers = 0_usize..;
    table.for_each(|Relocation { offset, kind, symbol, addend, .. }| {
        let Some(number) = numbers.next() else { return };
        let is_named = *is_it.entry(symbol).or_insert_with(|| {
            symbols.get(symbol).is_some_and(|found| !found.is_defined() && symbols.is_named(&found, NAME))
        });
        let is_plain = kind == ADDRESS && addend == Some(0) && words.is_writable(offset) && words.at(offset).is_some();
        if is_named && is_plain {
            found.push((number, offset));
        }
    });
    Ok(found)
}

/// The instructions in a gap, as words; the last ones may reach behind it.
fn code(file: &ElfFile<'_>, gap: &Gap, slot: Vaddr) -> Result<Vec<Changed>, Refusal> {
    let encoding = file.encoding();
    let end = gap.memory.start().plus(SIZE)?;
    // `first_gap` has looked at the distance.
    let distance = slot.0.wrapping_sub(end.0) as i32;
    let mut new = [JUMP.as_slice(), &distance.to_le_bytes()].concat();
    new.resize(usize::try_from(gap.memory.size()).unwrap_or(new.len()), FILLER);
    let held = part(file.bytes(), FileSpan::new(gap.offset, gap.words.saturating_mul(WORD))?).unwrap_or(&[]);
    new.extend(held.get(new.len()..).unwrap_or(&[]));
    let mut code = Vec::new();
    let mut at = gap.offset;
    for (old, new) in held.chunks_exact(WORD as usize).zip(new.chunks_exact(WORD as usize)) {
        if let (Some(old), Some(new)) = (encoding.word(old), encoding.word(new)) {
            code.push(Changed { old: WordPatch { at, value: old }, new: WordPatch { at, value: new } });
        }
        at = at.plus(WORD)?;
    }
    Ok(code)
}
