//! Arrays of 4- or 8-byte numbers, as used by hash tables.
//!
//! [`crate::Table`] derives its record size from the file's class. That is wrong here: `DT_HASH` has 4-byte words in
//! 64-bit files too, except on two architectures.

use crate::encoding::{ByteOrder, Encoding};

/// An array of numbers, in place in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashWords<'data> {
    bytes: &'data [u8],
    encoding: Encoding,
    size: WordSize,
}

/// Size of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordSize {
    /// 4 bytes.
    Four,
    /// 8 bytes.
    Eight,
}

impl WordSize {
    /// The size in bytes.
    pub(crate) fn bytes(self) -> u64 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }

    /// The size in bits.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::Four => 32,
            Self::Eight => 64,
        }
    }
}

impl<'data> HashWords<'data> {
    /// The numbers in `bytes`; an incomplete one at the end is ignored.
    pub(crate) fn new(bytes: &'data [u8], encoding: Encoding, size: WordSize) -> Self {
        Self { bytes, encoding, size }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> u64 {
        match self.size {
            WordSize::Four => self.bytes.as_chunks::<4>().0.len() as u64,
            WordSize::Eight => self.bytes.as_chunks::<8>().0.len() as u64,
        }
    }

    /// Their size together, in bytes.
    pub(crate) fn byte_size(&self) -> u64 {
        self.len().saturating_mul(self.size.bytes())
    }

    /// The size of each.
    pub(crate) fn word_size(&self) -> WordSize {
        self.size
    }

    /// The number at `index`, from 0.
    pub(crate) fn get(&self, index: u64) -> Option<u64> {
        let start = usize::try_from(index.checked_mul(self.size.bytes())?).ok()?;
        let bytes = self.bytes.get(start..)?;
        match self.size {
            WordSize::Four => self.encoding.u32(bytes).map(u64::from),
            WordSize::Eight => {
                let bytes = bytes.first_chunk::<8>()?;
                Some(match self.encoding.byte_order {
                    ByteOrder::Little => u64::from_le_bytes(*bytes),
                    ByteOrder::Big => u64::from_be_bytes(*bytes),
                })
            }
        }
    }

    /// All of them in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + use<'data> {
        let words = *self;
        (0..self.len()).filter_map(move |index| words.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::{HashWords, WordSize};
    use crate::encoding::{ByteOrder, Class, Encoding};

    #[test]
    fn both_sizes_and_byte_orders_are_read() {
        let little = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 0 };
        let big = Encoding { byte_order: ByteOrder::Big, ..little };
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        let all = |encoding, size| HashWords::new(&bytes, encoding, size).iter().collect::<Vec<u64>>();
        assert_eq!(all(little, WordSize::Four), [0x0403_0201, 0x0807_0605]);
        assert_eq!(all(big, WordSize::Four), [0x0102_0304, 0x0506_0708]);
        assert_eq!(all(little, WordSize::Eight), [0x0807_0605_0403_0201]);
        assert_eq!(all(big, WordSize::Eight), [0x0102_0304_0506_0708]);
    }

    #[test]
    fn an_index_outside_gives_nothing() {
        let encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 0 };
        let words = HashWords::new(&[0; 9], encoding, WordSize::Eight);
        assert_eq!((words.len(), words.byte_size()), (1, 8));
        assert_eq!(words.get(1), None);
        assert_eq!(words.get(u64::MAX), None);
    }
}
