//! Relocation records of the two old forms, with and without addends.

use object::Endianness;
use object::elf::{Rel32, Rel64, Rela32, Rela64};
use object::pod::from_bytes;

use super::dynamic::tag;
use super::image::Image;
use super::tables::Tables;
use super::verdict::{NotProven, Proof, broken, differs};

const WHAT: &str = "relocation";

/// Where a record's addend is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In the word that is relocated.
    Rel,
    /// In the record.
    Rela,
}

impl Form {
    pub(super) fn entry_size(self, wide: bool) -> u64 {
        match (self, wide) {
            (Self::Rel, false) => 8,
            (Self::Rela, false) => 12,
            (Self::Rel, true) => 16,
            (Self::Rela, true) => 24,
        }
    }
}

/// A table of relocations.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelocationTable<'a> {
    pub(super) form: Form,
    pub(super) bytes: &'a [u8],
}

/// A relocation record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) symbol: u32,
    /// `r_info` as it stands, which holds more than kind and symbol on some machines.
    pub(super) info: u64,
    /// None in the form `REL`.
    pub(super) addend: Option<u64>,
}

/// The type number of "base plus addend" for a machine (each psABI's table of relocations), if it has one that concerns
/// one word and no symbol.
pub(super) fn relative_kind(machine: u16, wide: bool) -> Option<u32> {
    match (machine, wide) {
        (3 | 62, _) => Some(8),                               // x86, x86-64
        (40, _) => Some(23),                                  // ARM
        (183, true) => Some(1027),                            // AArch64
        (183, false) => Some(183),                            // AArch64 ILP32
        (243 | 258, _) => Some(3),                            // RISC-V, LoongArch
        (20 | 21, _) | (2 | 18 | 43, _) | (4, _) => Some(22), // PowerPC, SPARC, 68000
        (22, _) => Some(12),                                  // S/390
        (42, _) => Some(165),                                 // SuperH
        (0x9026, _) => Some(27),                              // Alpha
        _ => None,
    }
}

/// TLS descriptors are two words.
fn word_count(machine: u16, kind: u32) -> u64 {
    match (machine, kind) {
        (3, 41) | (62, 36) | (40, 13) | (183, 1031) | (243, 12) => 2,
        _ => 1,
    }
}

/// The records of a table, in order.
pub(super) fn records<'a>(image: &Image<'_>, table: RelocationTable<'a>) -> impl Iterator<Item = Record> + use<'a> {
    let (wide, endian, form) = (image.wide, image.endian, table.form);
    // MIPS (8) divides r_info in its own way; the whole is compared, and no kind of it is known here.
    let size = form.entry_size(wide) as usize;
    table.bytes.chunks_exact(size).filter_map(move |bytes| record(bytes, wide, endian, form))
}

fn record(bytes: &[u8], wide: bool, endian: Endianness, form: Form) -> Option<Record> {
    let (offset, info, addend) = match (form, wide) {
        (Form::Rel, false) => {
            let (record, _) = from_bytes::<Rel32<Endianness>>(bytes).ok()?;
            (u64::from(record.r_offset.get(endian)), u64::from(record.r_info.get(endian)), None)
        }
        (Form::Rela, false) => {
            let (record, _) = from_bytes::<Rela32<Endianness>>(bytes).ok()?;
            let addend = record.r_addend.get(endian) as u32;
            (u64::from(record.r_offset.get(endian)), u64::from(record.r_info.get(endian)), Some(u64::from(addend)))
        }
        (Form::Rel, true) => {
            let (record, _) = from_bytes::<Rel64<Endianness>>(bytes).ok()?;
            (record.r_offset.get(endian), record.r_info.get(endian), None)
        }
        (Form::Rela, true) => {
            let (record, _) = from_bytes::<Rela64<Endianness>>(bytes).ok()?;
            (record.r_offset.get(endian), record.r_info.get(endian), Some(record.r_addend.get(endian) as u64))
        }
    };
    let (symbol, kind) = if wide { (info >> 32, info & 0xffff_ffff) } else { (info >> 8, info & 0xff) };
    Some(Record { offset, kind: kind as u32, symbol: symbol as u32, info, addend })
}

/// Whether a record of `DT_REL` or `DT_RELA` is a relative relocation.
pub(super) fn is_relative(relative: Option<u32>, record: &Record) -> bool {
    relative == Some(record.kind) && record.symbol == 0
}

/// All relocations that are not relative: the same, in the same order, in the same kind of table; and the numbers of
/// leading relative ones, by which glibc skips looking at types (`elf/do-rel.h`), are true.
pub(super) fn check(
    original: (&Image<'_>, &Tables<'_>),
    output: (&Image<'_>, &Tables<'_>),
    proof: &mut Proof,
) -> Result<(), NotProven> {
    for form in [Form::Rel, Form::Rela] {
        compare(form, others(original, form), others(output, form), proof)?;
    }
    match (original.1.plt_relocations, output.1.plt_relocations) {
        (Some(from), Some(to)) if from.form == to.form => {
            compare(from.form, records(original.0, from), records(output.0, to), proof)?;
        }
        (None, None) => {}
        (from, to) => {
            let [from, to] = [from, to].map(|table| format!("{:?}", table.map(|table| table.form)));
            return Err(differs(WHAT, "the form of those of the PLT", from, to));
        }
    }
    check_counts(output)?;
    check_symbols(output)
}

/// What a number behind the last symbol means depends on what happens to lie there.
fn check_symbols((image, tables): (&Image<'_>, &Tables<'_>)) -> Result<(), NotProven> {
    let all = tables.relocations.iter().chain(&tables.plt_relocations);
    let mut records = all.flat_map(|table| records(image, *table));
    match records.find(|record| record.symbol != 0 && u64::from(record.symbol) >= tables.symbol_count) {
        Some(record) => {
            let problem = format!("it names symbol {} of {}", record.symbol, tables.symbol_count);
            Err(broken(image.which, WHAT, format!("the one at {:#x}", record.offset), problem))
        }
        None => Ok(()),
    }
}

/// The records of `DT_REL` or `DT_RELA` that are not relative.
fn others<'t>((image, tables): (&'t Image<'_>, &'t Tables<'_>), form: Form) -> impl Iterator<Item = Record> + 't {
    let relative = relative_kind(image.header.machine, image.wide);
    let tables = tables.relocations.iter().filter(move |table| table.form == form);
    tables.flat_map(|table| records(image, *table)).filter(move |record| !is_relative(relative, record))
}

fn compare(
    form: Form,
    mut original: impl Iterator<Item = Record>,
    mut output: impl Iterator<Item = Record>,
    proof: &mut Proof,
) -> Result<(), NotProven> {
    let mut number: u64 = 0;
    loop {
        let (from, to) = (original.next(), output.next());
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
    let relative = relative_kind(image.header.machine, image.wide);
    for (tag, form) in [(tag::RELCOUNT, Form::Rel), (tag::RELACOUNT, Form::Rela)] {
        let Some(count) = image.dynamic.get(tag) else { continue };
        let table = tables.relocations.iter().find(|table| table.form == form);
        let leading = table.map_or(0, |table| {
            records(image, *table).take_while(|record| is_relative(relative, record)).count() as u64
        });
        if relative.is_some() && count > leading {
            let problem = format!("it says {count}, but only {leading} relative relocations lead the table");
            return Err(broken(image.which, "relative relocation count", super::dynamic::tag_name(tag), problem));
        }
    }
    Ok(())
}

/// Every address that relocations other than relative ones change, sorted, with its size in bytes.
pub(super) fn other_targets(image: &Image<'_>, tables: &Tables<'_>) -> Vec<(u64, u64)> {
    let relative = relative_kind(image.header.machine, image.wide);
    let main = tables.relocations.iter().flat_map(|table| records(image, *table));
    let main = main.filter(|record| !is_relative(relative, record));
    let all = main.chain(tables.plt_relocations.iter().flat_map(|table| records(image, *table)));
    // Type 0 is "none" on every machine.
    let targets = all
        .filter(|record| record.kind != 0)
        .map(|record| (record.offset, word_count(image.header.machine, record.kind).saturating_mul(image.word_size())));
    let mut targets: Vec<_> = targets.collect();
    targets.sort_unstable();
    targets
}
