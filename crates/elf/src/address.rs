//! The two ways to name a place in an ELF file, kept apart by type.
//!
//! Segments map one to the other, and they differ in nearly every file: using one where the other is meant is the classic
//! mistake of ELF tools, so it does not compile here.

use std::fmt;

/// A place in the file, in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileOffset(pub u64);

/// A place in memory before the load bias is added (`p_vaddr`, `sh_addr`, `r_offset`), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vaddr(pub u64);

impl FileOffset {
    /// The place `bytes` further on; `None` past the largest offset.
    pub fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }
}

impl Vaddr {
    /// The place `bytes` further on; `None` past the largest address.
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
