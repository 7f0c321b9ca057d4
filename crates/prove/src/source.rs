//! A file's bytes, with a way to give their memory back.

use std::fmt;
use std::ops::Range;

/// The bytes of a file that is mapped or in memory.
///
/// Files of hundreds of megabytes go through the writer and the proof once from front to end; what is behind can be
/// given back to the kernel, so that two mapped files do not count twice as the process's memory.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// All bytes of the file.
    pub bytes: &'a [u8],
    /// Told of ranges that will not be looked at again soon. May do nothing.
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
