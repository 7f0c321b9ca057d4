//! Tables of relocations as `readelf -r` and `readelf -D -r` print them: a row for each record.

use super::{hex_after, number_before};

/// A record.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PrintedRelocation {
    /// `r_offset`.
    pub(crate) offset: u64,
    /// `r_info`.
    pub(crate) info: u64,
    /// `r_addend`; none where the table has no addends.
    pub(crate) addend: Option<i64>,
}

/// A table.
#[derive(Debug)]
pub(crate) struct PrintedTable {
    /// `RELA`, `REL`, `RELR` or `PLT`; the section's name where sections are looked at.
    pub(crate) name: String,
    /// Where it begins: the offset in the file from `readelf -r`, the address from `readelf -D`.
    pub(crate) place: u64,
    /// Its size in bytes; `readelf -r` prints the number of entries instead.
    pub(crate) bytes: Option<u64>,
    /// The number of records; `readelf -D` does not print it.
    pub(crate) count: Option<u64>,
    /// The records in order.
    pub(crate) records: Vec<PrintedRelocation>,
    /// The name of each type that occurs, by the number that `r_info` has for it.
    pub(crate) types: Vec<(u32, String)>,
    /// The addresses that a RELR table stands for, in order.
    pub(crate) addresses: Vec<u64>,
    is_packed: bool,
}

impl PrintedTable {
    pub(super) fn from_heading(line: &str) -> Self {
        let name = line.split('\'').nth(1).unwrap().to_owned();
        Self {
            place: hex_after(line, "offset 0x").unwrap(),
            bytes: number_before(line, " bytes"),
            count: number_before(line, " entr"),
            is_packed: name == "RELR" || name.contains(".relr"),
            name,
            records: Vec::new(),
            types: Vec::new(),
            addresses: Vec::new(),
        }
    }

    /// Takes a row: `OFFSET INFO TYPE [VALUE NAME + ADDEND]`, `OFFSET INFO TYPE ADDEND`, or an address alone.
    pub(super) fn row(&mut self, line: &[u8]) {
        let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let Some(offset) = words.next().and_then(hex) else { return };
        if self.is_packed {
            self.addresses.push(offset);
            return;
        }
        let (Some(digits), Some(name)) = (words.next(), words.next()) else { return };
        let Some(info) = hex(digits) else { return };
        // The table's heading says whether it has addends, and for the PLT's the width of its columns does not.
        let mut from_end = line.rsplit(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let (last, sign) = (from_end.next(), from_end.next());
        let addend = match sign {
            Some(b"+") => last.and_then(signed_hex),
            Some(b"-") => last.and_then(signed_hex).map(i64::wrapping_neg),
            // Without a symbol the addend stands alone.
            Some(word) if word == name => last.and_then(signed_hex),
            _ => None,
        };
        self.records.push(PrintedRelocation { offset, info, addend });
        self.know(type_of(info, digits.len()), name);
    }

    fn know(&mut self, kind: u32, name: &[u8]) {
        match self.types.iter().find(|(known, _)| *known == kind) {
            Some((_, known)) => assert_eq!(known.as_bytes(), name, "one type has two names"),
            None => self.types.push((kind, String::from_utf8_lossy(name).into_owned())),
        }
    }
}

/// The type in `r_info`: 8 bits of it in 32-bit files, 32 in 64-bit files. (64-bit MIPS is another matter.)
fn type_of(info: u64, digits: usize) -> u32 {
    if digits > 8 { info as u32 } else { info as u32 & 0xff }
}

fn hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(number << 4 | u64::from(digit))
    })
}

fn signed_hex(digits: &[u8]) -> Option<i64> {
    match digits.strip_prefix(b"-") {
        Some(digits) => hex(digits).map(|number| (number as i64).wrapping_neg()),
        None => hex(digits).map(|number| number as i64),
    }
}

/// Takes the PLT's records off a table that ends with them. `readelf -D` prints both ranges of the dynamic table as they
/// are; where linkers let them overlap (PowerPC, RISC-V, SPARC), the loader works through the overlap once
/// (glibc `elf/do-rel.h`).
pub(super) fn without_overlap(tables: &mut [PrintedTable]) {
    let end = |table: &PrintedTable| Some(table.place + table.bytes?);
    let plt =
        tables.iter().find(|table| table.name == "PLT").map(|table| (end(table), table.bytes, table.records.len()));
    let Some((Some(plt_end), Some(plt_bytes), plt_records)) = plt else { return };
    for table in tables.iter_mut().filter(|table| table.name != "PLT" && end(table) == Some(plt_end)) {
        table.records.truncate(table.records.len().saturating_sub(plt_records));
        table.bytes = table.bytes.map(|bytes| bytes.saturating_sub(plt_bytes));
    }
}
