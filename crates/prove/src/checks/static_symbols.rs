//! `.symtab`: symbols for debuggers. Those of a section that moved, moved with it; and `_DYNAMIC` goes with the dynamic table,
//! whatever section its linker put it into.

use crate::image::Image;
use crate::tables::symbols::{string, symbol, symbol_size};
use crate::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "section contents";

/// How far each section has moved, by its number.
pub(crate) type Shifts = Vec<u64>;

/// By what symbols are expected to change.
pub(crate) struct Table<'t> {
    /// Where the dynamic table was and is, if it moved.
    pub(crate) moved: Option<[u64; 2]>,
    /// The strings with the symbols' names.
    pub(crate) names: &'t [u8],
    /// How far each section has moved.
    pub(crate) shifts: &'t Shifts,
}

impl Table<'_> {
    /// Where `_DYNAMIC` is now, if an entry is that symbol and named the table that moved.
    fn dynamic(&self, image: &Image<'_>, bytes: &[u8]) -> Option<u64> {
        let [from, to] = self.moved?;
        let symbol = symbol(image, bytes, 0)?;
        let is_it = symbol.is_defined() && symbol.value == from && string(self.names, symbol.name) == Some(b"_DYNAMIC");
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
            return Err(broken(output.which, WHAT, place, "it is not whole"));
        };
        let moved = dynamic.unwrap_or_else(|| original.mask(old.wrapping_add(shift)));
        if new != moved {
            return Err(differs(WHAT, place, hex(moved), hex(new)));
        }
    }
    Ok(())
}
