//! `.symtab`: symbols for debuggers. Those of a section that moved, moved with it.

use super::image::Image;
use super::sections::Shifts;
use super::tables::symbol_size;
use super::verdict::{NotProven, broken, differs, hex};

const WHAT: &str = "section contents";

/// Compares the two tables, symbol by symbol where they differ.
pub(super) fn check(
    (original, from): (&Image<'_>, &[u8]),
    (output, to): (&Image<'_>, &[u8]),
    shifts: &Shifts,
) -> Result<(), NotProven> {
    if from == to && shifts.iter().all(|shift| *shift == 0) {
        return Ok(());
    }
    let size = symbol_size(original) as usize;
    let (section_at, value_at) = if original.wide { (6, 8) } else { (14, 4) };
    let word = original.word_size() as usize;
    for (number, (old, new)) in from.chunks(size).zip(to.chunks(size)).enumerate() {
        let value = |image: &Image<'_>, bytes: &[u8]| bytes.get(value_at..).and_then(|bytes| image.word(bytes));
        let rest = |bytes: &[u8]| {
            let end = value_at.saturating_add(word);
            Some([bytes.get(..value_at)?, bytes.get(end..)?].concat())
        };
        let section = old.get(section_at..).and_then(|bytes| original.number(bytes, 2));
        let shift = section.and_then(|section| shifts.get(usize::try_from(section).ok()?)).copied().unwrap_or(0);
        if old == new && shift == 0 {
            continue;
        }
        let place = format!("symbol {number} of .symtab");
        if rest(old).is_none() || rest(old) != rest(new) {
            return Err(differs(WHAT, place, format!("{old:02x?}"), format!("{new:02x?}")));
        }
        let (Some(old), Some(new)) = (value(original, old), value(output, new)) else {
            return Err(broken(output.which, WHAT, place, "it is not whole"));
        };
        let moved = original.mask(old.wrapping_add(shift));
        if new != moved {
            return Err(differs(WHAT, place, hex(moved), hex(new)));
        }
    }
    Ok(())
}
