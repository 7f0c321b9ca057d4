//! Dynamic symbols: the same table, and the same lookup result for every name.

use crate::image::Image;
use crate::image::dynamic::tag;
use crate::tables::Tables;
use crate::tables::symbols::{NameRoom, symbol};
use crate::verdict::{NotProven, Proof, broken, differs, same, same_bytes};

/// Symbol tables must have the same bytes; string tables keep the old bytes, perhaps with more after them.
pub(crate) fn check_tables(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let (from, to) = (original.1, output.1);
    same("dynamic symbols", "their number", from.symbol_count, to.symbol_count)?;
    same_bytes("dynamic symbols", from.symbols, to.symbols)?;
    same_bytes("symbol versions", from.symbol_versions.unwrap_or(&[]), to.symbol_versions.unwrap_or(&[]))?;
    let common = from.strings.len().min(to.strings.len());
    same_bytes("dynamic strings", from.strings.get(..common).unwrap_or(&[]), to.strings.get(..common).unwrap_or(&[]))?;
    for tag in [tag::GNU_HASH, tag::HASH] {
        let bytes = |(image, tables): (&Image<'_>, &Tables<'_>)| {
            tables.get(tag).and_then(|range| image.at(range.clone()).map(<[u8]>::to_vec)).unwrap_or_default()
        };
        same_bytes("hash table", &bytes(original), &bytes(output))?;
    }
    proof.symbols = from.symbol_count;
    Ok(())
}

/// Looks up every defined symbol by its name, as other objects do.
pub(crate) fn check_lookups(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    proof: &mut Proof,
) -> Result<(), NotProven> {
    const WHAT: &str = "lookup";
    let find = |(image, tables): (&Image<'_>, &Tables<'_>), name: &[u8]| {
        let gnu = tables.gnu_hash.as_ref().and_then(|table| table.find(image, &tables.names(image), name));
        let sysv = tables.sysv_hash.as_ref().and_then(|table| table.find(image, &tables.names(image), name));
        (gnu, sysv)
    };
    let version = |(image, tables): (&Image<'_>, &Tables<'_>), number: u64| {
        let start = usize::try_from(number).ok()?.checked_mul(2)?;
        image.number(tables.symbol_versions?.get(start..)?, 2)
    };
    let mut room = NameRoom::of(original.0);
    for number in 1..original.1.symbol_count {
        let Some(entry) = symbol(original.0, original.1.symbols, number) else { break };
        if !entry.is_defined() || entry.is_local() {
            continue;
        }
        let Some(name) = room.string(original.1.strings, entry.name) else {
            return Err(broken(
                original.0.which,
                WHAT,
                format!("dynamic symbol {number}"),
                "its name is outside the string table, or too many names share their bytes",
            ));
        };
        let (from, to) = (find(original, name), find(output, name));
        let versions = (version(original, number), version(output, number));
        if from != to || versions.0 != versions.1 {
            let place = format!("the name `{}`", String::from_utf8_lossy(name));
            let [from, to] = [(from, versions.0), (to, versions.1)].map(|found| format!("{found:x?}"));
            return Err(differs(WHAT, place, from, to));
        }
        proof.lookups = proof.lookups.saturating_add(1);
    }
    Ok(())
}
