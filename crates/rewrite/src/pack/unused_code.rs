//! Bytes of the code that nothing uses: what a linker or assembler has put between two functions, so that the second one begins at a
//! round address.
//!
//! A gap counts if the unwind tables, which have every function of today's compilers, say that one function ends and the next
//! begins there; if all of it is no-ops or traps; if the function before it never runs into it; and if no symbol and no pointer leads to it.

use coldstart_elf::{
    DynamicRelocations, DynamicTable, ElfFile, FileOffset, Position, SectionKind, Tag, UnwindTable, Vaddr, VaddrSpan,
};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Mnemonic};

use crate::refusal::Refusal;

/// Largest gap and largest function before it that are looked at, in bytes.
const LARGEST_GAP: u64 = 64;
const LARGEST_FUNCTION: u64 = 4096;
const WORD: u64 = 8;
/// Largest distance of a jump's operand.
const REACH: u64 = i32::MAX as u64;

/// Unused bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) memory: VaddrSpan,
    pub(super) offset: FileOffset,
    /// Number of words, from the gap's start, that cover it.
    pub(super) words: u64,
}

/// The first gap of at least `size` bytes from which `near` can be reached.
///
/// # Errors
/// If a table cannot be read.
pub(super) fn first_gap(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
    size: u64,
    near: Vaddr,
) -> Result<Option<Gap>, Refusal> {
    let Some(table) = UnwindTable::parse(file)? else { return Ok(None) };
    let mut named: Option<Vec<u64>> = None;
    let mut functions = table.functions().peekable();
    while let Some(start) = functions.next() {
        let (Some(function), Some(next)) = (table.function_at(start), functions.peek()) else { continue };
        let Ok(memory) = VaddrSpan::between(function.end, *next) else { continue };
        if function.start != start || !(size..=LARGEST_GAP).contains(&memory.size()) {
            continue;
        }
        let Some(gap) = gap_of(file, memory) else { continue };
        if near.0.abs_diff(memory.start().0) >= REACH || !is_left(file, start, memory.start()) {
            continue;
        }
        let named = match &named {
            Some(named) => named,
            None => named.insert(addresses(file, dynamic, relocations)?),
        };
        let next = named.partition_point(|address| *address < memory.start().0);
        if named.get(next).is_none_or(|address| *address >= memory.end().0) {
            return Ok(Some(gap));
        }
    }
    Ok(None)
}

/// A range as a gap, if it is padding in a section of code, and so are the words that cover it.
fn gap_of(file: &ElfFile<'_>, memory: VaddrSpan) -> Option<Gap> {
    let words = memory.size().div_ceil(WORD);
    let covered = VaddrSpan::new(memory.start(), words.checked_mul(WORD)?).ok()?;
    let holds = |section: &coldstart_elf::SectionHeader| {
        section.kind == SectionKind::Program
            && section.is_executable()
            && section.contains(covered.start())
            && section.contains(Vaddr(covered.end().0.saturating_sub(1)))
    };
    file.sections().iter().find(|section| holds(&section.header))?;
    let bytes = file.memory_bytes("code", memory.start(), memory.size()).ok()?;
    let mut decoder = Decoder::with_ip(64, bytes, memory.start().0, DecoderOptions::NONE);
    while decoder.can_decode() {
        if !matches!(decoder.decode().mnemonic(), Mnemonic::Nop | Mnemonic::Int3) {
            return None;
        }
    }
    Some(Gap { memory, offset: file.offset_of(memory.start())?, words })
}

/// Whether a function ends with an instruction after which the next one is not executed.
fn is_left(file: &ElfFile<'_>, start: Vaddr, end: Vaddr) -> bool {
    let Some(size) = end.since(start).ok().filter(|size| *size <= LARGEST_FUNCTION) else { return false };
    let Ok(bytes) = file.memory_bytes("code", start, size) else { return false };
    let mut decoder = Decoder::with_ip(64, bytes, start.0, DecoderOptions::NONE);
    let mut leaves = false;
    while decoder.can_decode() {
        let instruction = decoder.decode();
        if instruction.is_invalid() {
            return false;
        }
        leaves = matches!(
            instruction.flow_control(),
            FlowControl::Return | FlowControl::UnconditionalBranch | FlowControl::IndirectBranch
        );
    }
    leaves
}

/// All addresses that the file names, ascending: symbols, pointers, the entry point, what the dynamic table calls.
fn addresses(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
) -> Result<Vec<u64>, Refusal> {
    let mut all = vec![file.header().entry.0];
    all.extend([Tag::INIT, Tag::FINI].into_iter().filter_map(|tag| dynamic.get(tag)));
    all.extend(file.dynamic_symbols(dynamic)?.iter().map(|symbol| symbol.value.0));
    all.extend(file.symbols()?.into_iter().flat_map(|symbols| symbols.iter()).map(|symbol| symbol.value.0));
    for table in relocations.tables() {
        // Also of those that are not pointers: then a number is taken for an address, which costs a gap at most.
        table.for_each(|relocation| all.extend(relocation.addend.map(|addend| addend as u64)));
    }
    all.sort_unstable();
    Ok(all)
}
