//! How an ELF file encodes numbers and records: class, byte order, architecture.
//!
//! Every table of the format exists in four forms (32 or 64 bits, little or big endian). [`Table`] decodes any of
//! them in place, one record at a time. Nothing is copied, and the record count is bounded by the available bytes.

use std::marker::PhantomData;

use object::endian::Endianness;
use object::pod::{self, Pod};

use crate::address::{FileOffset, Vaddr};

/// Width of addresses and of most fields: `EI_CLASS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// 32 bits.
    Elf32,
    /// 64 bits.
    Elf64,
}

/// `EI_DATA`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

/// Class, byte order and architecture of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    /// Width of addresses.
    pub class: Class,
    /// Byte order of numbers.
    pub byte_order: ByteOrder,
    /// `e_machine`; MIPS has its own layout of `r_info`.
    pub machine: u16,
}

impl Encoding {
    /// Size of an address, in bytes: 4 or 8.
    pub fn word_size(self) -> u64 {
        match self.class {
            Class::Elf32 => 4,
            Class::Elf64 => 8,
        }
    }

    /// The address of a function's code, given the function's address: on ARM the lowest bit of that only marks Thumb code (ARM ELF
    /// ABI, section 5.5.3).
    pub fn code_address(self, address: Vaddr) -> Vaddr {
        if self.machine == object::elf::EM_ARM.0 { Vaddr(address.0 & !1) } else { address }
    }

    /// The number in the first word of `bytes`; `None` if `bytes` is shorter than a word.
    pub fn word(self, bytes: &[u8]) -> Option<u64> {
        match self.class {
            Class::Elf32 => self.u32(bytes).map(u64::from),
            Class::Elf64 => {
                let bytes = bytes.first_chunk::<8>()?;
                Some(match self.byte_order {
                    ByteOrder::Little => u64::from_le_bytes(*bytes),
                    ByteOrder::Big => u64::from_be_bytes(*bytes),
                })
            }
        }
    }

    /// The number in the first 4 bytes; `None` if `bytes` is shorter.
    pub fn u32(self, bytes: &[u8]) -> Option<u32> {
        let bytes = bytes.first_chunk::<4>()?;
        Some(match self.byte_order {
            ByteOrder::Little => u32::from_le_bytes(*bytes),
            ByteOrder::Big => u32::from_be_bytes(*bytes),
        })
    }

    /// The number in the first 2 bytes; `None` if `bytes` is shorter.
    pub fn u16(self, bytes: &[u8]) -> Option<u16> {
        let bytes = bytes.first_chunk::<2>()?;
        Some(match self.byte_order {
            ByteOrder::Little => u16::from_le_bytes(*bytes),
            ByteOrder::Big => u16::from_be_bytes(*bytes),
        })
    }

    pub(crate) fn endian(self) -> Endianness {
        match self.byte_order {
            ByteOrder::Little => Endianness::Little,
            ByteOrder::Big => Endianness::Big,
        }
    }
}

/// A record of fixed size in a [`Table`].
pub trait TableRecord: Sized {
    /// Size of one record in bytes.
    fn size(class: Class) -> usize;

    /// Decodes a record from exactly [`TableRecord::size`] bytes; `None` for another length.
    fn decode(bytes: &[u8], encoding: Encoding) -> Option<Self>;
}

/// Reads a record in the format's own layout; `None` if `bytes` is too short.
pub(crate) fn raw<T: Pod>(bytes: &[u8]) -> Option<&T> {
    pod::from_bytes(bytes).ok().map(|(record, _)| record)
}

/// Consecutive records of one kind, read in place in the file.
#[derive(Debug)]
pub struct Table<'data, R> {
    bytes: &'data [u8],
    file_offset: FileOffset,
    encoding: Encoding,
    record: PhantomData<R>,
}

// Not derived: a table is `Copy` whatever its record type.
impl<R> Clone for Table<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<'_, R> {}

impl<'data, R: TableRecord> Table<'data, R> {
    /// The table in `bytes`, which begin at `file_offset` in the file. An incomplete record at the end is ignored.
    pub fn new(bytes: &'data [u8], file_offset: FileOffset, encoding: Encoding) -> Self {
        Self { bytes, file_offset, encoding, record: PhantomData }
    }

    /// An empty table.
    pub fn empty(encoding: Encoding) -> Self {
        Self::new(&[], FileOffset(0), encoding)
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.bytes.len().checked_div(self.record_size()).unwrap_or(0)
    }

    /// Whether there is no complete record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size of one record in bytes, never 0.
    pub fn record_size(&self) -> usize {
        R::size(self.encoding.class).max(1)
    }

    /// The record at `index`, from 0.
    pub fn get(&self, index: usize) -> Option<R> {
        let start = index.checked_mul(self.record_size())?;
        R::decode(self.bytes.get(start..start.checked_add(self.record_size())?)?, self.encoding)
    }

    /// All records in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = R> + use<'data, R> {
        let encoding = self.encoding;
        // `decode` is given exactly one record's bytes, so nothing is filtered out.
        self.bytes.chunks_exact(self.record_size()).filter_map(move |bytes| R::decode(bytes, encoding))
    }

    /// File offset of the record at `index`.
    pub fn offset_of(&self, index: usize) -> FileOffset {
        let bytes = (index as u64).saturating_mul(self.record_size() as u64);
        FileOffset(self.file_offset.0.saturating_add(bytes))
    }

    /// File offset of the table.
    pub fn file_offset(&self) -> FileOffset {
        self.file_offset
    }

    /// The table's bytes as they are in the file.
    pub fn bytes(&self) -> &'data [u8] {
        self.bytes
    }

    /// How its records are written.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
}
