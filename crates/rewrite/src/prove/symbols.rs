//! Dynamic symbols: the same table, and every name finds the same symbol.

use super::hash_tables::{string, symbol};
use super::image::Image;
use super::tables::Tables;
use super::verdict::{NotProven, Proof, broken, differs, hex, same};

/// The tables of symbols: the same bytes; of strings, the ones that were there, perhaps with more behind them.
pub(super) fn check_tables(
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
    for tag in [super::dynamic::tag::GNU_HASH, super::dynamic::tag::HASH] {
        let bytes = |(image, tables): (&Image<'_>, &Tables<'_>)| {
            tables.get(tag).and_then(|range| image.at(range.clone()).map(<[u8]>::to_vec)).unwrap_or_default()
        };
        same_bytes("hash table", &bytes(original), &bytes(output))?;
    }
    proof.symbols = from.symbol_count;
    Ok(())
}

/// Requires that two tables hold the same, and says where they do not.
pub(super) fn same_bytes(what: &'static str, original: &[u8], output: &[u8]) -> Result<(), NotProven> {
    if original == output {
        return Ok(());
    }
    if original.len() != output.len() {
        return same(what, "its size", original.len() as u64, output.len() as u64);
    }
    let at = original.iter().zip(output).position(|(from, to)| from != to).unwrap_or(0);
    let byte = |bytes: &[u8]| bytes.get(at).map_or_else(String::new, |byte| hex(u64::from(*byte)));
    Err(differs(what, format!("byte {at:#x} of it"), byte(original), byte(output)))
}

/// Looks every defined symbol up by its name, as other objects do.
pub(super) fn check_lookups(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    proof: &mut Proof,
) -> Result<(), NotProven> {
    const WHAT: &str = "lookup";
    let find = |(image, tables): (&Image<'_>, &Tables<'_>), name: &[u8]| {
        let gnu = tables.gnu_hash.as_ref().and_then(|table| table.find(image, tables, name));
        let sysv = tables.sysv_hash.as_ref().and_then(|table| table.find(image, tables, name));
        (gnu, sysv)
    };
    let version = |(image, tables): (&Image<'_>, &Tables<'_>), number: u64| {
        let start = usize::try_from(number).ok()?.checked_mul(2)?;
        image.number(tables.symbol_versions?.get(start..)?, 2)
    };
    for number in 1..original.1.symbol_count {
        let Some(entry) = symbol(original.0, original.1.symbols, number) else { break };
        // Local symbols (binding 0) are in no hash table.
        if entry.section == 0 || entry.info >> 4 == 0 {
            continue;
        }
        let Some(name) = string(original.1.strings, entry.name) else {
            return Err(broken(
                original.0.which,
                WHAT,
                format!("dynamic symbol {number}"),
                "its name is not in the strings",
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
