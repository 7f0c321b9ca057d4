//! Whether addresses are writable, for a million lookups.

use std::ops::Range;

use coldstart_elf::{ElfFile, Vaddr};

/// Whether addresses are writable. Neighbours are nearly always in the same segment, so the last one is checked
/// first.
#[derive(Debug)]
pub(crate) struct Writable<'file, 'data> {
    file: &'file ElfFile<'data>,
    known: Range<Vaddr>,
    is_writable: bool,
}

impl<'file, 'data> Writable<'file, 'data> {
    pub(crate) fn new(file: &'file ElfFile<'data>) -> Self {
        Self { file, known: Vaddr(0)..Vaddr(0), is_writable: false }
    }

    /// Whether the segment at `address` is writable; `None` for unmapped addresses.
    pub(crate) fn at(&mut self, address: Vaddr) -> Option<bool> {
        if !self.known.contains(&address) {
            let segment = self.file.segment_at(address)?;
            self.known = segment.address..segment.end();
            self.is_writable = segment.is_writable();
        }
        Some(self.is_writable)
    }
}
