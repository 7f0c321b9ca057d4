//! The pass `lower-alignment`: segments that the linker aligned to more than a page of the machine, though nothing in them needs that.
//!
//! GNU ld for x86 aligned all segments to 2 MiB until binutils 2.31 made `-z separate-code` and pages of 4 KiB the default, and the libraries of
//! many Python wheels and older distributions are linked so. Then what follows the freed bytes can move by multiples of 2 MiB only.

use coldstart_elf::{ElfFile, Segment};

use crate::anatomy::PAGE;
use crate::refusal::Refusal;

/// `EM_386` and `EM_X86_64`.
const X86: [u16; 2] = [3, 62];

/// The alignments of load segments in the new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoadAlignment {
    /// Those of the original.
    Kept,
    /// At most this many bytes, a power of two of at least a page.
    AtMost(u64),
}

impl LoadAlignment {
    /// The least that the contents need.
    ///
    /// # Errors
    /// The machine's pages may be larger than 4 KiB, or no section tells what the contents need.
    pub(super) fn lowest(file: &ElfFile<'_>) -> Result<Self, Refusal> {
        // Other processors have kernels with pages of 16 and 64 KiB, whose loaders refuse segments with less.
        if !X86.contains(&file.encoding().machine) {
            return Err(Refusal::LargerPages);
        }
        // A segment's alignment is the largest of its sections' and the linker's page size (gABI, "Program Header").
        let loaded = file.sections().iter().map(|section| &section.header).filter(|header| header.is_loaded());
        let needed = loaded.map(|header| header.alignment).max().ok_or(Refusal::NoSections)?;
        Ok(Self::AtMost(needed.max(PAGE)))
    }

    /// The alignment of a segment.
    pub(super) fn of(self, segment: &Segment) -> u64 {
        match self {
            Self::Kept => segment.alignment,
            Self::AtMost(most) => segment.alignment.min(most),
        }
    }

    /// Whether it differs from the original's in any segment.
    pub(super) fn lowers(self, file: &ElfFile<'_>) -> bool {
        file.load_segments().any(|load| self.of(load) != load.alignment)
    }
}
