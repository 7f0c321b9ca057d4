//! From an address to its function or variable.
//!
//! Names come from the best available table: the file's own `.symtab`, that of its separate debug file, the small one
//! that Fedora packs into `.gnu_debugdata`, and always the dynamic symbols. An address often has several names
//! (constructors, aliases); one of them is enough here.

use coldstart_elf::{ElfFile, Symbol, SymbolKind, SymbolTable, Vaddr};
use serde::Serialize;

/// The source of names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NameSource {
    /// `.symtab` of the file itself.
    SymbolTable,
    /// `.symtab` of a separate debug file.
    DebugFile,
    /// `.symtab` inside `.gnu_debugdata`.
    MiniDebugInfo,
    /// Only the dynamic symbols: the file is stripped.
    DynamicSymbols,
}

/// A named address range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'data> {
    /// Its address.
    pub start: Vaddr,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// Its mangled name, without version.
    pub name: &'data [u8],
}

impl Named<'_> {
    fn contains(&self, address: Vaddr) -> bool {
        address.0.checked_sub(self.start.0).is_some_and(|distance| distance < self.size.max(1))
    }
}

/// Names of functions and of variables, each sorted by address.
#[derive(Clone, Debug)]
pub struct Names<'data> {
    functions: Vec<Named<'data>>,
    variables: Vec<Named<'data>>,
    source: NameSource,
}

impl<'data> Names<'data> {
    /// Collects the names of `file`; `more` is an external table, for a file without `.symtab`.
    pub fn collect(
        file: &ElfFile<'data>,
        dynamic_symbols: &SymbolTable<'data>,
        more: Option<(NameSource, SymbolTable<'data>)>,
    ) -> Self {
        let own = file.symbols().ok().flatten().map(|symbols| (NameSource::SymbolTable, symbols));
        let best = own.or(more);
        let source = best.as_ref().map_or(NameSource::DynamicSymbols, |(source, _)| *source);
        let mut names = Self { functions: Vec::new(), variables: Vec::new(), source };
        for table in best.iter().map(|(_, table)| table).chain([dynamic_symbols]) {
            names.add(table);
        }
        let encoding = file.encoding();
        names.functions.iter_mut().for_each(|function| function.start = encoding.code_address(function.start));
        for list in [&mut names.functions, &mut names.variables] {
            // Of several names for one address the largest comes first, and is kept.
            list.sort_by_key(|named| (named.start, std::cmp::Reverse(named.size)));
            list.dedup_by_key(|named| named.start);
        }
        names
    }

    fn add(&mut self, table: &SymbolTable<'data>) {
        let mut room = table.name_room();
        for symbol in table.iter().filter(Symbol::has_address) {
            let list = match symbol.kind {
                SymbolKind::Function | SymbolKind::IndirectFunction => &mut self.functions,
                SymbolKind::Object => &mut self.variables,
                _ => continue,
            };
            let name = table.name(&symbol);
            if room.take(name).is_err() {
                break;
            }
            if !name.is_empty() {
                list.push(Named { start: symbol.value, size: symbol.size, name });
            }
        }
    }

    /// The best available table.
    pub fn source(&self) -> NameSource {
        self.source
    }

    /// The function at `address`.
    pub fn function_at(&self, address: Vaddr) -> Option<Named<'data>> {
        find(&self.functions, address)
    }

    /// The variable at `address`.
    pub fn variable_at(&self, address: Vaddr) -> Option<Named<'data>> {
        find(&self.variables, address)
    }

    /// The function with this name.
    pub fn function_named(&self, name: &[u8]) -> Option<Named<'data>> {
        self.functions.iter().find(|named| named.name == name).copied()
    }

    /// All variables, sorted by address.
    pub fn variables(&self) -> &[Named<'data>] {
        &self.variables
    }
}

/// Limit on nested smaller names that are checked.
const NESTING: usize = 16;

pub(crate) fn find<'data>(sorted: &[Named<'data>], address: Vaddr) -> Option<Named<'data>> {
    let end = sorted.partition_point(|named| named.start <= address);
    let before = sorted.get(..end)?;
    before.iter().rev().take(NESTING).find(|named| named.contains(address)).copied()
}
