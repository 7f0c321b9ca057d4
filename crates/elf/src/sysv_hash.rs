//! The System V hash table (`DT_HASH`): the older of the two, and the only one that states the symbol count.
//!
//! gABI, chapter 5, "Hash Table". Its words have 4 bytes in 64-bit files as well, except on Alpha and 64-bit s390,
//! where they have 8 (`ELF_MACHINE_HASH` entry size, binutils `bfd/elf64-s390.c` and `bfd/elf64-alpha.c`).

use object::elf;

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::{Class, Encoding};
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::hash_chains::ChainLengths;
use crate::words::{HashWords, WordSize};

const NAME: &str = "the System V hash table";

/// A `DT_HASH` table, in place in the file.
#[derive(Clone, Debug)]
pub struct SysvHashTable<'data> {
    address: Vaddr,
    file_offset: FileOffset,
    buckets: HashWords<'data>,
    chains: HashWords<'data>,
}

impl<'data> SysvHashTable<'data> {
    /// The table that the dynamic table refers to; `None` without one.
    ///
    /// # Errors
    /// If the table is not within the file part of one segment.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Option<Self>> {
        let Some(address) = dynamic.get(Tag::HASH).map(Vaddr) else { return Ok(None) };
        let encoding = file.encoding();
        let size = word_size(encoding);
        let header = file.memory_bytes(NAME, address, size.bytes().saturating_mul(2))?;
        let header = HashWords::new(header, encoding, size);
        let (bucket_count, chain_count) = (header.get(0).unwrap_or(0), header.get(1).unwrap_or(0));
        // All sizes saturate: an excessive number is then outside every segment.
        let words = |first: u64, count: u64| {
            if count == 0 {
                return Ok(HashWords::new(&[], encoding, size));
            }
            let start = Vaddr(address.0.saturating_add(first.saturating_mul(size.bytes())));
            let bytes = file.memory_bytes(NAME, start, count.saturating_mul(size.bytes()))?;
            Ok(HashWords::new(bytes, encoding, size))
        };
        Ok(Some(Self {
            address,
            file_offset: file.offset_of(address).unwrap_or_default(),
            buckets: words(2, bucket_count)?,
            chains: words(bucket_count.saturating_add(2), chain_count)?,
        }))
    }

    /// Number of symbols in the symbol table, including the null symbol: there is a chain word for each.
    pub fn symbol_count(&self) -> u64 {
        self.chains.len()
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> u64 {
        self.buckets.len()
    }

    /// Size of a word in bytes: 4, or 8 on two architectures.
    pub fn word_size(&self) -> u64 {
        self.buckets.word_size().bytes()
    }

    /// Size of the table in bytes.
    pub fn size(&self) -> u64 {
        let header = self.word_size().saturating_mul(2);
        header.saturating_add(self.buckets.byte_size()).saturating_add(self.chains.byte_size())
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
    /// If a chain leaves the table or has no end, or two chains share symbols.
    pub fn chain_lengths(&self) -> Result<ChainLengths> {
        let mut lengths = ChainLengths::default();
        for (number, first) in self.buckets.iter().enumerate() {
            let place = self.place_of_bucket(number as u64);
            let (mut symbol, mut length) = (first, 0_u64);
            while symbol != 0 {
                length = length.saturating_add(1);
                // Each symbol is in one chain only, so the chains together cannot exceed the table.
                if lengths.symbols.saturating_add(length) > self.chains.len() {
                    return Err(malformed(place, "a bucket's chain has no end or overlaps another one"));
                }
                let next = self.chains.get(symbol);
                symbol = next.ok_or_else(|| malformed(place, "a bucket's chain leaves the table"))?;
            }
            lengths.add(length);
        }
        Ok(lengths)
    }

    /// The first symbol in the chain for `name` that `is_wanted` accepts. `is_wanted` receives symbol indices and
    /// must compare the names, which the table does not contain. `None` also if the chain is malformed.
    pub fn lookup(&self, name: &[u8], mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let bucket = u64::from(sysv_hash(name)).checked_rem(self.buckets.len())?;
        let mut symbol = self.buckets.get(bucket)?;
        // A chain with an end has no more steps than there are symbols.
        for _ in 0..self.chains.len() {
            if symbol == 0 {
                return None;
            }
            let next = self.chains.get(symbol)?;
            let number = u32::try_from(symbol).ok()?;
            if is_wanted(number) {
                return Some(number);
            }
            symbol = next;
        }
        None
    }

    fn place_of_bucket(&self, number: u64) -> FileOffset {
        FileOffset(self.file_offset.0.saturating_add(number.saturating_add(2).saturating_mul(self.word_size())))
    }
}

fn malformed(offset: FileOffset, problem: &'static str) -> ElfError {
    ElfError::Malformed { table: NAME, offset, problem }
}

fn word_size(encoding: Encoding) -> WordSize {
    let machine = elf::Machine(encoding.machine);
    match encoding.class {
        Class::Elf64 if machine == elf::EM_S390 || machine == elf::EM_ALPHA => WordSize::Eight,
        _ => WordSize::Four,
    }
}

/// The hash of a name in `DT_HASH`, and of a version's name in the version tables (gABI, chapter 5).
pub fn sysv_hash(name: &[u8]) -> u32 {
    name.iter().fold(0, |hash: u32, byte| {
        // The multiplication cannot overflow: the upper 4 bits are zero from the round before.
        let hash = hash.wrapping_mul(16).wrapping_add((*byte).into());
        let upper = hash & 0xf000_0000;
        (hash ^ (upper >> 24)) & !upper
    })
}

#[cfg(test)]
mod tests;
