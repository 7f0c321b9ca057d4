//! Symbols of `.symtab` that name a section which moved. Only tools read them.

use coldstart_elf::{ElfFile, SectionKind, Symbol};

use crate::layout::SYMBOL_VALUE;
use crate::refusal::Refusal;
use crate::script::WordPatch;

/// New values of symbols whose section moved; `new_address` tells where the section with a number is now, if it did.
pub(crate) fn symbol_patches(
    file: &ElfFile<'_>,
    new_address: impl Fn(usize) -> Option<u64>,
) -> Result<Vec<WordPatch>, Refusal> {
    let mut patches = Vec::new();
    let Some(section) = file.sections().iter().find(|section| section.header.kind == SectionKind::SymbolTable) else {
        return Ok(patches);
    };
    let symbols = file.symbols_of(section)?;
    let encoding = file.encoding();
    for (number, symbol) in symbols.iter().enumerate() {
        let Some(value) = moved_value(file, &new_address, &symbol) else { continue };
        let record = symbols.table().offset_of(number).0;
        patches.push(WordPatch { at: record.saturating_add(SYMBOL_VALUE.at(encoding) as u64), value });
    }
    Ok(patches)
}

fn moved_value(file: &ElfFile<'_>, new_address: impl Fn(usize) -> Option<u64>, symbol: &Symbol) -> Option<u64> {
    let number = usize::from(symbol.section);
    let old = file.sections().get(number)?.header.address.0;
    let new = new_address(number)?;
    (symbol.is_defined() && new != old).then(|| symbol.value.0.wrapping_sub(old).wrapping_add(new))
}
