//! `.symtab`: symbols for debuggers. Those of a moved section move with it; and `_DYNAMIC` follows the dynamic table,
//! whatever section its linker put it into.

use crate::image::Image;
use crate::tables::symbols::{is_string, symbol, symbol_size};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "section contents";

/// The displacement of each section, by index.
pub(crate) type Shifts = Vec<u64>;

/// The expected changes of symbols.
pub(crate) struct Table<'t> {
    /// The old and new address of the dynamic table, if it moved.
    pub(crate) moved: Option<[u64; 2]>,
    /// The string table of the symbols.
    pub(crate) names: &'t [u8],
    /// The displacement of each section.
    pub(crate) shifts: &'t Shifts,
}

impl Table<'_> {
    /// The new address of `_DYNAMIC`, if an entry is that symbol and had the old address of the moved table.
    fn dynamic(&self, image: &Image<'_>, bytes: &[u8]) -> Option<u64> {
        let [from, to] = self.moved?;
        let symbol = symbol(image, bytes, 0)?;
        let is_it = symbol.is_defined() && symbol.value == from && is_string(self.names, symbol.name, b"_DYNAMIC");
        is_it.then_some(to)
    }
}

/// Compares the two tables, symbol by symbol where they differ.
pub(crate) fn check(
    (original, from): (&Image<'_>, &[u8]),
    (output, to): (&Image<'_>, &[u8]),
    table: &Table<'_>,
) -> Result<(), NotProven> {
    if from == to && table.moved.is_none() && table.shifts.iter().all(|shift| *shift == 0) {
        return Ok(());
    }
    let size = symbol_size(original) as usize;
    let (section_at, value_at) = if original.encoding.wide { (6, 8) } else { (14, 4) };
    let word = original.word_size() as usize;
    for (number, (old, new)) in from.chunks(size).zip(to.chunks(size)).enumerate() {
        let value = |image: &Image<'_>, bytes: &[u8]| bytes.get(value_at..).and_then(|bytes| image.word(bytes));
        let rest = |bytes: &[u8]| {
            let end = value_at.saturating_add(word);
            Some([bytes.get(..value_at)?, bytes.get(end..)?].concat())
        };
        let section = old.get(section_at..).and_then(|bytes| original.number(bytes, 2));
        let shift = section.and_then(|section| table.shifts.get(usize::try_from(section).ok()?)).copied().unwrap_or(0);
        let dynamic = table.dynamic(original, old);
        if old == new && shift == 0 && dynamic.is_none() {
            continue;
        }
        let place = format!("symbol {number} of .symtab");
        if rest(old).is_none() || rest(old) != rest(new) {
            return Err(differs(WHAT, place, format!("{old:02x?}"), format!("{new:02x?}")));
        }
        let (Some(old), Some(new)) = (value(original, old), value(output, new)) else {
            return Err(broken(output.which, WHAT, place, "truncated"));
        };
        let moved = dynamic.unwrap_or_else(|| original.mask(old.wrapping_add(shift)));
        if new != moved {
            return Err(differs(WHAT, place, hex(moved), hex(new)));
        }
    }
    Ok(())
}
