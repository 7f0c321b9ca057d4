//! The tables of functions that run before `main`, in the order in which glibc runs them.

use coldstart_elf::{ElfFile, SectionHeader, SectionKind, Symbol, SymbolTable, Tag, Vaddr};

use super::InitialiserKind;
use crate::object::Object;
use crate::slots::{Target, Words};

/// A pointer to a function.
pub(super) struct Entry {
    pub(super) kind: InitialiserKind,
    pub(super) slot: Option<Vaddr>,
    pub(super) target: Target,
}

/// The contents of the tables.
#[derive(Default)]
pub(super) struct Found {
    pub(super) entries: Vec<Entry>,
    pub(super) ignored_preinit_entries: u64,
    pub(super) empty_entries: u64,
    pub(super) problems: Vec<String>,
}

/// A table of pointers: its address and its size in bytes.
type Place = (Vaddr, u64);

pub(super) fn find(object: &Object<'_>) -> Found {
    let mut found = Found::default();
    match array(object, &PREINIT_ARRAY) {
        // `_dl_init` reads only that of the program.
        Some(place) if object.is_program() => {
            found.add(object, InitialiserKind::PreinitArray, place, Direction::Forwards);
        }
        Some((_, size)) => {
            let entries = size.checked_div(object.file.encoding().word_size());
            found.ignored_preinit_entries = entries.unwrap_or(0);
        }
        None => {}
    }
    if let Some(address) = init_function(object) {
        found.entries.push(Entry { kind: InitialiserKind::Init, slot: None, target: Target::Address(address) });
        // Only the code in `.init` reads this table; sentinels at both ends are skipped as empty entries.
        if let Some(section) = object.file.section(".ctors").filter(|section| section.header.is_loaded()) {
            let mut ctors = Found::default();
            let place = (section.header.address, section.header.size);
            ctors.add(object, InitialiserKind::Ctors, place, Direction::Backwards);
            found.entries.append(&mut ctors.entries);
            found.problems.append(&mut ctors.problems);
        }
    }
    if let Some(place) = array(object, &INIT_ARRAY) {
        found.add(object, InitialiserKind::InitArray, place, Direction::Forwards);
    }
    found
}

#[derive(Clone, Copy)]
enum Direction {
    Forwards,
    Backwards,
}

impl Found {
    fn add(&mut self, object: &Object<'_>, kind: InitialiserKind, (start, size): Place, direction: Direction) {
        let word = object.file.encoding().word_size();
        let there = object.file.memory_from(start).map_or(0, |bytes| bytes.len() as u64);
        if size > there {
            let problem = format!("the table of {size} bytes at address {start} is truncated after {there} bytes");
            self.problems.push(problem);
        }
        // Bounded by the bytes in the file.
        let count = size.min(there).checked_div(word).unwrap_or(0);
        let mut words = Words::new(&object.file);
        for index in 0..count {
            let index = match direction {
                Direction::Forwards => index,
                Direction::Backwards => count.saturating_sub(index).saturating_sub(1),
            };
            let Some(slot) = start.checked_add(index.saturating_mul(word)) else { continue };
            match target(object, &mut words, slot) {
                Some(target) => self.entries.push(Entry { kind, slot: Some(slot), target }),
                None => self.empty_entries = self.empty_entries.saturating_add(1),
            }
        }
    }
}

/// The value of the word at `slot` after relocation. Without a relocation, its value in the file, as in programs at
/// fixed addresses and in files with a private form of packed relocations. `None` for 0 and -1.
fn target(object: &Object<'_>, words: &mut Words<'_, '_>, slot: Vaddr) -> Option<Target> {
    let all_ones = match object.file.encoding().word_size() {
        4 => u64::from(u32::MAX),
        _ => u64::MAX,
    };
    let target = object.slots.target_at(slot).or_else(|| words.at(slot).map(|word| Target::Address(Vaddr(word))))?;
    match target {
        Target::Address(address) if address.0 == 0 || address.0 == all_ones => None,
        target => Some(target),
    }
}

/// The three ways to find an array of functions.
struct Array {
    tags: (Tag, Tag),
    section: SectionKind,
    symbols: (&'static [u8], &'static [u8]),
}

const PREINIT_ARRAY: Array = Array {
    tags: (Tag::PREINIT_ARRAY, Tag::PREINIT_ARRAYSZ),
    section: SectionKind::PreinitArray,
    symbols: (b"__preinit_array_start", b"__preinit_array_end"),
};
const INIT_ARRAY: Array = Array {
    tags: (Tag::INIT_ARRAY, Tag::INIT_ARRAYSZ),
    section: SectionKind::InitArray,
    symbols: (b"__init_array_start", b"__init_array_end"),
};

/// The array that the dynamic table refers to. A static program has none; its start code finds the array by two
/// symbols.
fn array(object: &Object<'_>, array: &Array) -> Option<Place> {
    let place = match &object.dynamic {
        Some(dynamic) => Some((Vaddr(dynamic.get(array.tags.0)?), dynamic.get(array.tags.1)?)),
        None => section(&object.file, array.section).map(|header| (header.address, header.size)),
    };
    let place = place.or_else(|| {
        let symbols = object.file.symbols().ok().flatten()?;
        let (start, end) = (symbol(&symbols, array.symbols.0)?, symbol(&symbols, array.symbols.1)?);
        Some((start.value, end.value.0.checked_sub(start.value.0)?))
    });
    place.filter(|(_, size)| *size > 0)
}

/// `DT_INIT`, or the equivalent in the start code of a static program.
fn init_function(object: &Object<'_>) -> Option<Vaddr> {
    match &object.dynamic {
        Some(_) => object.tag(Tag::INIT).filter(|address| *address != 0).map(Vaddr),
        None => match object.names.function_named(b"_init") {
            Some(named) => Some(named.start),
            None => object.file.section(".init").map(|section| section.header.address),
        },
    }
}

fn section<'file>(file: &'file ElfFile<'_>, kind: SectionKind) -> Option<&'file SectionHeader> {
    file.sections().iter().map(|section| &section.header).find(|header| header.kind == kind && header.is_loaded())
}

fn symbol(symbols: &SymbolTable<'_>, name: &[u8]) -> Option<Symbol> {
    symbols.iter().find(|symbol| symbol.is_defined() && symbols.is_named(symbol, name))
}
