//! RELR: relative relocations as addresses and bitmaps.
//!
//! An even word is an address: the word there is relocated. An odd word is a bitmap for the 63 (or 31) words after
//! the last one covered; its lowest bit only marks it as a bitmap. Addends are in the words themselves. Odd addresses
//! cannot be encoded. (Generic ABI, "Relative Relocation Table".)

use crate::address::{FileOffset, Vaddr};
use crate::encoding::{Class, Encoding, Table, TableRecord};

/// A word of a RELR table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelrWord(pub u64);

impl TableRecord for RelrWord {
    fn size(class: Class) -> usize {
        match class {
            Class::Elf32 => 4,
            Class::Elf64 => 8,
        }
    }

    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self> {
        encoding.word(bytes).map(Self)
    }
}

/// A RELR table, as referred to by `DT_RELR`.
#[derive(Clone, Copy, Debug)]
pub struct RelrTable<'data> {
    words: Table<'data, RelrWord>,
}

impl<'data> RelrTable<'data> {
    /// The table in `bytes`, which begin at `file_offset` in the file.
    pub fn new(bytes: &'data [u8], file_offset: FileOffset, encoding: Encoding) -> Self {
        Self { words: Table::new(bytes, file_offset, encoding) }
    }

    /// Number of words in the table.
    pub fn word_count(&self) -> usize {
        self.words.len()
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.words.bytes().len() as u64
    }

    /// Where in the file it begins.
    pub fn file_offset(&self) -> FileOffset {
        self.words.file_offset()
    }

    /// Number of relocated words.
    pub fn relocation_count(&self) -> u64 {
        let of_word = |word: RelrWord| if word.0 & 1 == 0 { 1 } else { u64::from((word.0 >> 1).count_ones()) };
        self.words.iter().map(of_word).fold(0, u64::saturating_add)
    }

    /// Addresses of the relocated words, in table order; linkers write them ascending. Arithmetic wraps around, as in
    /// the loader.
    pub fn addresses(&self) -> impl Iterator<Item = Vaddr> + use<'data> {
        let word_size = self.words.encoding().word_size();
        let bits = bits_per_bitmap(word_size);
        // The address that bit 1 of the next bitmap refers to.
        let mut base = 0_u64;
        let mask = largest_word(word_size);
        self.words.iter().flat_map(move |RelrWord(word)| {
            let (start, mut bitmap) = if word & 1 == 0 { (word, 1) } else { (base, word >> 1) };
            base = match word & 1 {
                0 => word.wrapping_add(word_size),
                _ => base.wrapping_add(bits.wrapping_mul(word_size)),
            };
            std::iter::from_fn(move || {
                let bit = u64::from(bitmap.trailing_zeros());
                if bitmap == 0 {
                    return None;
                }
                bitmap &= bitmap.wrapping_sub(1);
                Some(Vaddr(start.wrapping_add(bit.wrapping_mul(word_size)) & mask))
            })
        })
    }
}

/// The largest value of a word.
fn largest_word(word_size: u64) -> u64 {
    if word_size == 4 { u64::from(u32::MAX) } else { u64::MAX }
}

fn bits_per_bitmap(word_size: u64) -> u64 {
    word_size.saturating_mul(8).saturating_sub(1)
}

/// Writes a RELR table word by word from ascending addresses.
///
/// An address that is not a whole number of words after the previous one starts a new run. [`RelrEncoder::push`]
/// returns an error for an address that cannot be encoded.
#[derive(Debug)]
pub struct RelrEncoder<W> {
    word_size: u64,
    /// The address of bit 1 of the bitmap; `None` before the first address.
    base: Option<u64>,
    bitmap: u64,
    last: Option<u64>,
    write: W,
}

/// Why RELR cannot encode an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRelr {
    /// The lowest bit distinguishes bitmaps from addresses.
    #[error("RELR cannot hold the odd address {0}")]
    Odd(Vaddr),
    /// Addresses must ascend.
    #[error("the address {0} is not greater than the previous one")]
    NotAscending(Vaddr),
    /// An entry must fit in a word of the file's class.
    #[error("the address {0} does not fit in a word of the file")]
    TooLarge(Vaddr),
}

impl<W: FnMut(u64)> RelrEncoder<W> {
    /// An encoder that passes each finished word to `write`.
    pub fn new(encoding: Encoding, write: W) -> Self {
        Self { word_size: encoding.word_size(), base: None, bitmap: 0, last: None, write }
    }

    /// Adds the next address.
    ///
    /// # Errors
    /// If it is odd, not greater than the previous one, or larger than a word; it is then skipped.
    #[inline]
    pub fn push(&mut self, address: Vaddr) -> Result<(), NotRelr> {
        if address.0 > largest_word(self.word_size) {
            return Err(NotRelr::TooLarge(address));
        }
        if address.0 & 1 != 0 {
            return Err(NotRelr::Odd(address));
        }
        if self.last.is_some_and(|last| address.0 <= last) {
            return Err(NotRelr::NotAscending(address));
        }
        self.last = Some(address.0);
        let span = bits_per_bitmap(self.word_size).wrapping_mul(self.word_size);
        while let Some(base) = self.base {
            let Some(distance) = address.0.checked_sub(base) else { break };
            if distance < span && distance.is_multiple_of(self.word_size) {
                let bit = distance.checked_div(self.word_size).unwrap_or(0);
                self.bitmap |= 1_u64.wrapping_shl(bit as u32);
                return Ok(());
            }
            if self.bitmap == 0 {
                break;
            }
            // The bitmap is full or does not reach the address; the next one may.
            self.flush();
            self.base = base.checked_add(span);
        }
        self.flush();
        (self.write)(address.0);
        self.base = address.0.checked_add(self.word_size);
        Ok(())
    }

    /// Writes the pending word.
    pub fn finish(mut self) {
        self.flush();
    }

    fn flush(&mut self) {
        if self.bitmap != 0 {
            (self.write)(self.bitmap << 1 | 1);
            self.bitmap = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::ByteOrder;
    use proptest::prelude::*;

    fn encoding(class: Class) -> Encoding {
        Encoding { class, byte_order: ByteOrder::Little, machine: 62 }
    }

    fn encode(class: Class, addresses: &[u64]) -> Vec<u64> {
        let mut words = Vec::new();
        let mut encoder = RelrEncoder::new(encoding(class), |word| words.push(word));
        for address in addresses {
            encoder.push(Vaddr(*address)).unwrap();
        }
        encoder.finish();
        words
    }

    fn decode(class: Class, words: &[u64]) -> Vec<u64> {
        let bytes: Vec<u8> = match class {
            Class::Elf64 => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
            Class::Elf32 => words.iter().flat_map(|word| (*word as u32).to_le_bytes()).collect(),
        };
        let table = RelrTable::new(&bytes, FileOffset(0), encoding(class));
        let addresses: Vec<u64> = table.addresses().map(|address| address.0).collect();
        assert_eq!(table.relocation_count(), addresses.len() as u64);
        addresses
    }

    #[test]
    fn runs_become_bitmaps() {
        // The example of the generic ABI: one address and the words right after it.
        assert_eq!(encode(Class::Elf64, &[0x1000, 0x1008, 0x1018]), [0x1000, 0b1011]);
        // 63 words after the address fill one bitmap; the 64th needs another.
        let run: Vec<u64> = (0..65).map(|index| 0x2000 + index * 8).collect();
        assert_eq!(encode(Class::Elf64, &run), [0x2000, u64::MAX, 0b11]);
        assert_eq!(encode(Class::Elf64, &[0x1000, 0x100a]), [0x1000, 0x100a]);
    }

    #[test]
    fn what_the_form_cannot_hold_is_refused() {
        let mut encoder = RelrEncoder::new(encoding(Class::Elf64), |_| ());
        assert_eq!(encoder.push(Vaddr(0x1001)), Err(NotRelr::Odd(Vaddr(0x1001))));
        encoder.push(Vaddr(0x1000)).unwrap();
        assert_eq!(encoder.push(Vaddr(0x1000)), Err(NotRelr::NotAscending(Vaddr(0x1000))));
        let mut encoder = RelrEncoder::new(encoding(Class::Elf32), |_| ());
        assert_eq!(encoder.push(Vaddr(1 << 32)), Err(NotRelr::TooLarge(Vaddr(1 << 32))));
    }

    #[test]
    fn addresses_wrap_as_the_loaders_arithmetic_does() {
        assert_eq!(decode(Class::Elf32, &[0xffff_fffc, 3]), [0xffff_fffc, 0]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            steps in prop::collection::vec(prop_oneof![8 => 1_u64..4, 1 => 1_u64..1000], 1..400),
            is_64 in any::<bool>(),
            stray in any::<prop::sample::Index>(),
        ) {
            let (class, word) = if is_64 { (Class::Elf64, 8) } else { (Class::Elf32, 4) };
            let mut address = 0x1000;
            let stray = stray.index(steps.len());
            let mut addresses = Vec::new();
            for (index, step) in steps.iter().enumerate() {
                address += step * word + if index == stray { 2 } else { 0 };
                addresses.push(address);
            }
            let words = encode(class, &addresses);
            prop_assert!(words.len() <= addresses.len());
            prop_assert_eq!(decode(class, &words), addresses);
        }

        #[test]
        fn any_words_can_be_read(words in prop::collection::vec(any::<u64>(), 0..50)) {
            decode(Class::Elf64, &words);
            decode(Class::Elf32, &words);
        }
    }
}
