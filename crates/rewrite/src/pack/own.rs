//! References of a file to its own definitions that can become relative (the pass `bind-local`).
//!
//! A relocation with a symbol makes the loader look the symbol up by name in every object of the scope, even if the
//! file itself defines it: another object may define it, too, and come first. Where none can, the result of the look-up
//! is known when the file is written: the load address plus the symbol's value.
//!
//! glibc does not look up local and hidden symbols (`elf/dl-reloc.c`, `RESOLVE_MAP`), and looks up the symbols of an
//! object with `DT_SYMBOLIC` in that object first (`elf/dl-load.c`). Protected symbols are certain for calls only: for
//! addresses glibc lets a program's copy of the variable, or its PLT entry of the function, win (`elf/dl-lookup.c`,
//! `_dl_lookup_symbol_x`), so that all agree. musl knows neither hidden symbols nor `DT_SYMBOLIC` (`ldso/dynlink.c`).

use std::collections::{BTreeMap, BTreeSet};

use coldstart_elf::{
    DynamicRelocations, DynamicTable, ElfFile, NameRoom, Relocation, RelocationTable, Symbol, SymbolBinding,
    SymbolKind, SymbolLookup, SymbolTable, SymbolVisibility,
};
use serde::Serialize;

use super::checks;
use super::in_place::Changed;
use super::pass::Pass;
use super::pure_virtual::PureVirtual;
use super::words::Words;
use crate::refusal::Refusal;

/// Section numbers from here on have other meanings (`SHN_LORESERVE`).
const RESERVED_SECTIONS: u16 = 0xff00;

/// The references to a file's own definitions, by what becomes of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OwnReferences {
    /// All relocations that the loader applies at start-up and that refer to a symbol which the file defines.
    pub all: u64,
    /// Those that no other object can take over.
    pub certain: u64,
    /// Those that no object of the closed world takes over, without the certain ones.
    pub in_closed_world: u64,
    /// Those to `STB_GNU_UNIQUE` symbols, of which a process has one whoever defines them.
    pub unique: u64,
    /// Those to symbols whose address is not the load address plus a number: thread-local, absolute, IFUNC.
    pub not_an_address: u64,
}

/// The records that become relative.
#[derive(Debug, Default)]
pub(super) struct Bound {
    /// The value of each in `DT_RELA` or `DT_REL`, without the load address, by its index in the table.
    pub(super) values: BTreeMap<usize, u64>,
    /// The same for the PLT's table.
    pub(super) plt: BTreeMap<usize, u64>,
    pub(super) counts: OwnReferences,
    /// Those among `values` that lead to a pure virtual function.
    pub(super) pure_virtual: u64,
    /// Code that these lead to.
    pub(super) code: Vec<Changed>,
}

/// The relocation types that write a symbol's address into a word.
#[derive(Clone, Copy, Debug)]
struct Types {
    /// Address plus addend.
    absolute: u32,
    /// The address alone; RISC-V uses the other one.
    global_data: Option<u32>,
    /// The same for the PLT.
    jump_slot: u32,
}

impl Bound {
    /// Whether nothing becomes relative.
    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty() && self.plt.is_empty()
    }

    /// Adds those of another pass, which are others: their symbol is not the file's own.
    pub(super) fn add(&mut self, found: PureVirtual) {
        self.pure_virtual = found.values.len() as u64;
        self.values.extend(found.values);
        self.code = found.code;
    }

    /// The passes that made them relative.
    pub(super) fn passes(&self) -> impl Iterator<Item = Pass> {
        let all = self.values.len().wrapping_add(self.plt.len()) as u64;
        passes(all, self.pure_virtual)
    }
}

/// The passes that make this many records relative, of which some lead to pure virtual functions.
pub(super) fn passes(bound: u64, pure_virtual: u64) -> impl Iterator<Item = Pass> {
    let own = (bound > pure_virtual).then_some(Pass::BindLocal);
    own.into_iter().chain((pure_virtual > 0).then_some(Pass::PureVirtual))
}

/// The types of an architecture, by its ABI supplement.
fn types(machine: u16, word_size: u64) -> Option<Types> {
    let types = |absolute, global_data, jump_slot| Some(Types { absolute, global_data, jump_slot });
    match (machine, word_size) {
        (62, 8) => types(1, Some(6), 7),
        (183, 8) => types(257, Some(1025), 1026),
        (243, 8) => types(2, None, 5),
        (243, 4) => types(1, None, 5),
        (3, 4) => types(1, Some(6), 7),
        (40, 4) => types(2, Some(21), 22),
        _ => None,
    }
}

/// Finds the records that become relative. `not_interposed` are the symbols that no object of a closed world takes over.
///
/// Those of the PLT only in files that are bound when they are loaded: otherwise most are never looked up, and a record's
/// place in the table is its number for the code that looks it up at the first call.
///
/// # Errors
/// If a table cannot be read.
pub(super) fn find(
    file: &ElfFile<'_>,
    dynamic: &DynamicTable<'_>,
    relocations: &DynamicRelocations<'_>,
    not_interposed: &BTreeSet<u32>,
) -> Result<Bound, Refusal> {
    let encoding = file.encoding();
    let mut bound = Bound::default();
    let Some(types) = types(encoding.machine, encoding.word_size()) else { return Ok(bound) };
    let symbols = file.dynamic_symbols(dynamic)?;
    let is_glibc = checks::is_for_glibc(file, dynamic)?;
    let finder = Finder {
        symbols,
        lookup: SymbolLookup::parse(file, dynamic)?,
        name_room: symbols.name_room(),
        is_symbolic: is_glibc && dynamic.is_symbolic(),
        hides: is_glibc,
        mask: if encoding.word_size() == 4 { u64::from(u32::MAX) } else { u64::MAX },
        not_interposed,
    };
    let mut judge = Judge { finder, types, words: Words::new(file), judged: BTreeMap::new(), counts: bound.counts };
    for table in relocations.tables() {
        judge.all_of(table, false, &mut bound.values);
    }
    if let (true, Some(plt)) = (dynamic.binds_now(), &relocations.plt) {
        judge.all_of(plt, true, &mut bound.plt);
    }
    bound.counts = judge.counts;
    Ok(bound)
}

struct Judge<'f, 'data> {
    finder: Finder<'f, 'data>,
    types: Types,
    words: Words<'f, 'data>,
    /// What becomes of references to a symbol, by its index: in the PLT and elsewhere.
    judged: BTreeMap<(u32, bool), Fate>,
    counts: OwnReferences,
}

impl Judge<'_, '_> {
    /// Judges all records of a table, and puts the values of those that become relative into `values`.
    fn all_of(&mut self, table: &RelocationTable<'_>, is_plt: bool, values: &mut BTreeMap<usize, u64>) {
        let mut numbers = 0_usize..;
        table.for_each(|relocation| {
            if let (Some(number), Some(value)) = (numbers.next(), self.value(&relocation, is_plt)) {
                values.insert(number, value);
            }
        });
    }

    /// The value of a reference that becomes relative.
    fn value(&mut self, relocation: &Relocation, is_plt: bool) -> Option<u64> {
        let number = relocation.symbol;
        let symbol = self.finder.symbols.get(number).filter(|symbol| number != 0 && symbol.is_defined())?;
        let finder = &mut self.finder;
        let fate = *self.judged.entry((number, is_plt)).or_insert_with(|| finder.fate(number, &symbol, is_plt));
        let value = added(&self.types, relocation, &mut self.words).map(|added| symbol.value.0.wrapping_add(added));
        let counts = &mut self.counts;
        let (count, value) = match (fate, value) {
            (Fate::Unique, _) => (Some(&mut counts.unique), None),
            (Fate::NotAnAddress, _) => (Some(&mut counts.not_an_address), None),
            (Fate::Certain, Some(_)) => (Some(&mut counts.certain), value),
            (Fate::InClosedWorld, Some(_)) => (Some(&mut counts.in_closed_world), value),
            _ => (None, None),
        };
        // Counts of records in memory: no overflow.
        if let Some(count) = count {
            *count = count.wrapping_add(1);
        }
        counts.all = counts.all.wrapping_add(1);
        value.map(|value| value & self.finder.mask)
    }
}

/// What a relocation adds to its symbol's address; `None` if it does something else, or not to a word of the file in
/// writable memory.
fn added(types: &Types, relocation: &Relocation, words: &mut Words<'_, '_>) -> Option<u64> {
    if !words.is_writable(relocation.offset) {
        return None;
    }
    let (_, held) = words.at(relocation.offset)?;
    match relocation.kind {
        kind if kind == types.absolute => Some(relocation.addend.map_or(held, |addend| addend as u64)),
        // Loaders disagree on an addend here.
        kind if Some(kind) == types.global_data || kind == types.jump_slot => {
            (relocation.addend.unwrap_or(0) == 0).then_some(0)
        }
        _ => None,
    }
}

/// What becomes of the references to a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Certain,
    InClosedWorld,
    Unique,
    NotAnAddress,
    /// Another object may define it.
    Open,
}

struct Finder<'f, 'data> {
    symbols: SymbolTable<'data>,
    lookup: Option<SymbolLookup<'data>>,
    /// For the names that are looked up.
    name_room: NameRoom,
    /// The loader looks in the file itself first.
    is_symbolic: bool,
    /// The loader does not look up hidden symbols.
    hides: bool,
    /// The bits of an address.
    mask: u64,
    not_interposed: &'f BTreeSet<u32>,
}

impl Finder<'_, '_> {
    fn fate(&mut self, number: u32, symbol: &Symbol, is_plt: bool) -> Fate {
        let is_data_or_code = matches!(symbol.kind, SymbolKind::None | SymbolKind::Object | SymbolKind::Function);
        // glibc takes a definition with the value 0 for none.
        if !symbol.has_address() || !is_data_or_code || symbol.section >= RESERVED_SECTIONS || symbol.value.0 == 0 {
            return Fate::NotAnAddress;
        }
        let is_hidden = match symbol.visibility {
            SymbolVisibility::Hidden | SymbolVisibility::Internal => true,
            // A call goes to the file's own function, whatever stands for its address.
            SymbolVisibility::Protected => is_plt,
            SymbolVisibility::Default => false,
        };
        match symbol.binding {
            SymbolBinding::Unique => Fate::Unique,
            SymbolBinding::Local => Fate::Certain,
            SymbolBinding::Global | SymbolBinding::Weak if is_hidden && self.hides => Fate::Certain,
            SymbolBinding::Global | SymbolBinding::Weak if self.is_symbolic && self.finds(number, symbol) => {
                Fate::Certain
            }
            SymbolBinding::Global | SymbolBinding::Weak
                if self.not_interposed.contains(&number) && self.finds(number, symbol) =>
            {
                Fate::InClosedWorld
            }
            _ => Fate::Open,
        }
    }

    /// Whether a look-up of its name in this file gives the symbol, and not another version of it.
    fn finds(&mut self, number: u32, symbol: &Symbol) -> bool {
        if self.name_room.is_exhausted() {
            return false;
        }
        let name = self.symbols.name(symbol);
        let lookup = self.lookup.as_ref().filter(|_| self.name_room.take(name).is_ok());
        lookup.and_then(|lookup| lookup.find(name, |_| true)).is_some_and(|(found, _)| found == number)
    }
}
