//! The two kinds of position in an ELF file, file offset and virtual address, kept apart by type.
//!
//! Segments map one to the other, and they differ in nearly every file. Using one where the other is meant is the
//! classic bug of ELF tools; here it does not compile.

use std::fmt;

/// A file offset, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOffset(pub u64);

/// A virtual address before the load bias is added (`p_vaddr`, `sh_addr`, `r_offset`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vaddr(pub u64);

impl FileOffset {
    /// The offset `bytes` further on; `None` on overflow.
    pub fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }
}

impl Vaddr {
    /// The address `bytes` further on; `None` on overflow.
    pub fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }
}

impl fmt::Display for FileOffset {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}

impl fmt::Display for Vaddr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}
