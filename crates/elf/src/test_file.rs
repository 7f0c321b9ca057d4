//! Small ELF files for unit tests, built byte by byte in any encoding: one loaded segment, with tables and the
//! dynamic table.
//!
//! A compiler builds files for one architecture only. These cover class, byte order and errors that no linker makes.

use crate::encoding::{ByteOrder, Class, Encoding};

/// Where the segment begins in memory; in the file it begins at 0.
const BASE: u64 = 0x1_0000;
/// Room for the ELF header and the program headers.
const HEADERS: usize = 0x400;
const ALIGNMENT: usize = 16;

/// A file under construction.
pub(crate) struct TestFile {
    encoding: Encoding,
    bytes: Vec<u8>,
    /// Type, offset, address, size and alignment of further program headers.
    segments: Vec<(u32, u64, u64, u64, u64)>,
}

impl TestFile {
    pub(crate) fn new(encoding: Encoding) -> Self {
        Self { encoding, bytes: vec![0; HEADERS], segments: Vec::new() }
    }

    /// Appends a table and gives its address.
    pub(crate) fn add(&mut self, table: &[u8]) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
        let address = BASE + self.bytes.len() as u64;
        self.bytes.extend(table);
        address
    }

    /// Appends a table with a program header of its own, and gives its address.
    pub(crate) fn add_segment(&mut self, kind: u32, table: &[u8], alignment: u64) -> u64 {
        let address = self.add(table);
        self.segments.push((kind, address - BASE, address, table.len() as u64, alignment));
        address
    }

    /// Size in bytes so far.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Gives the table that was appended last another program header.
    pub(crate) fn repeat_last_segment(&mut self) {
        self.segments.extend(self.segments.last().copied());
    }

    /// The finished file, with a dynamic table of these tags and values.
    pub(crate) fn finish(mut self, dynamic: &[(u64, u64)]) -> Vec<u8> {
        let entries = dynamic.iter().copied().chain([(0, 0)]);
        let table: Vec<u8> = entries.flat_map(|(tag, value)| [self.word(tag), self.word(value)].concat()).collect();
        self.add_segment(2, &table, 8);
        let size = self.bytes.len() as u64;
        self.segments.push((1, 0, BASE, size, 0x1000));
        let (header, headers) = (self.header(), self.program_headers());
        assert!(header.len() + headers.len() <= HEADERS);
        self.bytes[..header.len()].copy_from_slice(&header);
        self.bytes[header.len()..][..headers.len()].copy_from_slice(&headers);
        self.bytes
    }

    pub(crate) fn u16_bytes(&self, value: u16) -> [u8; 2] {
        match self.encoding.byte_order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    pub(crate) fn u32_bytes(&self, value: u32) -> [u8; 4] {
        match self.encoding.byte_order {
            ByteOrder::Little => value.to_le_bytes(),
            ByteOrder::Big => value.to_be_bytes(),
        }
    }

    /// An address or another number of the class's width.
    pub(crate) fn word(&self, value: u64) -> Vec<u8> {
        match (self.encoding.class, self.encoding.byte_order) {
            (Class::Elf32, _) => self.u32_bytes(value as u32).to_vec(),
            (Class::Elf64, ByteOrder::Little) => value.to_le_bytes().to_vec(),
            (Class::Elf64, ByteOrder::Big) => value.to_be_bytes().to_vec(),
        }
    }

    fn header(&self) -> Vec<u8> {
        let (class, header_size, entry_size) = match self.encoding.class {
            Class::Elf32 => (1, 52, 32),
            Class::Elf64 => (2, 64, 56),
        };
        let order = if self.encoding.byte_order == ByteOrder::Little { 1 } else { 2 };
        let mut header = vec![0x7f, b'E', b'L', b'F', class, order, 1];
        header.resize(16, 0);
        // A shared object.
        header.extend(self.u16_bytes(3));
        header.extend(self.u16_bytes(self.encoding.machine));
        header.extend(self.u32_bytes(1));
        for word in [0, header_size, 0] {
            header.extend(self.word(word));
        }
        header.extend(self.u32_bytes(0));
        for half in [header_size as u16, entry_size, self.segments.len() as u16, 0, 0, 0] {
            header.extend(self.u16_bytes(half));
        }
        header
    }

    fn program_headers(&self) -> Vec<u8> {
        let mut headers = Vec::new();
        for (kind, offset, address, size, alignment) in &self.segments {
            headers.extend(self.u32_bytes(*kind));
            if self.encoding.class == Class::Elf64 {
                headers.extend(self.u32_bytes(4));
            }
            for word in [offset, address, address, size, size] {
                headers.extend(self.word(*word));
            }
            if self.encoding.class == Class::Elf32 {
                headers.extend(self.u32_bytes(4));
            }
            headers.extend(self.word(*alignment));
        }
        headers
    }
}
