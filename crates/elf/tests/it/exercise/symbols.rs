//! Symbol tables, the dynamic one and those of sections.

use std::hint::black_box;

use coldstart_elf::{Strings, SymbolTable, Table};

use super::{Input, MOST_STEPS, open};

/// Reads every symbol table.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, dynamic) => {
            file.sections()
                .iter()
                .take(64)
                .filter_map(|section| file.symbols_of(section).ok())
                .for_each(|table| read(&table));
            if let Ok(Some(table)) = file.symbols() {
                read(&table);
            }
            if let Some(Ok(table)) = dynamic.map(|dynamic| file.dynamic_symbols(&dynamic)) {
                read(&table);
            }
        }
        Input::Table(bytes, encoding, _) => {
            let (names, symbols) = bytes.split_at(bytes.len() / 4);
            read(&SymbolTable::new(Table::new(symbols, Default::default(), encoding), Strings::new(names)));
        }
        Input::Nothing => {}
    }
}

fn read(table: &SymbolTable<'_>) {
    for (index, symbol) in table.iter().enumerate().take(MOST_STEPS) {
        assert_eq!(table.get(index as u32), Some(symbol));
        assert!(!table.name(&symbol).contains(&0));
        black_box((symbol.is_defined(), symbol.has_address(), table.name_at(index as u32)));
    }
    assert_eq!(table.is_empty(), table.iter().next_back().is_none());
    black_box((table.get(u32::MAX), table.name_at(u32::MAX)));
}
