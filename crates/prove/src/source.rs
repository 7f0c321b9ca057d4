//! A file's bytes, with a function to release their memory.

use std::fmt;
use std::ops::Range;

/// The bytes of a file that is mapped or in memory.
///
/// The writer and the proof process files of hundreds of megabytes once from front to end. Processed parts can be
/// released to the kernel, so that two mapped files do not count twice as the process's memory.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// All bytes of the file.
    pub bytes: &'a [u8],
    /// Called with ranges that will not be read again soon. May do nothing.
    pub release: &'a (dyn Fn(Range<usize>) + Sync),
}

impl<'a> Source<'a> {
    /// Bytes that stay in memory.
    pub fn in_memory(bytes: &'a [u8]) -> Self {
        Self { bytes, release: &|_| {} }
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Source({} bytes)", self.bytes.len())
    }
}
