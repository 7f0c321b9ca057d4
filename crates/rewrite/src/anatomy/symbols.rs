//! Symbols of `.symtab` in moved sections. Only tools read them.

use coldstart_elf::{ElfFile, Position, SectionKind, Symbol, Vaddr};

use crate::layout::SYMBOL_VALUE;
use crate::refusal::Refusal;
use crate::script::WordPatch;

/// New values of symbols in moved sections; `new_address` gives the new address of a section, if it moved.
pub(crate) fn symbol_patches(
    file: &ElfFile<'_>,
    new_address: impl Fn(usize) -> Result<Option<Vaddr>, Refusal>,
) -> Result<Vec<WordPatch>, Refusal> {
    let mut patches = Vec::new();
    let Some(section) = file.sections().iter().find(|section| section.header.kind == SectionKind::SymbolTable) else {
        return Ok(patches);
    };
    let symbols = file.symbols_of(section)?;
    let encoding = file.encoding();
    for (number, symbol) in symbols.iter().enumerate() {
        let Some(value) = moved_value(file, &new_address, &symbol)? else { continue };
        let at = symbols.table().offset_of(number).plus(SYMBOL_VALUE.at(encoding) as u64)?;
        patches.push(WordPatch { at, value });
    }
    Ok(patches)
}

fn moved_value(
    file: &ElfFile<'_>,
    new_address: impl Fn(usize) -> Result<Option<Vaddr>, Refusal>,
    symbol: &Symbol,
) -> Result<Option<u64>, Refusal> {
    let number = usize::from(symbol.section);
    let Some(old) = file.sections().get(number).map(|section| section.header.address) else { return Ok(None) };
    let Some(new) = new_address(number)?.filter(|new| symbol.is_defined() && *new != old) else { return Ok(None) };
    // Only tools read it, and its value is arbitrary: it moves with its section, modulo the word size.
    Ok(Some(symbol.value.0.wrapping_sub(old.0).wrapping_add(new.0)))
}
