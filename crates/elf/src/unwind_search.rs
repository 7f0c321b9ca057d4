//! The search table of the unwind tables (`.eh_frame_hdr`): from an address to its entry without reading all entries.
//!
//! LSB Core, "Exception Frames"; pointers are encoded as in glibc's and libgcc's `unwind-pe.h`. The numbers in the
//! table are relative to the header, so they need no relocation.

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::error::{ElfError, Result};

const NAME: &str = "the search table of the unwind tables";
/// `DW_EH_PE_omit`: no value.
const OMITTED: u8 = 0xff;

/// The decoded header.
#[derive(Clone, Debug)]
pub(crate) struct SearchHeader<'data> {
    /// Where the unwind tables begin.
    pub(crate) frames: Vaddr,
    /// The table; `None` if it is missing or cannot be searched.
    pub(crate) table: Option<SearchTable<'data>>,
}

/// Pairs of a function's start and its entry's address, ordered by start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SearchTable<'data> {
    bytes: &'data [u8],
    /// Size of each of the two values in bytes.
    value_size: usize,
    form: u8,
    header: Vaddr,
    /// Address of the first pair.
    address: Vaddr,
    encoding: Encoding,
}

impl<'data> SearchHeader<'data> {
    /// Reads the header in `bytes`, which are at `address`, and at `offset` in the file.
    ///
    /// # Errors
    /// If it is truncated, has another version, uses an undefined pointer encoding, or states more pairs than there
    /// are bytes.
    pub(crate) fn parse(bytes: &'data [u8], address: Vaddr, offset: FileOffset, encoding: Encoding) -> Result<Self> {
        let malformed = |problem| ElfError::Malformed { table: NAME, offset, problem };
        let cut_off = || malformed("the header is truncated");
        let Some((&[version, frames_form, count_form, table_form], rest)) = bytes.split_first_chunk() else {
            return Err(cut_off());
        };
        if version != 1 {
            return Err(malformed("its version is not 1"));
        }
        // Every value is after these four bytes; `read` adds how far.
        let frames_at = Vaddr(address.0.wrapping_add(4));
        let undefined = || malformed("the pointer to the unwind tables has an unknown encoding");
        let frames_size = value_size(frames_form, encoding).ok_or_else(undefined)?;
        let (frames_bytes, rest) = rest.split_at_checked(frames_size).ok_or_else(cut_off)?;
        let frames = pointer(frames_form, frames_bytes, frames_at, address, encoding).ok_or_else(undefined)?;
        let without_table = Self { frames, table: None };
        if count_form == OMITTED || table_form == OMITTED {
            return Ok(without_table);
        }
        // Variable-size and indirect encodings cannot be searched, but the unwind tables can still be read.
        let sizes = value_size(count_form, encoding).zip(value_size(table_form, encoding));
        let Some((count_size, value_size)) = sizes.filter(|_| count_form & 0xf0 == 0) else {
            return Ok(without_table);
        };
        let (count_bytes, rest) = rest.split_at_checked(count_size).ok_or_else(cut_off)?;
        let count = number(count_form, count_bytes, encoding).ok_or_else(undefined)?;
        let size = usize::try_from(count).ok().and_then(|count| count.checked_mul(value_size)?.checked_mul(2));
        let too_many = || malformed("the entry count exceeds the table's size");
        let bytes = size.and_then(|size| rest.get(..size)).ok_or_else(too_many)?;
        let before = frames_size.saturating_add(count_size) as u64;
        let first = Vaddr(frames_at.0.wrapping_add(before));
        let table = SearchTable { bytes, value_size, form: table_form, header: address, address: first, encoding };
        Ok(Self { frames, table: (count > 0).then_some(table) })
    }
}

impl SearchTable<'_> {
    /// Number of pairs.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len().checked_div(self.pair_size()).unwrap_or(0)
    }

    /// Size in bytes of all pairs.
    pub(crate) fn byte_size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// A function's start and its entry's address.
    pub(crate) fn get(&self, index: usize) -> Option<(Vaddr, Vaddr)> {
        let start = index.checked_mul(self.pair_size())?;
        let pair = self.bytes.get(start..start.checked_add(self.pair_size())?)?;
        let (function, entry) = pair.split_at_checked(self.value_size)?;
        let function_at = Vaddr(self.address.0.wrapping_add(start as u64));
        let entry_at = Vaddr(function_at.0.wrapping_add(self.value_size as u64));
        let pointer = |bytes, at| pointer(self.form, bytes, at, self.header, self.encoding);
        Some((pointer(function, function_at)?, pointer(entry, entry_at)?))
    }

    /// The pairs in reverse order, from the last one that starts at or below `address`.
    pub(crate) fn backwards_from(&self, address: Vaddr) -> impl Iterator<Item = (Vaddr, Vaddr)> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle) {
                Some((start, _)) if start <= address => low = middle.saturating_add(1),
                _ => high = middle,
            }
        }
        (0..low).rev().filter_map(|index| self.get(index))
    }

    fn pair_size(&self) -> usize {
        self.value_size.saturating_mul(2)
    }
}

/// Size of a value in this encoding (`DW_EH_PE_*`), in bytes; `None` for variable-size and undefined encodings.
fn value_size(form: u8, encoding: Encoding) -> Option<usize> {
    match (form & 0x0f, encoding.class) {
        // absptr: an address.
        (0x00, Class::Elf32) => Some(4),
        (0x00, Class::Elf64) => Some(8),
        // udata2, udata4, udata8, and their signed forms.
        (0x02 | 0x0a, _) => Some(2),
        (0x03 | 0x0b, _) => Some(4),
        (0x04 | 0x0c, _) => Some(8),
        _ => None,
    }
}

/// The number in `bytes`, which have the encoding's size; negative ones as two's complement.
fn number(form: u8, bytes: &[u8], encoding: Encoding) -> Option<u64> {
    let is_signed = form & 0x08 != 0;
    Some(match bytes.len() {
        2 => {
            let value = encoding.u16(bytes)?;
            if is_signed { i64::from(value as i16) as u64 } else { value.into() }
        }
        4 => {
            let value = encoding.u32(bytes)?;
            if is_signed { i64::from(value as i32) as u64 } else { value.into() }
        }
        _ => {
            let bytes = bytes.first_chunk::<8>()?;
            match encoding.byte_order {
                ByteOrder::Little => u64::from_le_bytes(*bytes),
                ByteOrder::Big => u64::from_be_bytes(*bytes),
            }
        }
    })
}

/// The address in `bytes`, which are at `at`, in a header at `header`. Addition wraps at the address width.
fn pointer(form: u8, bytes: &[u8], at: Vaddr, header: Vaddr, encoding: Encoding) -> Option<Vaddr> {
    let base = match form & 0xf0 {
        // absptr, pcrel, datarel. Indirect ones (0x80) would need relocated memory.
        0x00 => Vaddr(0),
        0x10 => at,
        0x30 => header,
        _ => return None,
    };
    let sum = base.0.wrapping_add(number(form, bytes, encoding)?);
    Some(match encoding.class {
        Class::Elf32 => Vaddr(sum & u64::from(u32::MAX)),
        Class::Elf64 => Vaddr(sum),
    })
}

#[cfg(test)]
mod tests {
    use super::{SearchHeader, SearchTable};
    use crate::address::{FileOffset, Vaddr};
    use crate::encoding::{ByteOrder, Class, Encoding};

    const LITTLE: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
    const BIG_32: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };

    fn parse(bytes: &[u8], encoding: Encoding) -> crate::Result<SearchHeader<'_>> {
        SearchHeader::parse(bytes, Vaddr(0x2000), FileOffset(0x1000), encoding)
    }

    fn header(table: &[(i32, i32)], encoding: Encoding) -> Vec<u8> {
        let mut bytes = vec![1, 0x1b, 3, 0x3b];
        let numbers = [0x100, table.len() as i32].into_iter().chain(table.iter().flat_map(|pair| [pair.0, pair.1]));
        bytes.extend(numbers.flat_map(|number| match encoding.byte_order {
            ByteOrder::Little => number.to_le_bytes(),
            ByteOrder::Big => number.to_be_bytes(),
        }));
        bytes
    }

    fn first(table: SearchTable<'_>, address: u64) -> Option<(Vaddr, Vaddr)> {
        table.backwards_from(Vaddr(address)).next()
    }

    #[test]
    fn the_usual_form_is_searched_in_all_encodings() {
        for encoding in [LITTLE, BIG_32] {
            let bytes = header(&[(-0x1000, 0x110), (-0x800, 0x120), (0x40, 0x130)], encoding);
            let header = parse(&bytes, encoding).unwrap();
            assert_eq!(header.frames, Vaddr(0x2104));
            let table = header.table.unwrap();
            assert_eq!((table.len(), table.byte_size()), (3, 24));
            assert_eq!(first(table, 0xfff), None);
            assert_eq!(first(table, 0x1000), Some((Vaddr(0x1000), Vaddr(0x2110))));
            assert_eq!(first(table, 0x17ff), Some((Vaddr(0x1000), Vaddr(0x2110))));
            assert_eq!(first(table, 0x1800), Some((Vaddr(0x1800), Vaddr(0x2120))));
            assert_eq!(first(table, u64::MAX), Some((Vaddr(0x2040), Vaddr(0x2130))));
        }
    }

    #[test]
    fn wide_distances_are_read() {
        let mut bytes = vec![1, 0x1b, 3, 0x3c, 0, 0, 0, 0, 1, 0, 0, 0];
        bytes.extend((-0x2000_i64).to_le_bytes());
        bytes.extend(0x20_i64.to_le_bytes());
        let table = parse(&bytes, LITTLE).unwrap().table.unwrap();
        assert_eq!(table.get(0), Some((Vaddr(0), Vaddr(0x2020))));
    }

    #[test]
    fn a_header_may_have_no_table() {
        let header = parse(&[1, 0x1b, 0xff, 0xff, 8, 0, 0, 0], LITTLE).unwrap();
        assert_eq!(header.frames, Vaddr(0x200c));
        assert!(header.table.is_none());
        assert!(parse(&[1, 0x1b, 3, 0x39, 8, 0, 0, 0, 1, 0, 0, 0, 1, 1], LITTLE).unwrap().table.is_none());
        assert!(parse(&[1, 0x1b, 3, 0x3b, 8, 0, 0, 0, 0, 0, 0, 0], LITTLE).unwrap().table.is_none());
    }

    #[test]
    fn wrong_headers_are_refused() {
        let good = header(&[(0, 0)], LITTLE);
        for size in 0..good.len() {
            assert!(parse(&good[..size], LITTLE).is_err(), "{size} bytes");
        }
        assert!(parse(&[2, 0x1b, 3, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0], LITTLE).is_err());
        assert!(parse(&[1, 0xff, 3, 0x3b, 0, 0, 0, 0, 0, 0, 0, 0], LITTLE).is_err());
        let mut many = vec![1, 0x1b, 4, 0x3b, 0, 0, 0, 0];
        many.extend([0xff; 24]);
        assert!(parse(&many, LITTLE).is_err());
    }
}
