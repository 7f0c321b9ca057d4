//! The two hash tables for symbol lookup.

use object::elf::{EM_ALPHA, EM_S390};

use super::symbols::Names;
use crate::image::Image;

/// `DT_GNU_HASH`: a Bloom filter, buckets, and chains that end at an odd entry.
#[derive(Debug)]
pub(crate) struct GnuHash<'a> {
    pub(crate) size: u64,
    /// Symbols up to the last one in a chain.
    pub(crate) symbol_count: u64,
    first: u64,
    shift: u64,
    bloom: &'a [u8],
    buckets: &'a [u8],
    chains: &'a [u8],
}

/// `DT_HASH`: buckets and chains of symbol numbers.
#[derive(Debug)]
pub(crate) struct SysvHash<'a> {
    pub(crate) size: u64,
    pub(crate) symbol_count: u64,
    /// Size of a number: 8 bytes on Alpha and on 64-bit S/390, else 4.
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
    pub(crate) fn read(image: &Image<'a>, start: u64) -> Option<Self> {
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

    /// Follows `do_lookup_x` of glibc: the index of the first symbol with that name.
    pub(crate) fn find(&self, image: &Image<'_>, names: &Names<'_>, name: &[u8]) -> Option<u64> {
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
            if (entry ^ hash) >> 1 == 0 && names.is(symbol, name) {
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
    pub(crate) fn read(image: &Image<'a>, start: u64) -> Option<Self> {
        let number = if image.header.machine == EM_ALPHA || (image.header.machine == EM_S390 && image.encoding.wide) {
            8
        } else {
            4
        };
        let bytes = image.piece(start)?.bytes?;
        let bucket_count = number_at(image, bytes, 0, number)?;
        let symbol_count = number_at(image, bytes, 1, number)?;
        let (header, rest) = bytes.split_at_checked(number.checked_mul(2)?)?;
        let (buckets, rest) = take(rest, bucket_count, number as u64)?;
        let (chains, _) = take(rest, symbol_count, number as u64)?;
        let size = [header.len(), buckets.len(), chains.len()].iter().sum::<usize>() as u64;
        Some(Self { size, symbol_count, number, buckets, chains })
    }

    pub(crate) fn find(&self, image: &Image<'_>, names: &Names<'_>, name: &[u8]) -> Option<u64> {
        let buckets = (self.buckets.len() as u64).checked_div(self.number as u64)?;
        let hash = u64::from(object::elf::hash(name));
        let mut symbol = number_at(image, self.buckets, hash.checked_rem(buckets)?, self.number)?;
        // A chain without a loop is not longer than the symbol table.
        for _ in 0..self.symbol_count {
            if symbol == 0 {
                return None;
            }
            if names.is(symbol, name) {
                return Some(symbol);
            }
            symbol = number_at(image, self.chains, symbol, self.number)?;
        }
        None
    }
}
