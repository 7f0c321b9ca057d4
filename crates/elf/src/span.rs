//! Ranges of file offsets and addresses, with checked arithmetic.
//!
//! A sum that wraps or saturates gives a plausible wrong position later on. So positions are added, subtracted and
//! aligned here, and overflow is an error with the position in it.

use std::fmt::{self, Debug};

use crate::address::{FileOffset, Vaddr};
use crate::{SectionHeader, Segment};

/// Why a position or a range cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PositionError {
    /// It would overflow.
    #[error("{bytes} bytes from {kind} {start:#x} exceed the largest {kind}")]
    Overflow {
        /// `file offset` or `address`.
        kind: &'static str,
        /// Start of the range.
        start: u64,
        /// Its size.
        bytes: u64,
    },
    /// It would end before it starts, or before position 0.
    #[error("{kind} {end:#x} is before {start:#x}")]
    Backwards {
        /// `file offset` or `address`.
        kind: &'static str,
        /// Start of the range.
        start: u64,
        /// Its end.
        end: u64,
    },
}

/// A position counted in bytes: [`FileOffset`] or [`Vaddr`].
pub trait Position: Copy + Ord + Debug {
    /// Its kind, for messages.
    const KIND: &'static str;

    /// The position with this number.
    fn at(number: u64) -> Self;

    /// Its number.
    fn number(self) -> u64;

    /// The position `bytes` further on.
    ///
    /// # Errors
    /// On overflow.
    fn plus(self, bytes: u64) -> Result<Self, PositionError> {
        let error = PositionError::Overflow { kind: Self::KIND, start: self.number(), bytes };
        self.number().checked_add(bytes).map(Self::at).ok_or(error)
    }

    /// The position `bytes` before.
    ///
    /// # Errors
    /// If it would be negative.
    fn minus(self, bytes: u64) -> Result<Self, PositionError> {
        let error = PositionError::Backwards { kind: Self::KIND, start: bytes, end: self.number() };
        self.number().checked_sub(bytes).map(Self::at).ok_or(error)
    }

    /// Distance from `earlier`, in bytes.
    ///
    /// # Errors
    /// If `earlier` is greater.
    fn since(self, earlier: Self) -> Result<u64, PositionError> {
        let error = PositionError::Backwards { kind: Self::KIND, start: earlier.number(), end: self.number() };
        self.number().checked_sub(earlier.number()).ok_or(error)
    }

    /// The next multiple of an alignment; 0 and 1 align to nothing.
    ///
    /// # Errors
    /// On overflow.
    fn aligned_up(self, alignment: u64) -> Result<Self, PositionError> {
        let error = PositionError::Overflow { kind: Self::KIND, start: self.number(), bytes: alignment };
        self.number().checked_next_multiple_of(alignment.max(1)).map(Self::at).ok_or(error)
    }

    /// The last multiple of an alignment that is not greater; 0 and 1 align to nothing.
    fn aligned_down(self, alignment: u64) -> Self {
        let beyond = self.number().checked_rem(alignment.max(1)).unwrap_or(0);
        // Never greater than the number itself.
        Self::at(self.number().wrapping_sub(beyond))
    }
}

impl Position for FileOffset {
    const KIND: &'static str = "file offset";

    fn at(number: u64) -> Self {
        Self(number)
    }

    fn number(self) -> u64 {
        self.0
    }
}

impl Position for Vaddr {
    const KIND: &'static str = "address";

    fn at(number: u64) -> Self {
        Self(number)
    }

    fn number(self) -> u64 {
        self.0
    }
}

/// A range of bytes: start inclusive, end exclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span<P> {
    start: P,
    end: P,
}

/// A range of a file.
pub type FileSpan = Span<FileOffset>;

/// A range of addresses, before the load bias is added.
pub type VaddrSpan = Span<Vaddr>;

impl<P: Position> Span<P> {
    /// `size` bytes from `start`.
    ///
    /// # Errors
    /// On overflow.
    pub fn new(start: P, size: u64) -> Result<Self, PositionError> {
        Ok(Self { start, end: start.plus(size)? })
    }

    /// From `start` up to `end`, exclusive.
    ///
    /// # Errors
    /// If `end` is before `start`.
    pub fn between(start: P, end: P) -> Result<Self, PositionError> {
        end.since(start)?;
        Ok(Self { start, end })
    }

    /// The first `size` bytes.
    pub fn first(size: u64) -> Self {
        Self { start: P::at(0), end: P::at(size) }
    }

    /// The smallest range around all spans; `None` for no spans.
    pub fn around(spans: impl IntoIterator<Item = Self>) -> Option<Self> {
        spans.into_iter().reduce(|one, other| Self { start: one.start.min(other.start), end: one.end.max(other.end) })
    }

    /// Both as one range; `None` if `next` does not begin at the end of this one.
    pub fn followed_by(&self, next: &Self) -> Option<Self> {
        (self.end == next.start).then_some(Self { start: self.start, end: next.end })
    }

    /// The first position.
    pub fn start(&self) -> P {
        self.start
    }

    /// The end, exclusive.
    pub fn end(&self) -> P {
        self.end
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        // The end is never before the start.
        self.end.number().wrapping_sub(self.start.number())
    }

    /// Whether its size is 0.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether it contains a position.
    pub fn contains(&self, place: P) -> bool {
        self.start <= place && place < self.end
    }

    /// Whether the ranges overlap. An empty span inside another counts, one at its edge does not.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Sort key: by start, then by end.
    pub fn key(&self) -> (P, P) {
        (self.start, self.end)
    }
}

impl<P: fmt::Display> fmt::Display for Span<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.start, self.end)
    }
}

impl Segment {
    /// Its range in the file.
    ///
    /// # Errors
    /// On overflow.
    pub fn file_span(&self) -> Result<FileSpan, PositionError> {
        Span::new(self.offset, self.file_size)
    }

    /// Its range in memory.
    ///
    /// # Errors
    /// On overflow.
    pub fn memory_span(&self) -> Result<VaddrSpan, PositionError> {
        Span::new(self.address, self.memory_size)
    }
}

impl SectionHeader {
    /// Its range in the file; empty for `SHT_NOBITS`.
    ///
    /// # Errors
    /// On overflow.
    pub fn file_span(&self) -> Result<FileSpan, PositionError> {
        Span::new(self.offset, self.file_size())
    }

    /// Its range of addresses.
    ///
    /// # Errors
    /// On overflow.
    pub fn memory_span(&self) -> Result<VaddrSpan, PositionError> {
        Span::new(self.address, self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_cannot_be_are_errors_with_the_place() {
        let last = FileOffset(u64::MAX - 3);
        assert_eq!(last.plus(3), Ok(FileOffset(u64::MAX)));
        assert_eq!(
            last.plus(4).unwrap_err().to_string(),
            "4 bytes from file offset 0xfffffffffffffffc exceed the largest file offset"
        );
        assert_eq!(Vaddr(0x10).since(Vaddr(0x20)).unwrap_err().to_string(), "address 0x10 is before 0x20");
        assert!(FileSpan::new(last, 4).is_err() && FileSpan::between(FileOffset(2), FileOffset(1)).is_err());
        assert!(last.aligned_up(8).is_err() && Vaddr(3).minus(4).is_err());
    }

    #[test]
    fn places_are_aligned() {
        let aligned = |number: u64, alignment| {
            (Vaddr(number).aligned_down(alignment).0, Vaddr(number).aligned_up(alignment).unwrap().0)
        };
        assert_eq!(
            [aligned(13, 8), aligned(16, 8), aligned(13, 0), aligned(13, 1)],
            [(8, 16), (16, 16), (13, 13), (13, 13)]
        );
    }

    #[test]
    fn spans_have_sizes_and_neighbours() {
        let span = |start, end| FileSpan::between(FileOffset(start), FileOffset(end)).unwrap();
        assert_eq!((span(3, 8).size(), span(3, 3).is_empty(), FileSpan::first(5)), (5, true, span(0, 5)));
        assert!(span(3, 8).overlaps(&span(7, 9)) && !span(3, 8).overlaps(&span(8, 9)));
        assert!(span(3, 8).contains(FileOffset(3)) && !span(3, 8).contains(FileOffset(8)));
        assert_eq!(FileSpan::around([span(5, 6), span(1, 2)]), Some(span(1, 6)));
        assert_eq!(FileSpan::around([]), None);
    }
}
