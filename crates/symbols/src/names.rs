//! Names for touched addresses: symbols from all tables, and unwind entries for functions without a symbol.
//!
//! Of several names for one address one is chosen, deterministically. The resulting ranges do not overlap: a symbol
//! inside another one is dropped, and one that extends into the next is truncated.

use std::cmp::Reverse;

use coldstart_elf::{ElfFile, Encoding, Symbol, SymbolBinding, SymbolKind, SymbolTable, Vaddr, readable_name};
use coldstart_profile::trace::ObjectSymbol;

use super::debug_names::symbol_tables;
use super::frames::{Frame, Frames};
use super::sections::{LoadedSection, section_at};
use super::touched::TouchedRanges;

/// An object with more touched functions than this keeps only the names of those with events: otherwise a trace file
/// would consist mostly of names (17 000 functions share the pages that clang executes).
const ALL_NAMED: usize = 32;
/// Prefix of type names that compilers emit for comparisons (Itanium C++ ABI, "Virtual Tables and RTTI"): thousands
/// near each page, and none identifies the caller.
const TYPE_NAME: &[u8] = b"_ZTS";

/// A name for an address range; ordered by address, the best name of an address first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'data> {
    address: u64,
    has_no_size: bool,
    has_no_kind: bool,
    /// Global symbols before weak ones before local ones.
    binding: u8,
    length: usize,
    name: &'data [u8],
    size: Reverse<u64>,
    is_function: bool,
}

impl Candidate<'_> {
    /// Whether one of these ascending addresses is in its range.
    fn holds_one_of(&self, addresses: &[u64]) -> bool {
        let end = self.address.saturating_add(self.size.0.max(1));
        let behind = addresses.partition_point(|address| *address < self.address);
        addresses.get(behind).is_some_and(|address| *address < end)
    }
}

/// The symbols of touched ranges, ascending and disjoint. Unnamed functions only if they contain one of the ascending
/// instructions in `code`; the same for those of a large object.
pub(super) fn names<'data>(
    file: &ElfFile<'data>,
    debug: Option<SymbolTable<'data>>,
    sections: &[LoadedSection],
    touched: &TouchedRanges,
    code: &[u64],
) -> Vec<ObjectSymbol> {
    if touched.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for table in symbol_tables(file, debug) {
        let mut room = table.name_room();
        for symbol in table.iter() {
            let candidate = candidate(file.encoding(), &table, &symbol, sections, touched);
            if candidate.as_ref().is_some_and(|candidate| room.take(candidate.name).is_err()) {
                break;
            }
            found.extend(candidate);
        }
    }
    found.sort_unstable();
    // The largest size that any of the names of an address has.
    found.dedup_by(|other, first| {
        let same = other.address == first.address;
        if same {
            first.size = first.size.min(other.size);
        }
        same
    });
    let frames = Frames::read(file).unwrap_or_default();
    let mut found = apart(found, &frames);
    if found.iter().filter(|candidate| candidate.is_function).count() > ALL_NAMED {
        found.retain(|candidate| match candidate.is_function {
            true => candidate.holds_one_of(code),
            false => !candidate.name.starts_with(TYPE_NAME),
        });
    }
    let mut named: Vec<ObjectSymbol> = found.into_iter().map(symbol).collect();
    named.extend(nameless(&named, &frames, sections, code));
    named.sort_by_key(|symbol| symbol.address);
    cut(&mut named);
    named
}

fn candidate<'data>(
    encoding: Encoding,
    table: &SymbolTable<'data>,
    symbol: &Symbol,
    sections: &[LoadedSection],
    touched: &TouchedRanges,
) -> Option<Candidate<'data>> {
    if !symbol.has_address() {
        return None;
    }
    let is_function = matches!(symbol.kind, SymbolKind::Function | SymbolKind::IndirectFunction);
    let Vaddr(address) = if is_function { encoding.code_address(symbol.value) } else { symbol.value };
    if !touched.overlap(address, symbol.size) {
        return None;
    }
    // An untyped symbol is a label of hand-written code, or a linker marker (`__bss_start`), which is no useful name.
    let has_no_kind = !is_function && symbol.kind != SymbolKind::Object;
    let section = section_at(sections, address)?;
    if has_no_kind && !section.is_executable {
        return None;
    }
    let name = table.name(symbol);
    // `$x` and `$d` tell disassemblers of ARM where code and data are.
    if name.is_empty() || name.starts_with(b"$") {
        return None;
    }
    let binding = match symbol.binding {
        SymbolBinding::Global => 0,
        SymbolBinding::Unique | SymbolBinding::Weak => 1,
        _ => 2,
    };
    Some(Candidate {
        address,
        has_no_size: symbol.size == 0,
        has_no_kind,
        binding,
        length: name.len(),
        name,
        size: Reverse(symbol.size),
        is_function: is_function || has_no_kind,
    })
}

/// Drops symbols inside a larger one. Functions without a size get that of their unwind entry.
fn apart<'data>(candidates: Vec<Candidate<'data>>, frames: &Frames) -> Vec<Candidate<'data>> {
    let mut apart: Vec<Candidate<'_>> = Vec::with_capacity(candidates.len());
    let mut end = 0;
    for mut candidate in candidates {
        if candidate.address < end {
            continue;
        }
        if candidate.size.0 == 0 && candidate.is_function {
            let frame = frames.at(candidate.address).filter(|frame| frame.start == candidate.address);
            candidate.size.0 = frame.map_or(0, |frame| frame.end.saturating_sub(frame.start));
        }
        end = candidate.address.saturating_add(candidate.size.0);
        apart.push(candidate);
    }
    apart
}

fn symbol(candidate: Candidate<'_>) -> ObjectSymbol {
    ObjectSymbol {
        address: candidate.address,
        size: candidate.size.0,
        name: readable_name(candidate.name),
        is_function: candidate.is_function,
    }
}

/// Functions known only from unwind tables, for instructions that need a name.
fn nameless(named: &[ObjectSymbol], frames: &Frames, sections: &[LoadedSection], code: &[u64]) -> Vec<ObjectSymbol> {
    let is_named = |frame: &Frame| {
        let behind = named.partition_point(|symbol| symbol.address <= frame.start);
        let before = behind.checked_sub(1).and_then(|before| named.get(before));
        before.is_some_and(|symbol| {
            frame.start == symbol.address || frame.start < symbol.address.saturating_add(symbol.size)
        })
    };
    // The single entry of a PLT is not a function, and that of a signal trampoline begins in padding.
    let is_function = |frame: &Frame| {
        let section = section_at(sections, frame.start);
        !frame.is_signal && section.is_some_and(|section| section.is_executable && !section.is_linkage())
    };
    let frames = code.iter().filter_map(|address| frames.at(*address));
    let mut nameless: Vec<ObjectSymbol> = frames
        .filter(|frame| !is_named(frame) && is_function(frame))
        .map(|frame| ObjectSymbol {
            address: frame.start,
            size: frame.end.saturating_sub(frame.start),
            name: format!("fn_{:x}", frame.start),
            is_function: true,
        })
        .collect();
    nameless.dedup_by_key(|symbol| symbol.address);
    nameless
}

/// Truncates symbols that extend into the next one.
fn cut(symbols: &mut [ObjectSymbol]) {
    let starts: Vec<u64> = symbols.iter().skip(1).map(|symbol| symbol.address).collect();
    for (symbol, next) in symbols.iter_mut().zip(starts) {
        symbol.size = symbol.size.min(next.saturating_sub(symbol.address));
    }
}
