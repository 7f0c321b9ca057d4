//! The start addresses of an object's functions, for one-shot breakpoints.
//!
//! A breakpoint replaces a byte. In the middle of an instruction, or in a table among the code, that silently breaks
//! the program. So an address is returned only with proof that it is an instruction: an unwind entry begins there, a
//! function symbol is there and agrees with the code, or a relocation writes the address and the code agrees (see
//! `inner_starts`). Doubtful addresses are dropped, and counted.

use std::collections::BTreeSet;

use coldstart_elf::{ElfFile, SymbolBinding, SymbolKind, SymbolTable, Vaddr};

use super::coverage::Coverage;
use super::debug_names::{DebugNames, symbol_tables};
use super::decode::CodeKind;
use super::error::ObjectError;
use super::file::ObjectFile;
use super::frames::{Frame, Frames};
use super::inner_starts::{Inner, inner_starts};
use super::relocation_targets::relocation_targets;
use super::sections::{LoadedSection, loaded_sections};
use super::touched::PAGE;

/// The functions to look for.
#[derive(Clone, Copy, Debug)]
pub enum WantedPages<'a> {
    /// All of them.
    All,
    /// Those whose first byte is in these pages of the file (offset / 4096). Only their code is read.
    Of(&'a BTreeSet<u64>),
}

impl WantedPages<'_> {
    fn has(&self, file_offset: u64) -> bool {
        match self {
            Self::All => true,
            Self::Of(pages) => pages.contains(&(file_offset / PAGE)),
        }
    }
}

/// A function start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionStart {
    /// Address of the first instruction, without load bias.
    pub address: u64,
    /// Its file offset, in bytes.
    pub file_offset: u64,
    /// In bytes; `None` if it is not known.
    pub size: Option<u64>,
    /// Its proof.
    pub source: StartSource,
    /// Whether a symbol marks it as a split-off part of a function (`f.cold`). Unwind tables alone do not tell.
    pub is_part: bool,
}

/// The proof of a function start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StartSource {
    /// An entry of the unwind tables begins there.
    Unwind,
    /// A function's symbol, and the code agrees.
    Symbol,
    /// A relocation writes the address, and the code agrees.
    Relocation,
}

/// The function starts of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionStarts {
    /// Ascending by address, each address once.
    pub starts: Vec<FunctionStart>,
    /// The dropped candidates.
    pub dropped: Dropped,
    /// The share of the object's code in functions, requested or not.
    pub coverage: Coverage,
}

/// The number of dropped candidates, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Outside of loaded code.
    pub outside: u64,
    /// Entries of signal trampolines, which begin before the code, and of PLT stubs.
    pub no_function: u64,
    /// Overlapping, contradictory unwind entries.
    pub overlapping: u64,
    /// Not an instruction, or a breakpoint.
    pub no_code: u64,
    /// In the middle of an instruction, or in code that cannot be decoded.
    pub mid_instruction: u64,
    /// Relocation targets that are, or may be, labels within a function.
    pub labels: u64,
}

impl Dropped {
    /// The total.
    pub fn total(&self) -> u64 {
        let Self { outside, no_function, overlapping, no_code, mid_instruction, labels } = *self;
        [outside, no_function, overlapping, no_code, mid_instruction, labels]
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }
}

/// Finds function starts. See [`Coverage::is_enough`] for whether they are useful.
///
/// # Errors
/// If the file cannot be read, or its architecture is not x86-64, i386 or aarch64.
pub fn function_starts(object: &ObjectFile, wanted: &WantedPages<'_>) -> Result<FunctionStarts, ObjectError> {
    let debug = object.read(|file| DebugNames::of(object.path(), file))?;
    let starts = object.read(|file| {
        let kind = CodeKind::of(file.encoding()).ok_or_else(|| file.header().machine_name())?;
        let starts = collect(file, kind, debug.symbols(), wanted);
        Ok(if debug.shrank() { collect(file, kind, None, wanted) } else { starts })
    })?;
    starts.map_err(|machine| ObjectError::Machine { path: object.path().to_owned(), machine })
}

/// A function by its symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    start: u64,
    end: u64,
    is_part: bool,
}

fn collect(
    file: &ElfFile<'_>,
    kind: CodeKind,
    debug: Option<SymbolTable<'_>>,
    wanted: &WantedPages<'_>,
) -> FunctionStarts {
    let sections = loaded_sections(file);
    let code = CodeSections::new(file, &sections);
    let mut dropped = Dropped::default();
    let mut frames = Vec::new();
    for frame in Frames::read(file).unwrap_or_default().list {
        match code.place(frame.start, frame.end) {
            Place::Code if !frame.is_signal => frames.push(frame),
            Place::Code | Place::Linkage => dropped.no_function = dropped.no_function.saturating_add(1),
            Place::Outside => dropped.outside = dropped.outside.saturating_add(1),
        }
    }
    // Of several with one start (functions merged by the linker), the longest.
    frames.sort_by_key(|frame| (frame.start, std::cmp::Reverse(frame.end)));
    frames.dedup_by_key(|frame| frame.start);
    let named = named(file, debug, &code, &mut dropped);
    let coverage = {
        let symbols = named.iter().map(|named| Frame { start: named.start, end: named.end, is_signal: false });
        let mut all: Vec<Frame> = frames.iter().copied().chain(symbols).collect();
        // Two ascending lists, which the stable sort only merges.
        all.sort_by_key(|frame| (frame.start, std::cmp::Reverse(frame.end)));
        all.dedup_by_key(|frame| frame.start);
        Coverage::of(code.sections.iter().copied(), all.into_iter())
    };
    let is_wanted = |address: u64| file.offset_of(Vaddr(address)).is_some_and(|offset| wanted.has(offset.0));
    let targets = match kind {
        CodeKind::X86(_) => {
            let is_start = |address: u64| frames.binary_search_by_key(&address, |frame| frame.start).is_ok();
            let is_code = |address: u64| matches!(code.place(address, address.saturating_add(1)), Place::Code);
            relocation_targets(file, |address| is_code(address) && is_wanted(address) && !is_start(address))
        }
        // Literals are among the code, and each word there looks like an instruction.
        CodeKind::Aarch64 => Vec::new(),
    };
    let symbols: Vec<(u64, u64)> = named.iter().map(|named| (named.start, named.end)).collect();
    let inner = Inner { file, kind, frames: &frames, symbols: &symbols, targets: &targets, is_wanted: &is_wanted };
    let mut starts: Vec<FunctionStart> = inner_starts(&inner, &mut dropped)
        .into_iter()
        .filter_map(|(address, size, source)| {
            let of_symbol = named.partition_point(|named| named.start < address);
            let is_part = named.get(of_symbol).is_some_and(|named| named.start == address && named.is_part);
            Some(FunctionStart { address, file_offset: file.offset_of(Vaddr(address))?.0, size, source, is_part })
        })
        .collect();
    starts.sort_unstable_by_key(|start| (start.address, start.source));
    starts.dedup_by_key(|start| start.address);
    FunctionStarts { starts, dropped, coverage }
}

/// Symbols of functions, ascending by start, each start once.
fn named(
    file: &ElfFile<'_>,
    debug: Option<SymbolTable<'_>>,
    code: &CodeSections<'_>,
    dropped: &mut Dropped,
) -> Vec<Named> {
    let mut named = Vec::new();
    for table in symbol_tables(file, debug) {
        let mut room = table.name_room();
        let is_function = |kind| matches!(kind, SymbolKind::Function | SymbolKind::IndirectFunction);
        for symbol in table.iter().filter(|symbol| symbol.has_address() && is_function(symbol.kind) && symbol.size > 0)
        {
            let (start, end) = (symbol.value.0, symbol.value.0.saturating_add(symbol.size));
            match code.place(start, end) {
                Place::Code => {
                    // Parts are local, and reading every name of a large table takes its time.
                    let name = if symbol.binding == SymbolBinding::Local { table.name(&symbol) } else { b"" };
                    if room.take(name).is_err() {
                        break;
                    }
                    let is_part = is_part(name);
                    named.push(Named { start, end, is_part });
                }
                Place::Linkage => dropped.no_function = dropped.no_function.saturating_add(1),
                Place::Outside => dropped.outside = dropped.outside.saturating_add(1),
            }
        }
    }
    // A whole function's name is preferred over that of a part.
    named.sort_unstable_by_key(|named| (named.start, named.is_part, std::cmp::Reverse(named.end)));
    named.dedup_by_key(|named| named.start);
    named
}

/// Whether a symbol names a part of a function: GCC's `f.cold` and LLVM's `f.cold.1`.
fn is_part(name: &[u8]) -> bool {
    name.ends_with(b".cold") || name.windows(6).any(|part| part == b".cold.")
}

/// Ranges of code.
struct CodeSections<'a> {
    /// Sections with functions, ascending.
    sections: Vec<&'a LoadedSection>,
    linkage: Vec<&'a LoadedSection>,
}

enum Place {
    Code,
    Linkage,
    Outside,
}

impl<'a> CodeSections<'a> {
    /// Sections may claim code where the loader maps none; both must agree.
    fn new(file: &ElfFile<'_>, sections: &'a [LoadedSection]) -> Self {
        let is_code = |section: &&LoadedSection| {
            let last = section.end().saturating_sub(1);
            let segment = file.segment_at(Vaddr(section.section.address));
            let is_mapped = segment.is_some_and(|segment| segment.is_executable() && last < segment.file_end().0);
            section.is_executable && !section.section.is_zero_filled && is_mapped
        };
        let (linkage, sections) = sections.iter().filter(is_code).partition(|section| section.is_linkage());
        Self { sections, linkage }
    }

    fn place(&self, start: u64, end: u64) -> Place {
        let has = |sections: &[&LoadedSection]| {
            let behind = sections.partition_point(|section| section.section.address <= start);
            behind.checked_sub(1).and_then(|before| sections.get(before)).is_some_and(|section| end <= section.end())
        };
        match (has(&self.sections), has(&self.linkage)) {
            (true, _) => Place::Code,
            (_, true) => Place::Linkage,
            _ => Place::Outside,
        }
    }
}
