//! References to `__cxa_pure_virtual` that the output makes relative: they lead to a jump of the file's own, whose operand is a word that
//! keeps its relocation to the same symbol.
//!
//! The jump stands where the original has bytes that nothing executes or names: no-ops or traps between the end of one function and the start of
//! the next, by the unwind tables (LSB Core, "Exception Frames"), behind an instruction that never goes on to the next one.

use std::ops::Range;

use gimli::{BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, UnwindSection};
use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Mnemonic, OpKind, Register};
use object::elf::{self, PT_GNU_EH_FRAME, SHF_EXECINSTR, SHT_PROGBITS, SHT_SYMTAB};

use crate::image::Image;
use crate::image::dynamic::tag;
use crate::image::headers::Section;
use crate::loaded::slots::Slots;
use crate::tables::Tables;
use crate::tables::relocations::{Record, records};
use crate::tables::symbols::{is_string, symbol, symbol_size};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "jump to a pure virtual function";
/// The function of the C++ ABI ("Pure virtual functions" of the Itanium C++ ABI).
const NAME: &[u8] = b"__cxa_pure_virtual";

/// The output's jump, in place of unused bytes of the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The unused bytes.
    pub(crate) gap: Range<u64>,
    /// The word with the address that it jumps to.
    slot: u64,
}

impl Jump {
    /// Finds the output's jump by its difference from the original; `None` if the code is the same.
    pub(crate) fn find(
        original: (&Image<'_>, &Tables<'_>),
        output: (&Image<'_>, &Tables<'_>),
    ) -> Result<Option<Self>, NotProven> {
        let Some(start) = first_difference(original.0, output.0) else { return Ok(None) };
        let wrong = |problem: &str| broken(output.0.which, WHAT, hex(start), problem);
        if original.0.header.machine != elf::EM_X86_64 || !original.0.encoding.wide {
            return Err(wrong("only the code of x86-64 is known"));
        }
        let functions =
            around(original.0, start).ok_or_else(|| wrong("the unwind tables do not tell of a gap there"))?;
        let gap = functions.before.end..functions.next;
        let code = |image: &Image<'_>, range: &Range<u64>| image.at(range.clone()).map(<[u8]>::to_vec);
        let (before, old) = (code(original.0, &functions.before), code(original.0, &gap));
        let (Some(before), Some(old), Some(new)) = (before, old, code(output.0, &gap)) else {
            return Err(wrong("its code is not mapped"));
        };
        if gap.start != start || !is_padding(&old, start) || !never_goes_on(&before, functions.before.start) {
            return Err(wrong("these bytes of the original may be in use"));
        }
        let (slot, rest) = jump(&new, start).ok_or_else(|| wrong("it is no jump by a word of the file"))?;
        if rest.iter().any(|byte| *byte != 0xcc) {
            return Err(wrong("more than a jump is there"));
        }
        if let Some(address) = named(original, &gap) {
            return Err(wrong(&format!("the original names {address:#x}")));
        }
        let jump = Self { gap, slot };
        let leads_there = |(image, tables): (&Image<'_>, &Tables<'_>)| {
            let mut all = tables.relocations.iter().flat_map(|table| records(image, *table));
            all.any(|record| record.offset == slot && is_reference((image, tables), &record))
        };
        if !leads_there(original) || !leads_there(output) {
            return Err(wrong(&format!("the word {slot:#x} is no reference to a pure virtual function")));
        }
        Ok(Some(jump))
    }

    /// The value without the load bias of a reference of the original, if the output may have it lead to the jump.
    pub(crate) fn value_of(&self, original: (&Image<'_>, &Tables<'_>), record: &Record) -> Option<u64> {
        (record.offset != self.slot && is_reference(original, record)).then_some(self.gap.start)
    }

    /// No pointer of the original may lead to the unused bytes.
    pub(crate) fn check_pointers(&self, image: &Image<'_>, slots: &Slots) -> Result<(), NotProven> {
        for slot in slots.within(&(0..u64::MAX)) {
            let held = || image.at(slot.address..slot.address.saturating_add(8)).and_then(|bytes| image.word(bytes));
            if slot.addend.or_else(held).is_some_and(|value| self.gap.contains(&value)) {
                return Err(differs(WHAT, hex(self.gap.start), "pointed to", hex(slot.address)));
            }
        }
        Ok(())
    }
}

/// Whether a record writes the address of a pure virtual function that another object defines.
fn is_reference((image, tables): (&Image<'_>, &Tables<'_>), record: &Record) -> bool {
    let number = u64::from(record.symbol);
    let found = symbol(image, tables.symbols, number).filter(|symbol| number != 0 && !symbol.is_defined());
    let is_named = found.is_some_and(|symbol| is_string(tables.strings, symbol.name, NAME));
    record.kind == elf::R_X86_64_64 && record.addend == Some(0) && is_named
}

/// The first address at which code differs, by the original's sections: segments with code may have the loader's tables, too. What differs
/// elsewhere, the comparison of all memory finds.
fn first_difference(original: &Image<'_>, output: &Image<'_>) -> Option<u64> {
    let is_code = |section: &&Section<'_>| {
        section.kind == SHT_PROGBITS && section.is_allocated() && section.flags.contains(SHF_EXECINSTR)
    };
    let differing = |section: &Section<'_>| {
        let (old, new) = (original.at(section.memory())?, output.at(section.memory())?);
        let place = old.iter().zip(new).position(|(old, new)| old != new)?;
        section.address.checked_add(place as u64)
    };
    original.sections.iter().filter(is_code).filter_map(differing).min()
}

/// The function that ends at a gap, and the start of the one after it.
struct Around {
    before: Range<u64>,
    next: u64,
}

/// The functions around an address, by the search table and its entry.
fn around(image: &Image<'_>, address: u64) -> Option<Around> {
    let header = image.segments_of(PT_GNU_EH_FRAME).next()?;
    let bytes = image.at(header.backed())?;
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
    let parsed = EhFrameHdr::new(bytes, LittleEndian).parse(&bases, 8).ok()?;
    let gimli::Pointer::Direct(frames_at) = parsed.eh_frame_ptr() else { return None };
    let table = parsed.table()?;
    let mut rows = table.iter(&bases);
    let mut last = None;
    while let Ok(Some((start, entry))) = rows.next() {
        let (gimli::Pointer::Direct(start), gimli::Pointer::Direct(entry)) = (start, entry) else { return None };
        if start > address {
            let (first, entry) = last?;
            let before = entry_at(image, frames_at, entry)?;
            return (before.start == first && before.end <= address).then_some(Around { before, next: start });
        }
        last = Some((start, entry));
    }
    None
}

/// The range of an entry of `.eh_frame`.
fn entry_at(image: &Image<'_>, frames_at: u64, entry: u64) -> Option<Range<u64>> {
    let piece = image.piece(frames_at)?.bytes?;
    let frames: EhFrame<EndianSlice<'_, LittleEndian>> = EhFrame::new(piece, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(frames_at);
    let offset = usize::try_from(entry.checked_sub(frames_at)?).ok()?.into();
    let found = frames.fde_from_offset(&bases, offset, EhFrame::cie_from_offset).ok()?;
    Some(found.initial_address()..found.initial_address().checked_add(found.len())?)
}

fn is_padding(bytes: &[u8], address: u64) -> bool {
    let mut all = decoded(bytes, address);
    all.all(|instruction| matches!(instruction.mnemonic(), Mnemonic::Nop | Mnemonic::Int3))
}

/// Whether the last instruction is one that does not go on to the next.
fn never_goes_on(bytes: &[u8], address: u64) -> bool {
    let mut last = None;
    for instruction in decoded(bytes, address) {
        if instruction.is_invalid() {
            return false;
        }
        last = Some(instruction.flow_control());
    }
    let leaves = [FlowControl::Return, FlowControl::UnconditionalBranch, FlowControl::IndirectBranch];
    last.is_some_and(|last| leaves.contains(&last))
}

/// The word by which `endbr64; jmp *word(%rip)` jumps, and the bytes behind it.
fn jump(bytes: &[u8], address: u64) -> Option<(u64, &[u8])> {
    let mut all = decoded(bytes, address);
    let (first, second) = (all.next()?, all.next()?);
    let is_jump = first.code() == Code::Endbr64
        && second.code() == Code::Jmp_rm64
        && second.op0_kind() == OpKind::Memory
        && second.memory_base() == Register::RIP
        && second.memory_index() == Register::None
        && !second.has_segment_prefix();
    let behind = usize::try_from(second.next_ip().checked_sub(address)?).ok()?;
    is_jump.then(|| Some((second.ip_rel_memory_address(), bytes.get(behind..)?))).flatten()
}

fn decoded(bytes: &[u8], address: u64) -> impl Iterator<Item = iced_x86::Instruction> {
    let mut decoder = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE);
    std::iter::from_fn(move || decoder.can_decode().then(|| decoder.decode()))
}

/// An address in a range that symbols, the header or the dynamic table name.
fn named((image, tables): (&Image<'_>, &Tables<'_>), range: &Range<u64>) -> Option<u64> {
    let size = usize::try_from(symbol_size(image)).ok()?;
    let values = |table: &[u8]| -> Vec<u64> {
        let count = table.len().checked_div(size).unwrap_or(0) as u64;
        (0..count).filter_map(|number| symbol(image, table, number)).map(|symbol| symbol.value).collect()
    };
    let fixed = [tag::INIT, tag::FINI].into_iter().filter_map(|tag| image.dynamic.get(tag));
    let for_tools = image.sections.iter().filter(|section| section.kind == SHT_SYMTAB);
    let for_tools = for_tools.filter_map(|section| image.file(section.offset, section.size)).flat_map(values);
    let mut all = fixed.chain([image.header.entry]).chain(values(tables.symbols)).chain(for_tools);
    all.find(|address| range.contains(address))
}
