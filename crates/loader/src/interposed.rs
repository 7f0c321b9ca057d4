//! Which of an object's own symbols another object takes over.
//!
//! The loader looks a name up in one object of the scope after the other and takes the first definition, so an object that
//! comes earlier interposes those of later ones (gABI, "Shared Object Dependencies"; glibc `elf/dl-lookup.c`). Versions are
//! not considered: an earlier object with the name alone counts, even if the loader would pass it over.

use std::collections::BTreeSet;

use coldstart_elf::{
    DynamicTable, ElfError, ElfFile, GnuHashTable, Symbol, SymbolBinding, SymbolTable, SysvHashTable, Tag,
};

/// An object's symbols, as other objects look them up.
#[derive(Debug)]
pub struct Definitions<'data> {
    symbols: SymbolTable<'data>,
    gnu_hash: Option<GnuHashTable<'data>>,
    sysv_hash: Option<SysvHashTable<'data>>,
}

impl<'data> Definitions<'data> {
    /// Of this object; `None` without a dynamic table.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn of(file: &ElfFile<'data>) -> Result<Option<Self>, ElfError> {
        let Some(dynamic) = file.dynamic()? else { return Ok(None) };
        Ok(Some(Self {
            symbols: file.dynamic_symbols(&dynamic)?,
            gnu_hash: GnuHashTable::parse(file, &dynamic)?,
            sysv_hash: SysvHashTable::parse(file, &dynamic)?,
        }))
    }

    /// Whether a look-up of this name may end here. An undefined symbol with a value is one, too: a program's PLT entry, which
    /// stands for the function's address (psABI, "Function Addresses").
    pub fn define(&self, name: &[u8]) -> bool {
        let ends = |number: u32| {
            self.symbols.get(number).is_some_and(|symbol| {
                symbol.binding != SymbolBinding::Local
                    && (symbol.is_defined() || symbol.value.0 != 0)
                    && self.symbols.name(&symbol) == name
            })
        };
        match (&self.gnu_hash, &self.sysv_hash) {
            (Some(table), _) => table.lookup(name, ends).is_some(),
            (None, Some(table)) => table.lookup(name, ends).is_some(),
            (None, None) => false,
        }
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
    let is_first = |symbol: &Symbol| {
        let name = symbols.name(symbol);
        symbol.is_defined()
            && matches!(symbol.binding, SymbolBinding::Global | SymbolBinding::Weak)
            && !is_replaceable(name)
            && !before.iter().any(|object| object.define(name))
    };
    Ok((0..).zip(symbols.iter()).filter(|(_, symbol)| is_first(symbol)).map(|(number, _)| number).collect())
}

/// Whether an object's look-ups are answered by other objects in its place (`DT_FILTER`, `DT_AUXILIARY`), which come
/// before it in the scope.
pub fn is_filter(dynamic: &DynamicTable<'_>) -> bool {
    [Tag::FILTER, Tag::AUXILIARY].into_iter().any(|tag| dynamic.get(tag).is_some())
}
