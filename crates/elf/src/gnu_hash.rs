//! The GNU hash table (`DT_GNU_HASH`): the one that glibc, musl and bionic look symbols up in when a file has both.
//!
//! Only symbols from a certain number on are in it, ordered by bucket, and a Bloom filter in front of the buckets turns
//! most names away that are not there. It does not state how many symbols there are; that follows from the last chain.
//! See glibc `elf/dl-lookup.c` (`do_lookup_x`) and `elf/dl-setup_hash.c`.

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::Class;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::hash_chains::{ChainLengths, share};
use crate::words::{WordSize, Words};

const NAME: &str = "the GNU hash table";
/// Number of buckets, first symbol, number of filter words, shift: 4 bytes each.
const HEADER_SIZE: u64 = 16;

/// A `DT_GNU_HASH` table where it lies in the file.
#[derive(Clone, Debug)]
pub struct GnuHashTable<'data> {
    address: Vaddr,
    file_offset: FileOffset,
    first_symbol: u64,
    bloom_shift: u32,
    bloom: Words<'data>,
    buckets: Words<'data>,
    /// A word for each symbol from `first_symbol` on.
    chains: Words<'data>,
}

/// How well the filter in front of the buckets works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BloomQuality {
    /// Number of words; a power of two.
    pub words: u64,
    /// Bits of a word: 32 or 64.
    pub word_bits: u32,
    /// How far the hash is shifted right for the second bit.
    pub shift: u32,
    /// Share of all bits that are set, from 0 to 1.
    pub set_share: f64,
    /// Probability, from 0 to 1, that a name which is not in the table passes nevertheless, so that a chain is walked in
    /// vain. Exact for names whose hashes are evenly spread: the loader asks for two bits of one word.
    pub false_positives: f64,
}

impl<'data> GnuHashTable<'data> {
    /// The table that the dynamic table names; `None` when it names none.
    ///
    /// # Errors
    /// If the table is not all within the part of one segment that comes from the file, if the filter's size is no power
    /// of two, or if the last chain has no end.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Option<Self>> {
        let Some(address) = dynamic.get(Tag::GNU_HASH).map(Vaddr) else { return Ok(None) };
        let encoding = file.encoding();
        let header = Words::new(file.memory_bytes(NAME, address, HEADER_SIZE)?, encoding, WordSize::Four);
        let field = |index| header.get(index).unwrap_or(0);
        let (bucket_count, first_symbol, bloom_count, bloom_shift) = (field(0), field(1), field(2), field(3));
        let file_offset = file.offset_of(address).unwrap_or_default();
        if !bloom_count.is_power_of_two() {
            let problem = "the number of the filter's words is no power of two";
            return Err(malformed(FileOffset(file_offset.0.saturating_add(8)), problem));
        }
        let bloom_size = match encoding.class {
            Class::Elf32 => WordSize::Four,
            Class::Elf64 => WordSize::Eight,
        };
        // Counts have 32 bits, so none of these sums overflows 64; too large ones are outside every segment.
        let bloom_bytes = bloom_count.saturating_mul(bloom_size.bytes());
        let buckets_start = HEADER_SIZE.saturating_add(bloom_bytes);
        let bucket_bytes = bucket_count.saturating_mul(4);
        let chains_start = buckets_start.saturating_add(bucket_bytes);
        let bytes = file.memory_bytes(NAME, address, chains_start)?;
        let part = |start: u64, size: u64| -> &'data [u8] {
            let range = || {
                let start = usize::try_from(start).ok()?;
                bytes.get(start..)?.get(..usize::try_from(size).ok()?)
            };
            range().unwrap_or_default()
        };
        let mut table = Self {
            address,
            file_offset,
            first_symbol,
            bloom_shift: u32::try_from(bloom_shift).unwrap_or(u32::MAX),
            bloom: Words::new(part(HEADER_SIZE, bloom_bytes), encoding, bloom_size),
            buckets: Words::new(part(buckets_start, bucket_bytes), encoding, WordSize::Four),
            chains: Words::new(&[], encoding, WordSize::Four),
        };
        // The chains may reach to the end of the segment for all that is known before the last one was walked.
        let start = address.checked_add(chains_start);
        let rest = start.and_then(|start| file.memory_from(start)).unwrap_or_default();
        let count = table.chain_count(&Words::new(rest, encoding, WordSize::Four))?;
        let used = usize::try_from(count.saturating_mul(4)).ok().and_then(|size| rest.get(..size));
        table.chains = Words::new(used.unwrap_or_default(), encoding, WordSize::Four);
        Ok(Some(table))
    }

    /// Number of chain words: from the first one to the end of the chain that begins last.
    fn chain_count(&self, rest: &Words<'data>) -> Result<u64> {
        let last = self.buckets.iter().enumerate().max_by_key(|(_, first)| *first);
        let Some((bucket, first)) = last.filter(|(_, first)| *first != 0) else { return Ok(0) };
        let place = self.place_of_bucket(bucket as u64);
        let outside = || malformed(place, "the bucket's first symbol is not in the table");
        let first = first.checked_sub(self.first_symbol).ok_or_else(outside)?;
        if first >= rest.len() {
            return Err(outside());
        }
        let end = (first..rest.len()).find(|index| rest.get(*index).is_some_and(is_last));
        let end = end.ok_or_else(|| malformed(place, "the bucket's chain has no end before the end of the segment"))?;
        Ok(end.saturating_add(1))
    }

    /// Number of symbols in the symbol table, the null symbol included. `None` when no symbol is in the hash table: how
    /// many there are before it does not follow then (GNU ld writes 1 as the first symbol's number in that case).
    pub fn symbol_count(&self) -> Option<u64> {
        (self.chains.len() > 0).then(|| self.first_symbol.saturating_add(self.chains.len()))
    }

    /// Number of the first symbol that is in the table. Those before it are not for others: undefined ones, mostly.
    pub fn first_symbol(&self) -> u64 {
        self.first_symbol
    }

    /// Number of symbols in the table.
    pub fn hashed_count(&self) -> u64 {
        self.chains.len()
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> u64 {
        self.buckets.len()
    }

    /// Size of the filter in bytes.
    pub fn bloom_size(&self) -> u64 {
        self.bloom.byte_size()
    }

    /// Size of the table in bytes: header, filter, buckets and chains.
    pub fn size(&self) -> u64 {
        let parts = [&self.bloom, &self.buckets, &self.chains];
        parts.iter().fold(HEADER_SIZE, |size, words| size.saturating_add(words.byte_size()))
    }

    /// Where it begins in memory.
    pub fn address(&self) -> Vaddr {
        self.address
    }

    /// Where it begins in the file.
    pub fn file_offset(&self) -> FileOffset {
        self.file_offset
    }

    /// The lengths of all chains.
    ///
    /// # Errors
    /// If a bucket's first symbol is not in the table, or two chains share symbols.
    pub fn chain_lengths(&self) -> Result<ChainLengths> {
        let mut lengths = ChainLengths::default();
        for (number, first) in self.buckets.iter().enumerate() {
            let mut length = 0_u64;
            if first != 0 {
                let place = self.place_of_bucket(number as u64);
                let outside = || malformed(place, "the bucket's first symbol is not in the table");
                let mut index = first.checked_sub(self.first_symbol).ok_or_else(outside)?;
                loop {
                    let hash = self.chains.get(index).ok_or_else(outside)?;
                    length = length.saturating_add(1);
                    // A symbol is in one chain only, so all together cannot be longer than the table.
                    if lengths.symbols.saturating_add(length) > self.chains.len() {
                        return Err(malformed(place, "the bucket's chain shares symbols with another"));
                    }
                    if is_last(hash) {
                        break;
                    }
                    index = index.saturating_add(1);
                }
            }
            lengths.add(length);
        }
        Ok(lengths)
    }

    /// What the filter lets through.
    pub fn bloom_quality(&self) -> BloomQuality {
        let bits = self.bloom.word_size().bits();
        let (mut set, mut passed) = (0_u64, 0.0_f64);
        for word in self.bloom.iter() {
            let ones = word.count_ones();
            set = set.saturating_add(ones.into());
            // Which word, and which two bits of it, are independent for evenly spread hashes.
            let density = f64::from(ones) / f64::from(bits);
            passed += density * density;
        }
        let words = self.bloom.len();
        BloomQuality {
            words,
            word_bits: bits,
            shift: self.bloom_shift,
            set_share: share(set, words.saturating_mul(bits.into())),
            false_positives: if words == 0 { 0.0 } else { passed / words as f64 },
        }
    }

    /// Whether the filter lets `name` through. All names in the table pass, and some others.
    pub fn may_contain(&self, name: &[u8]) -> bool {
        self.filter_passes(gnu_hash(name)).unwrap_or(false)
    }

    fn filter_passes(&self, hash: u32) -> Option<bool> {
        let bits = self.bloom.word_size().bits();
        let number = u64::from(hash.checked_div(bits)?);
        let word = self.bloom.get(number & self.bloom.len().checked_sub(1)?)?;
        let bit = |hash: u32| hash.checked_rem(bits).and_then(|bit| word.checked_shr(bit)).map(|bit| bit & 1);
        let second = hash.checked_shr(self.bloom_shift).unwrap_or(0);
        Some(bit(hash)? & bit(second)? == 1)
    }

    /// The first symbol with the hash of `name` that `is_wanted` accepts; it is given numbers of symbols, and has to
    /// compare names, because the table does not hold them. It is asked only where the whole hash is the same.
    pub fn lookup(&self, name: &[u8], mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let hash = gnu_hash(name);
        if !self.filter_passes(hash)? {
            return None;
        }
        let bucket = u64::from(hash).checked_rem(self.buckets.len())?;
        let first = self.buckets.get(bucket).filter(|first| *first != 0)?;
        for index in first.checked_sub(self.first_symbol)?..self.chains.len() {
            let entry = self.chains.get(index)?;
            let symbol = u32::try_from(self.first_symbol.checked_add(index)?).ok()?;
            // The lowest bit is not the hash's: it marks the end.
            if entry | 1 == u64::from(hash | 1) && is_wanted(symbol) {
                return Some(symbol);
            }
            if is_last(entry) {
                return None;
            }
        }
        None
    }

    fn place_of_bucket(&self, number: u64) -> FileOffset {
        let before = HEADER_SIZE.saturating_add(self.bloom.byte_size()).saturating_add(number.saturating_mul(4));
        FileOffset(self.file_offset.0.saturating_add(before))
    }
}

fn is_last(entry: u64) -> bool {
    entry & 1 == 1
}

fn malformed(offset: FileOffset, problem: &'static str) -> ElfError {
    ElfError::Malformed { table: NAME, offset, problem }
}

/// The hash of a name in `DT_GNU_HASH`: Bernstein's, `hash * 33 + byte` (glibc `sysdeps/generic/dl-new-hash.h`).
pub fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()))
}

#[cfg(test)]
mod tests;
