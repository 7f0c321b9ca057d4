//! Symbol lookups at the start, and how many of them are avoidable.

use std::collections::HashSet;

use coldstart_elf::{Relocation, RelocationClass, RelocationClasses, Symbol, SymbolBinding, SymbolKind};
use serde::Serialize;

use crate::object::Object;
use crate::slots::Target;

/// References to symbols.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct References {
    /// Records with a symbol lookup before the program starts: all but lazily bound ones of the PLT.
    pub lookups_at_start: u64,
    /// Distinct symbols among these.
    pub distinct_symbols: u64,
    /// Lazily bound records of the PLT.
    pub lazy: u64,
    /// Words that refer to a symbol that the object itself defines and exports. They could be relative, and packed.
    pub own_words: u64,
    /// GOT entries of such symbols.
    pub own_global_data: u64,
    /// PLT entries of such symbols: calls that could be direct.
    pub own_calls: u64,
    /// References to `__cxa_pure_virtual`, one for each pure virtual function in a vtable.
    pub pure_virtual: u64,
    /// Those by name. References to the object's own hidden function are relative.
    pub pure_virtual_by_name: u64,
}

impl References {
    /// References that could be relative if the object's own symbols could not be interposed.
    pub fn could_be_relative(&self) -> u64 {
        self.own_words.saturating_add(self.own_global_data)
    }
}

pub(super) fn count(object: &Object<'_>) -> References {
    let mut references = References::default();
    let mut classes = RelocationClasses::new(object.file.encoding().machine);
    let symbols = object.dynamic_symbols;
    let mut is_seen = vec![false; symbols.len()];
    let mut look_up = |references: &mut References, relocation: &Relocation| {
        references.lookups_at_start += 1;
        if let Some(seen) = is_seen.get_mut(relocation.symbol as usize)
            && !std::mem::replace(seen, true)
        {
            references.distinct_symbols += 1;
        }
    };
    for table in object.relocations.tables() {
        table.for_each(|relocation| {
            if relocation.symbol == 0 {
                return;
            }
            look_up(&mut references, &relocation);
            let is_own = || symbols.get(relocation.symbol).is_some_and(|symbol| could_be_bound(&symbol));
            match classes.of(relocation.kind) {
                RelocationClass::Absolute => references.own_words += u64::from(is_own()),
                RelocationClass::GlobalData => references.own_global_data += u64::from(is_own()),
                _ => {}
            }
        });
    }
    let binds_now = object.dynamic.as_ref().is_some_and(|dynamic| dynamic.binds_now());
    for table in object.relocations.plt.iter() {
        table.for_each(|relocation| {
            if relocation.symbol == 0 {
                return;
            }
            if binds_now {
                look_up(&mut references, &relocation);
            } else {
                references.lazy += 1;
            }
            let symbol = symbols.get(relocation.symbol);
            references.own_calls += u64::from(symbol.is_some_and(|symbol| could_be_bound(&symbol)));
        });
    }
    (references.pure_virtual, references.pure_virtual_by_name) = pure_virtual(object);
    references
}

/// Whether the linker could have bound a reference to this symbol without interposition.
fn could_be_bound(symbol: &Symbol) -> bool {
    // Unique symbols are shared by the whole process, and indirect functions are resolved at run time.
    symbol.is_defined()
        && symbol.binding != SymbolBinding::Unique
        && !matches!(symbol.kind, SymbolKind::IndirectFunction | SymbolKind::ThreadLocal)
}

const PURE_VIRTUAL: &[u8] = b"__cxa_pure_virtual";

/// All references, and those by name.
fn pure_virtual(object: &Object<'_>) -> (u64, u64) {
    let symbols = object.dynamic_symbols;
    let named = |symbol: &Symbol| symbols.is_named(symbol, PURE_VIRTUAL);
    let indexes: HashSet<u32> =
        symbols.iter().zip(0..).filter(|(symbol, _)| named(symbol)).map(|(_, index)| index).collect();
    let address = object.names.function_named(PURE_VIRTUAL).map(|function| function.start);
    if indexes.is_empty() && address.is_none() {
        return (0, 0);
    }
    let (mut relative, mut by_name) = (0_u64, 0_u64);
    for slot in object.slots.iter() {
        match slot.target {
            Target::Symbol(symbol) => by_name += u64::from(indexes.contains(&symbol)),
            Target::Address(target) => relative += u64::from(Some(target) == address),
            _ => {}
        }
    }
    (relative + by_name, by_name)
}
