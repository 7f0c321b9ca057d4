//! The two hash tables by which the loader finds a symbol's name.

use super::image::Image;
use super::tables::{Tables, symbol_size};

/// `DT_GNU_HASH`: a Bloom filter, buckets, and chains whose last entry is odd.
#[derive(Debug)]
pub(super) struct GnuHash<'a> {
    pub(super) size: u64,
    /// Symbols up to the last one that a chain reaches.
    pub(super) symbol_count: u64,
    first: u64,
    shift: u64,
    bloom: &'a [u8],
    buckets: &'a [u8],
    chains: &'a [u8],
}

/// `DT_HASH`: buckets and chains of symbol numbers.
#[derive(Debug)]
pub(super) struct SysvHash<'a> {
    pub(super) size: u64,
    pub(super) symbol_count: u64,
    /// Bytes of a number: 8 on Alpha and on 64-bit S/390, else 4.
    number: usize,
    buckets: &'a [u8],
    chains: &'a [u8],
}

fn number_at(image: &Image<'_>, bytes: &[u8], index: u64, size: usize) -> Option<u64> {
    let start = usize::try_from(index).ok()?.checked_mul(size)?;
    image.number(bytes.get(start..)?, size)
}

fn take(bytes: &[u8], count: u64, size: u64) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::try_from(count.checked_mul(size)?).ok()?)
}

impl<'a> GnuHash<'a> {
    pub(super) fn read(image: &Image<'a>, start: u64) -> Option<Self> {
        let bytes = image.piece(start)?.bytes?;
        let (header, rest) = bytes.split_at_checked(16)?;
        let field = |index| number_at(image, header, index, 4);
        let (bucket_count, first, bloom_count, shift) = (field(0)?, field(1)?, field(2)?, field(3)?);
        let (bloom, rest) = take(rest, bloom_count, image.word_size())?;
        let (buckets, rest) = take(rest, bucket_count, 4)?;
        let numbers = (0..bucket_count).filter_map(|bucket| number_at(image, buckets, bucket, 4));
        let last = numbers.max().filter(|last| *last != 0);
        let mut end = first;
        if let Some(last) = last {
            end = last;
            while number_at(image, rest, end.checked_sub(first)?, 4)? & 1 == 0 {
                end = end.checked_add(1)?;
            }
            end = end.checked_add(1)?;
        }
        let (chains, _) = take(rest, end.checked_sub(first)?, 4)?;
        let size = [16, bloom.len(), buckets.len(), chains.len()].iter().sum::<usize>() as u64;
        let symbol_count = if last.is_some() { end } else { 0 };
        Some(Self { size, symbol_count, first, shift, bloom, buckets, chains })
    }

    /// As `do_lookup_x` of glibc goes through it: the number of the first symbol of that name.
    pub(super) fn find(&self, image: &Image<'_>, tables: &Tables<'_>, name: &[u8]) -> Option<u64> {
        let hash = u64::from(object::elf::gnu_hash(name));
        let bits = image.word_size().checked_mul(8)?;
        let words = (self.bloom.len() as u64).checked_div(image.word_size())?;
        let word =
            number_at(image, self.bloom, hash.checked_div(bits)? & words.checked_sub(1)?, image.word_size() as usize)?;
        let second = hash.checked_shr(u32::try_from(self.shift).ok()?).unwrap_or(0);
        let mask = bits.checked_sub(1)?;
        if (word >> (hash & mask)) & (word >> (second & mask)) & 1 == 0 {
            return None;
        }
        let buckets = (self.buckets.len() as u64).checked_div(4)?;
        let mut symbol = number_at(image, self.buckets, hash.checked_rem(buckets)?, 4)?;
        if symbol == 0 {
            return None;
        }
        loop {
            let entry = number_at(image, self.chains, symbol.checked_sub(self.first)?, 4)?;
            if (entry ^ hash) >> 1 == 0 && symbol_name(image, tables, symbol) == Some(name) {
                return Some(symbol);
            }
            if entry & 1 != 0 {
                return None;
            }
            symbol = symbol.checked_add(1)?;
        }
    }
}

impl<'a> SysvHash<'a> {
    pub(super) fn read(image: &Image<'a>, start: u64) -> Option<Self> {
        let number = if image.header.machine == 0x9026 || (image.header.machine == 22 && image.wide) { 8 } else { 4 };
        let bytes = image.piece(start)?.bytes?;
        let bucket_count = number_at(image, bytes, 0, number)?;
        let symbol_count = number_at(image, bytes, 1, number)?;
        let (header, rest) = bytes.split_at_checked(number.checked_mul(2)?)?;
        let (buckets, rest) = take(rest, bucket_count, number as u64)?;
        let (chains, _) = take(rest, symbol_count, number as u64)?;
        let size = [header.len(), buckets.len(), chains.len()].iter().sum::<usize>() as u64;
        Some(Self { size, symbol_count, number, buckets, chains })
    }

    pub(super) fn find(&self, image: &Image<'_>, tables: &Tables<'_>, name: &[u8]) -> Option<u64> {
        let buckets = (self.buckets.len() as u64).checked_div(self.number as u64)?;
        let hash = u64::from(object::elf::hash(name));
        let mut symbol = number_at(image, self.buckets, hash.checked_rem(buckets)?, self.number)?;
        // A chain that comes back to itself is no longer than all symbols.
        for _ in 0..self.symbol_count {
            if symbol == 0 {
                return None;
            }
            if symbol_name(image, tables, symbol) == Some(name) {
                return Some(symbol);
            }
            symbol = number_at(image, self.chains, symbol, self.number)?;
        }
        None
    }
}

/// A symbol as the loader sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol {
    pub(super) name: u64,
    /// Binding and type.
    pub(super) info: u8,
    /// Number of its section; 0 when it is not defined here.
    pub(super) section: u64,
    pub(super) value: u64,
}

/// An entry of a symbol table (gABI, "Symbol Table").
pub(super) fn symbol(image: &Image<'_>, table: &[u8], number: u64) -> Option<Symbol> {
    let size = symbol_size(image);
    let start = usize::try_from(number.checked_mul(size)?).ok()?;
    let bytes = table.get(start..start.checked_add(size as usize)?)?;
    let field = |at: usize, size: usize| bytes.get(at..).and_then(|bytes| image.number(bytes, size));
    let (info, section, value) = if image.wide { (4, 6, 8) } else { (12, 14, 4) };
    Some(Symbol {
        name: field(0, 4)?,
        info: *bytes.get(info)?,
        section: field(section, 2)?,
        value: field(value, image.word_size() as usize)?,
    })
}

/// The string at an offset, without its zero.
pub(super) fn string(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    std::ffi::CStr::from_bytes_until_nul(rest).ok().map(std::ffi::CStr::to_bytes)
}

pub(super) fn symbol_name<'a>(image: &Image<'_>, tables: &Tables<'a>, number: u64) -> Option<&'a [u8]> {
    string(tables.strings, symbol(image, tables.symbols, number)?.name)
}
