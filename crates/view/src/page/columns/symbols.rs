//! The columns of symbols.

use std::collections::HashMap;

use coldstart_profile::trace::{CodeAddress, FileId, ObjectSymbol, Trace, TracedObject};

use super::Columns;
use super::varint::{Deltas, exact, varint};

/// Symbols of all objects, grouped by object in the order of files.
pub(in crate::page) struct Symbols<'a> {
    objects: HashMap<FileId, &'a TracedObject>,
    groups: HashMap<FileId, Group<'a>>,
    /// In order of their first rows.
    order: Vec<FileId>,
}

/// Those of one object.
struct Group<'a> {
    first: usize,
    /// Ascending by address.
    symbols: Vec<&'a ObjectSymbol>,
}

impl<'a> Symbols<'a> {
    /// Of a trace. An object whose file the trace does not have is left out.
    pub(in crate::page) fn of(trace: &'a Trace) -> Self {
        let objects: HashMap<FileId, &TracedObject> =
            trace.objects.iter().rev().map(|object| (object.file, object)).collect();
        let mut all = Self { objects, groups: HashMap::new(), order: Vec::new() };
        let mut first = 0;
        for file in (0u32..).zip(&trace.files).map(|(place, _)| FileId(place)) {
            let Some(object) = all.objects.get(&file) else { continue };
            let mut symbols: Vec<&ObjectSymbol> = object.symbols.iter().collect();
            symbols.sort_by_key(|symbol| symbol.address);
            let behind = first + symbols.len();
            all.groups.insert(file, Group { first, symbols });
            all.order.push(file);
            first = behind;
        }
        all
    }

    /// What is known of a file as an ELF object.
    pub(in crate::page) fn object(&self, file: FileId) -> Option<&'a TracedObject> {
        self.objects.get(&file).copied()
    }

    /// The first row and the number of rows of an object.
    pub(in crate::page) fn of_file(&self, file: FileId) -> (usize, usize) {
        self.groups.get(&file).map_or((0, 0), |group| (group.first, group.symbols.len()))
    }

    /// The row of the symbol that holds an instruction, by the rule of [`TracedObject::symbol_at`].
    pub(in crate::page) fn row_at(&self, code: CodeAddress) -> Option<usize> {
        let group = self.groups.get(&code.file)?;
        let place = group.symbols.partition_point(|symbol| symbol.address <= code.address).checked_sub(1)?;
        let symbol = group.symbols.get(place)?;
        (symbol.size == 0 || code.address - symbol.address < symbol.size).then_some(group.first + place)
    }

    /// Writes the columns of all symbols.
    pub(super) fn write(&self, columns: &mut Columns) {
        let mut rows = 0;
        let [mut address, mut size, mut function, mut length, mut names] = [const { Vec::new() }; 5];
        for group in self.order.iter().filter_map(|file| self.groups.get(file)) {
            let mut addresses = Deltas::default();
            for symbol in &group.symbols {
                addresses.ascending(symbol.address, &mut address);
                varint(symbol.size, &mut size);
                function.push(u8::from(symbol.is_function));
                let name = if is_made_of_address(symbol) { "" } else { symbol.name.as_str() };
                varint(name.len() as u64, &mut length);
                names.extend_from_slice(name.as_bytes());
            }
            rows += group.symbols.len();
        }
        let named = ["symbol.address", "symbol.size", "symbol.function", "symbol.name_length"];
        for (name, bytes) in named.into_iter().zip([address, size, function, length]) {
            columns.push(name, rows, bytes);
        }
        columns.push("symbol.names", names.len(), names);
    }
}

/// Functions that unwind tables alone know are many, and their addresses say all that their names do.
fn is_made_of_address(symbol: &ObjectSymbol) -> bool {
    symbol.name.starts_with("fn_")
        && exact(symbol.address) == symbol.address
        && symbol.name == format!("fn_{:x}", symbol.address)
}
