//! The GNU hash table (`DT_GNU_HASH`): preferred by glibc, musl and bionic when a file has both tables.
//!
//! It contains only the symbols from a certain index on, ordered by bucket. A Bloom filter rejects most absent names
//! before a bucket is read. The table does not state the symbol count; that follows from the last chain. See glibc
//! `elf/dl-lookup.c` (`do_lookup_x`) and `elf/dl-setup_hash.c`.

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::Class;
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::hash_chains::{ChainLengths, share};
use crate::words::{HashWords, WordSize};

const NAME: &str = "the GNU hash table";
/// Bucket count, first symbol, filter word count, shift: 4 bytes each.
const HEADER_SIZE: u64 = 16;

/// A `DT_GNU_HASH` table, in place in the file.
#[derive(Clone, Debug)]
pub struct GnuHashTable<'data> {
    address: Vaddr,
    file_offset: FileOffset,
    first_symbol: u64,
    bloom_shift: u32,
    bloom: HashWords<'data>,
    buckets: HashWords<'data>,
    /// A word for each symbol from `first_symbol` on.
    chains: HashWords<'data>,
}

/// How well the Bloom filter works.
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
    /// Probability, from 0 to 1, of a false positive, which costs a useless chain walk. Exact for evenly distributed
    /// hashes: the loader tests two bits of one word.
    pub false_positives: f64,
}

impl<'data> GnuHashTable<'data> {
    /// The table that the dynamic table refers to; `None` without one.
    ///
    /// # Errors
    /// If the table is not within the file part of one segment, if the filter's word count is not a power of two, or
    /// if the last chain has no end.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Option<Self>> {
        let Some(address) = dynamic.get(Tag::GNU_HASH).map(Vaddr) else { return Ok(None) };
        let encoding = file.encoding();
        let header = HashWords::new(file.memory_bytes(NAME, address, HEADER_SIZE)?, encoding, WordSize::Four);
        let field = |index| header.get(index).unwrap_or(0);
        let (bucket_count, first_symbol, bloom_count, bloom_shift) = (field(0), field(1), field(2), field(3));
        let file_offset = file.offset_of(address).unwrap_or_default();
        if !bloom_count.is_power_of_two() {
            let problem = "the Bloom filter's word count is not a power of two";
            return Err(malformed(FileOffset(file_offset.0.saturating_add(8)), problem));
        }
        let bloom_size = match encoding.class {
            Class::Elf32 => WordSize::Four,
            Class::Elf64 => WordSize::Eight,
        };
        // Counts have 32 bits, so none of these sums overflows 64; excessive ones are outside every segment.
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
            bloom: HashWords::new(part(HEADER_SIZE, bloom_bytes), encoding, bloom_size),
            buckets: HashWords::new(part(buckets_start, bucket_bytes), encoding, WordSize::Four),
            chains: HashWords::new(&[], encoding, WordSize::Four),
        };
        // The chains may extend to the end of the segment until the last one has been walked.
        let start = address.checked_add(chains_start);
        let rest = start.and_then(|start| file.memory_from(start)).unwrap_or_default();
        let count = table.chain_count(&HashWords::new(rest, encoding, WordSize::Four))?;
        let used = usize::try_from(count.saturating_mul(4)).ok().and_then(|size| rest.get(..size));
        table.chains = HashWords::new(used.unwrap_or_default(), encoding, WordSize::Four);
        Ok(Some(table))
    }

    /// Number of chain words: from the first one to the end of the chain that begins last.
    fn chain_count(&self, rest: &HashWords<'data>) -> Result<u64> {
        let last = self.buckets.iter().enumerate().max_by_key(|(_, first)| *first);
        let Some((bucket, first)) = last.filter(|(_, first)| *first != 0) else { return Ok(0) };
        let place = self.place_of_bucket(bucket as u64);
        let outside = || malformed(place, "the bucket's first symbol is outside the table");
        let first = first.checked_sub(self.first_symbol).ok_or_else(outside)?;
        if first >= rest.len() {
            return Err(outside());
        }
        let end = (first..rest.len()).find(|index| rest.get(*index).is_some_and(is_last));
        let end = end.ok_or_else(|| malformed(place, "the bucket's chain has no end mark in the segment"))?;
        Ok(end.saturating_add(1))
    }

    /// Number of symbols in the symbol table, including the null symbol. `None` when the hash table is empty: the
    /// count then cannot be derived (GNU ld writes 1 as the first symbol's index in that case).
    pub fn symbol_count(&self) -> Option<u64> {
        (self.chains.len() > 0).then(|| self.first_symbol.saturating_add(self.chains.len()))
    }

    /// Index of the first symbol in the table. The symbols before it are not exported; most are undefined.
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
    /// If a bucket's first symbol is outside the table, or two chains share symbols.
    pub fn chain_lengths(&self) -> Result<ChainLengths> {
        let mut lengths = ChainLengths::default();
        for (number, first) in self.buckets.iter().enumerate() {
            let mut length = 0_u64;
            if first != 0 {
                let place = self.place_of_bucket(number as u64);
                let outside = || malformed(place, "the bucket's first symbol is outside the table");
                let mut index = first.checked_sub(self.first_symbol).ok_or_else(outside)?;
                loop {
                    let hash = self.chains.get(index).ok_or_else(outside)?;
                    length = length.saturating_add(1);
                    // Each symbol is in one chain only, so the chains together cannot exceed the table.
                    if lengths.symbols.saturating_add(length) > self.chains.len() {
                        return Err(malformed(place, "the bucket's chain overlaps another one"));
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

    /// Measures how much the filter lets through.
    pub fn bloom_quality(&self) -> BloomQuality {
        let bits = self.bloom.word_size().bits();
        let (mut set, mut passed) = (0_u64, 0.0_f64);
        for word in self.bloom.iter() {
            let ones = word.count_ones();
            set = set.saturating_add(ones.into());
            // The word and the two bits in it are independent for evenly distributed hashes.
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

    /// The first symbol with the hash of `name` that `is_wanted` accepts. `is_wanted` receives symbol indices and
    /// must compare the names, which the table does not contain. It is called only when the whole hash matches.
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
            // The lowest bit is not part of the hash: it marks the end of a chain.
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
