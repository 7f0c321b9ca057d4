//! Which of an object's own symbols another object takes over.
//!
//! The loader looks a name up in one object of the scope after the other and takes the first definition, so an object that
//! comes earlier interposes those of later ones (gABI, "Shared Object Dependencies"; glibc `elf/dl-lookup.c`). Versions are
//! not considered: an earlier object with the name alone counts, even if the loader would pass it over.

use std::collections::BTreeSet;

use coldstart_elf::{DynamicTable, ElfError, ElfFile, Symbol, SymbolBinding, SymbolLookup, Tag};

/// An object's symbols, as other objects look them up.
#[derive(Debug)]
pub struct Definitions<'data>(SymbolLookup<'data>);

impl<'data> Definitions<'data> {
    /// Of this object; `None` without a hash table: no look-up finds anything in it.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn of(file: &ElfFile<'data>) -> Result<Option<Self>, ElfError> {
        let Some(dynamic) = file.dynamic()? else { return Ok(None) };
        Ok(SymbolLookup::parse(file, &dynamic)?.map(Self))
    }

    /// Whether a look-up of this name may end here. An undefined symbol with a value is one, too: a program's PLT entry, which
    /// stands for the function's address (psABI, "Function Addresses").
    pub fn define(&self, name: &[u8]) -> bool {
        let ends =
            |symbol: &Symbol| symbol.binding != SymbolBinding::Local && (symbol.is_defined() || symbol.value.0 != 0);
        self.0.find(name, ends).is_some()
    }
}

/// Functions that programs may replace by their own or preloaded ones (glibc manual, "Replacing malloc"). Objects that disagree
/// on them give memory back to the wrong heap.
const REPLACEABLE: [&[u8]; 11] = [
    b"malloc",
    b"calloc",
    b"realloc",
    b"free",
    b"cfree",
    b"aligned_alloc",
    b"malloc_usable_size",
    b"memalign",
    b"posix_memalign",
    b"pvalloc",
    b"valloc",
];
/// The same: `operator new`, `new[]`, `delete` and `delete[]` of any form (C++ standard, "replacement.functions").
const REPLACEABLE_OPERATORS: [&[u8]; 4] = [b"_Znw", b"_Zna", b"_Zdl", b"_Zda"];

fn is_replaceable(name: &[u8]) -> bool {
    REPLACEABLE.contains(&name) || REPLACEABLE_OPERATORS.iter().any(|operator| name.starts_with(operator))
}

/// The global and weak symbols that an object defines and none of `before` does: their indices in the dynamic symbol table.
/// Without those that a preloaded library is meant to take over: allocation functions.
///
/// # Errors
/// If a table of the object cannot be read.
pub fn not_interposed(file: &ElfFile<'_>, before: &[&Definitions<'_>]) -> Result<BTreeSet<u32>, ElfError> {
    let Some(dynamic) = file.dynamic()? else { return Ok(BTreeSet::new()) };
    let symbols = file.dynamic_symbols(&dynamic)?;
    let mut room = symbols.name_room();
    let mut found = BTreeSet::new();
    for (number, symbol) in (0..).zip(symbols.iter()) {
        if symbol.is_defined() && matches!(symbol.binding, SymbolBinding::Global | SymbolBinding::Weak) {
            let name = symbols.name(&symbol);
            room.take(name)?;
            if !is_replaceable(name) && !before.iter().any(|object| object.define(name)) {
                found.insert(number);
            }
        }
    }
    Ok(found)
}

/// Whether an object's look-ups are answered by other objects in its place (`DT_FILTER`, `DT_AUXILIARY`), which come
/// before it in the scope.
pub fn is_filter(dynamic: &DynamicTable<'_>) -> bool {
    [Tag::FILTER, Tag::AUXILIARY].into_iter().any(|tag| dynamic.get(tag).is_some())
}
