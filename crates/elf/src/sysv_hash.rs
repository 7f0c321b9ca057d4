//! The hash table of System V (`DT_HASH`): the older of the two, and the one that states how many symbols there are.
//!
//! gABI, chapter 5, "Hash Table". Its words have 4 bytes in 64-bit files as well, except on Alpha and 64-bit s390, where
//! they have 8 (`ELF_MACHINE_HASH` entry size, binutils `bfd/elf64-s390.c` and `bfd/elf64-alpha.c`).

use object::elf;

use crate::address::{FileOffset, Vaddr};
use crate::dynamic::{DynamicTable, Tag};
use crate::encoding::{Class, Encoding};
use crate::error::{ElfError, Result};
use crate::file::ElfFile;
use crate::hash_chains::ChainLengths;
use crate::words::{WordSize, Words};

const NAME: &str = "the System V hash table";

/// A `DT_HASH` table where it lies in the file.
#[derive(Clone, Debug)]
pub struct SysvHashTable<'data> {
    address: Vaddr,
    file_offset: FileOffset,
    buckets: Words<'data>,
    chains: Words<'data>,
}

impl<'data> SysvHashTable<'data> {
    /// The table that the dynamic table names; `None` when it names none.
    ///
    /// # Errors
    /// If the table is not all within the part of one segment that comes from the file.
    pub fn parse(file: &ElfFile<'data>, dynamic: &DynamicTable<'_>) -> Result<Option<Self>> {
        let Some(address) = dynamic.get(Tag::HASH).map(Vaddr) else { return Ok(None) };
        let encoding = file.encoding();
        let size = word_size(encoding);
        let header = file.memory_bytes(NAME, address, size.bytes().saturating_mul(2))?;
        let header = Words::new(header, encoding, size);
        let (bucket_count, chain_count) = (header.get(0).unwrap_or(0), header.get(1).unwrap_or(0));
        // All sizes saturate: too large a number is then an address or a size that no segment has.
        let words = |first: u64, count: u64| {
            if count == 0 {
                return Ok(Words::new(&[], encoding, size));
            }
            let start = Vaddr(address.0.saturating_add(first.saturating_mul(size.bytes())));
            let bytes = file.memory_bytes(NAME, start, count.saturating_mul(size.bytes()))?;
            Ok(Words::new(bytes, encoding, size))
        };
        Ok(Some(Self {
            address,
            file_offset: file.offset_of(address).unwrap_or_default(),
            buckets: words(2, bucket_count)?,
            chains: words(bucket_count.saturating_add(2), chain_count)?,
        }))
    }

    /// Number of symbols in the symbol table, the null symbol included: there is a chain word for each.
    pub fn symbol_count(&self) -> u64 {
        self.chains.len()
    }

    /// Number of buckets.
    pub fn bucket_count(&self) -> u64 {
        self.buckets.len()
    }

    /// Size in bytes of a word of the table: 4, or 8 on two machines.
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
    /// If a chain leads outside the table, or has no end, or two share symbols.
    pub fn chain_lengths(&self) -> Result<ChainLengths> {
        let mut lengths = ChainLengths::default();
        for (number, first) in self.buckets.iter().enumerate() {
            let place = self.place_of_bucket(number as u64);
            let (mut symbol, mut length) = (first, 0_u64);
            while symbol != 0 {
                length = length.saturating_add(1);
                // A symbol is in one chain only, so all together cannot be longer than the table.
                if lengths.symbols.saturating_add(length) > self.chains.len() {
                    return Err(malformed(place, "the chain of a bucket has no end, or shares symbols with another"));
                }
                let next = self.chains.get(symbol);
                symbol = next.ok_or_else(|| malformed(place, "the chain of a bucket leads outside the table"))?;
            }
            lengths.add(length);
        }
        Ok(lengths)
    }

    /// The first symbol in the chain for `name` that `is_wanted` accepts; it is given numbers of symbols, and has to
    /// compare names, because the table does not hold them. `None` also when the chain is broken.
    pub fn lookup(&self, name: &[u8], mut is_wanted: impl FnMut(u32) -> bool) -> Option<u32> {
        let bucket = u64::from(sysv_hash(name)).checked_rem(self.buckets.len())?;
        let mut symbol = self.buckets.get(bucket)?;
        // As many steps as there are symbols are enough for any chain that has an end.
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
        // The multiplication cannot lose anything: the upper 4 bits are zero from the round before.
        let hash = hash.wrapping_mul(16).wrapping_add((*byte).into());
        let upper = hash & 0xf000_0000;
        (hash ^ (upper >> 24)) & !upper
    })
}

#[cfg(test)]
mod tests;
