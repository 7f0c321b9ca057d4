//! The encoding of numbers in a file: width and byte order.

use object::Endianness;

/// Class and byte order of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Encoding {
    /// Whether its class is ELFCLASS64.
    pub(crate) wide: bool,
    pub(crate) endian: Endianness,
}

impl Encoding {
    /// Bytes of a word of this class: 4 or 8.
    pub(crate) fn word_size(self) -> u64 {
        if self.wide { 8 } else { 4 }
    }

    /// A number of 2, 4 or 8 bytes at the beginning of `bytes`.
    pub(crate) fn number(self, bytes: &[u8], size: usize) -> Option<u64> {
        let bytes = bytes.get(..size)?;
        let fold = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        Some(match self.endian {
            Endianness::Little => bytes.iter().rev().fold(0, fold),
            Endianness::Big => bytes.iter().fold(0, fold),
        })
    }

    /// A word at the beginning of `bytes`.
    pub(crate) fn word(self, bytes: &[u8]) -> Option<u64> {
        if self.wide {
            let bytes: [u8; 8] = bytes.get(..8)?.try_into().ok()?;
            Some(if self.endian == Endianness::Little { u64::from_le_bytes(bytes) } else { u64::from_be_bytes(bytes) })
        } else {
            self.number(bytes, 4)
        }
    }
}
