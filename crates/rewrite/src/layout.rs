//! Field offsets in the format's records, and writing fields in the file's own encoding.
//!
//! Records are edited as bytes: unknown fields are unchanged. Offsets are those of the ELF specification (figures
//! 1-3, 1-9 and 2-1), for 32 and 64 bits.

use coldstart_elf::{ByteOrder, Class, Encoding, FileSpan};

/// A field: its offset in the record of each class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    of_32: usize,
    of_64: usize,
}

const fn field(of_32: usize, of_64: usize) -> Field {
    Field { of_32, of_64 }
}

/// `e_*`.
pub(crate) mod file_header {
    use super::{Field, field};
    pub(crate) const SEGMENTS_OFFSET: Field = field(28, 32);
    pub(crate) const SECTIONS_OFFSET: Field = field(32, 40);
    pub(crate) const SEGMENT_COUNT: Field = field(44, 56);
    pub(crate) const SECTION_COUNT: Field = field(48, 60);
}

/// `p_*`.
pub(crate) mod program_header {
    use super::{Field, field};
    pub(crate) const KIND: Field = field(0, 0);
    pub(crate) const FLAGS: Field = field(24, 4);
    pub(crate) const OFFSET: Field = field(4, 8);
    pub(crate) const ADDRESS: Field = field(8, 16);
    pub(crate) const PHYSICAL_ADDRESS: Field = field(12, 24);
    pub(crate) const FILE_SIZE: Field = field(16, 32);
    pub(crate) const MEMORY_SIZE: Field = field(20, 40);
    pub(crate) const ALIGNMENT: Field = field(28, 48);
}

/// `sh_*`.
pub(crate) mod section_header {
    use super::{Field, field};
    pub(crate) const NAME: Field = field(0, 0);
    pub(crate) const KIND: Field = field(4, 4);
    pub(crate) const FLAGS: Field = field(8, 8);
    pub(crate) const ADDRESS: Field = field(12, 16);
    pub(crate) const OFFSET: Field = field(16, 24);
    pub(crate) const SIZE: Field = field(20, 32);
    pub(crate) const LINK: Field = field(24, 40);
    pub(crate) const ALIGNMENT: Field = field(32, 48);
    pub(crate) const ENTRY_SIZE: Field = field(36, 56);
}

/// `st_value`.
pub(crate) const SYMBOL_VALUE: Field = field(4, 8);

impl Field {
    /// Its offset in a record of this class, in bytes.
    pub(crate) fn at(self, encoding: Encoding) -> usize {
        match encoding.class {
            Class::Elf32 => self.of_32,
            Class::Elf64 => self.of_64,
        }
    }

    /// Writes an address, offset or size. A record that is too short is unchanged.
    pub(crate) fn set_word(self, record: &mut [u8], encoding: Encoding, value: u64) {
        put(record, self.at(encoding), &word_bytes(encoding, value));
    }

    /// Reads an address, offset or size; 0 if the record is too short.
    pub(crate) fn word(self, record: &[u8], encoding: Encoding) -> u64 {
        record.get(self.at(encoding)..).and_then(|bytes| encoding.word(bytes)).unwrap_or(0)
    }

    /// Reads a field of 4 bytes; 0 if the record is too short.
    pub(crate) fn u32(self, record: &[u8], encoding: Encoding) -> u32 {
        let bytes = record.get(self.at(encoding)..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
        match encoding.byte_order {
            ByteOrder::Little => u32::from_le_bytes(bytes),
            ByteOrder::Big => u32::from_be_bytes(bytes),
        }
    }

    /// Writes a field of 4 bytes.
    pub(crate) fn set_u32(self, record: &mut [u8], encoding: Encoding, value: u32) {
        put(record, self.at(encoding), &u32_bytes(encoding, value));
    }

    /// Writes a field of 2 bytes.
    pub(crate) fn set_u16(self, record: &mut [u8], encoding: Encoding, value: u16) {
        put(record, self.at(encoding), &u16_bytes(encoding, value));
    }
}

/// An address-sized number in a file's encoding: 4 or 8 bytes.
pub(crate) fn word_bytes(encoding: Encoding, value: u64) -> Vec<u8> {
    match (encoding.class, encoding.byte_order) {
        (Class::Elf64, ByteOrder::Little) => value.to_le_bytes().to_vec(),
        (Class::Elf64, ByteOrder::Big) => value.to_be_bytes().to_vec(),
        (Class::Elf32, ByteOrder::Little) => (value as u32).to_le_bytes().to_vec(),
        (Class::Elf32, ByteOrder::Big) => (value as u32).to_be_bytes().to_vec(),
    }
}

/// A number of 4 bytes in a file's encoding.
pub(crate) fn u32_bytes(encoding: Encoding, value: u32) -> [u8; 4] {
    match encoding.byte_order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    }
}

/// A number of 2 bytes in a file's encoding.
pub(crate) fn u16_bytes(encoding: Encoding, value: u16) -> [u8; 2] {
    match encoding.byte_order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    }
}

/// A range of a file's bytes; `None` if it exceeds the file.
pub(crate) fn part(bytes: &[u8], range: FileSpan) -> Option<&[u8]> {
    bytes.get(usize::try_from(range.start().0).ok()?..usize::try_from(range.end().0).ok()?)
}

/// Overwrites a range in place, if it is within the file.
pub(crate) fn put(record: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = at.checked_add(bytes.len()).and_then(|end| record.get_mut(at..end)) {
        place.copy_from_slice(bytes);
    }
}
