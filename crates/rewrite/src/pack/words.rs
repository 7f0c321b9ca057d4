//! The relocated words: whether they are writable, and their values in the file.

use coldstart_elf::{ElfFile, FileOffset, Position, Segment, Vaddr, VaddrSpan};

/// Looks up words by address. Relocations are ordered, so the last segment usually contains the next word.
pub(super) struct Words<'file, 'data> {
    file: &'file ElfFile<'data>,
    last: Option<&'file Segment>,
}

impl<'file, 'data> Words<'file, 'data> {
    pub(super) fn new(file: &'file ElfFile<'data>) -> Self {
        Self { file, last: None }
    }

    /// Whether all bytes of the word at `address` are in one writable segment.
    pub(super) fn is_writable(&mut self, address: Vaddr) -> bool {
        let size = self.file.encoding().word_size();
        let holds = |segment: &Segment| {
            let ends = VaddrSpan::new(address, size).and_then(|word| Ok((word.end(), segment.memory_span()?.end())));
            ends.is_ok_and(|(word, segment)| word <= segment)
        };
        self.segment(address).is_some_and(|segment| segment.is_writable() && holds(segment))
    }

    /// File offset and value of the word at `address`; `None` without file bytes.
    pub(super) fn at(&mut self, address: Vaddr) -> Option<(FileOffset, u64)> {
        let size = self.file.encoding().word_size();
        let segment = self.segment(address)?;
        let distance = address.since(segment.address).ok()?;
        if distance.checked_add(size)? > segment.file_size {
            return None;
        }
        let offset = segment.offset.plus(distance).ok()?;
        let start = usize::try_from(offset.0).ok()?;
        let held = self.file.encoding().word(self.file.bytes().get(start..)?)?;
        Some((offset, held))
    }

    fn segment(&mut self, address: Vaddr) -> Option<&'file Segment> {
        if !self.last.is_some_and(|segment| segment.contains(address)) {
            self.last = self.file.segment_at(address);
        }
        self.last
    }
}
