//! Non-relative relocations: the same, in the same order, but for those that the edit may bind; and the counts of
//! leading relative ones.

use super::expected::Expected;
use super::own::{self, Bound, Own};
use crate::image::Image;
use crate::image::dynamic::{tag, tag_name};
use crate::tables::Tables;
use crate::tables::relocations::{Form, Record, is_relative, records, relative_kind};
use crate::verdict::{NotProven, Proof, broken, differs};

const WHAT: &str = "relocation";

/// All non-relative relocations must be the same, in the same order, in the same kind of table; and the counts of
/// leading relative ones, by which glibc skips type checks (`elf/do-rel.h`), must be right. Those that the output lacks
/// and the edit may bind are returned: the loader must put the same value there in another way.
pub(crate) fn check(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    expected: &Expected<'_>,
    proof: &mut Proof,
) -> Result<Vec<Bound>, NotProven> {
    let mut all_bound = Vec::new();
    let mut pure_virtual: u64 = 0;
    let mut own = expected.bind.map(|edit| Own::new(original, edit));
    for form in [Form::Rel, Form::Rela] {
        let may_bind = |record: &Record| {
            let jump = expected.jump.as_ref().and_then(|jump| jump.value_of(original, record));
            pure_virtual = pure_virtual.saturating_add(jump.is_some().into());
            let bound = jump.map(|value| Bound { address: record.offset, value });
            let bound = bound.or_else(|| own.as_mut()?.bound(record));
            bound.map(|bound| all_bound.push(bound)).is_some()
        };
        compare(form, others(original, form), others(output, form), may_bind, proof)?;
    }
    match (original.1.plt_relocations, output.1.plt_relocations) {
        (Some(from), Some(to)) if from.form == to.form => {
            // A record's place in the table is its number for lazy binding.
            let mut own = own.filter(|_| own::binds_now(original.0));
            let number_free = own.is_some();
            let of = |image: &Image<'_>, table| {
                let relative = relative_kind(image.header.machine, image.encoding.wide);
                records(image, table).filter(move |record| !number_free || !is_relative(relative, record))
            };
            let may_bind = |record: &Record| {
                let bound = own.as_mut().and_then(|own| own.bound(record));
                bound.map(|bound| all_bound.push(bound)).is_some()
            };
            compare(from.form, of(original.0, from), of(output.0, to), may_bind, proof)?;
        }
        (None, None) => {}
        (from, to) => {
            let [from, to] = [from, to].map(|table| format!("{:?}", table.map(|table| table.form)));
            return Err(differs(WHAT, "the form of those of the PLT", from, to));
        }
    }
    check_counts(output)?;
    check_symbols(output)?;
    proof.bound_references = all_bound.len() as u64;
    proof.pure_virtual_references = pure_virtual;
    Ok(all_bound)
}

/// The meaning of an index past the last symbol depends on the bytes there.
fn check_symbols((image, tables): (&Image<'_>, &Tables<'_>)) -> Result<(), NotProven> {
    let all = tables.relocations.iter().chain(&tables.plt_relocations);
    let mut records = all.flat_map(|table| records(image, *table));
    match records.find(|record| record.symbol != 0 && u64::from(record.symbol) >= tables.symbol_count) {
        Some(record) => {
            let problem = format!("symbol {} of {}", record.symbol, tables.symbol_count);
            Err(broken(image.which, WHAT, format!("the one at {:#x}", record.offset), problem))
        }
        None => Ok(()),
    }
}

/// The non-relative records of `DT_REL` or `DT_RELA`.
fn others<'t>((image, tables): (&'t Image<'_>, &'t Tables<'_>), form: Form) -> impl Iterator<Item = Record> + 't {
    let relative = relative_kind(image.header.machine, image.encoding.wide);
    let tables = tables.relocations.iter().filter(move |table| table.form == form);
    tables.flat_map(|table| records(image, *table)).filter(move |record| !is_relative(relative, record))
}

fn compare(
    form: Form,
    mut original: impl Iterator<Item = Record>,
    output: impl Iterator<Item = Record>,
    mut may_go: impl FnMut(&Record) -> bool,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let mut output = output.peekable();
    let mut number: u64 = 0;
    loop {
        let from = original.next();
        if from.as_ref() != output.peek() && from.as_ref().is_some_and(&mut may_go) {
            continue;
        }
        let to = output.next();
        if from != to {
            let shown = |record: Option<Record>| match record {
                Some(Record { offset, kind, symbol, addend, .. }) => {
                    format!("type {kind} of symbol {symbol} at {offset:#x}, addend {addend:x?}")
                }
                None => "none".to_owned(),
            };
            let place = format!("number {number} of those that are not relative, form {form:?}");
            return Err(differs(WHAT, place, shown(from), shown(to)));
        }
        if from.is_none() {
            proof.other_relocations = proof.other_relocations.saturating_add(number);
            return Ok(());
        }
        number = number.saturating_add(1);
    }
}

fn check_counts((image, tables): (&Image<'_>, &Tables<'_>)) -> Result<(), NotProven> {
    let relative = relative_kind(image.header.machine, image.encoding.wide);
    for (tag, form) in [(tag::RELCOUNT, Form::Rel), (tag::RELACOUNT, Form::Rela)] {
        let Some(count) = image.dynamic.get(tag) else { continue };
        let table = tables.relocations.iter().find(|table| table.form == form);
        let leading = table.map_or(0, |table| {
            records(image, *table).take_while(|record| is_relative(relative, record)).count() as u64
        });
        if relative.is_some() && count > leading {
            let problem = format!("it is {count}, but the table begins with only {leading} relative relocations");
            return Err(broken(image.which, "relative relocation count", tag_name(tag), problem));
        }
    }
    Ok(())
}
