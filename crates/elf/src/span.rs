//! Ranges of places, and sums of places, that are right or an error with the place.
//!
//! A sum that wraps, or stops at the largest number, is a plausible wrong place further on. So places are added, subtracted
//! and aligned here, and whoever cannot go on without the result gets an error to hand up.

use std::fmt::{self, Debug};

use crate::address::{FileOffset, Vaddr};
use crate::{SectionHeader, Segment};

/// Why a place or a range of places cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// It would be behind the largest number.
    #[error("{bytes} bytes from {kind} {start:#x} reach past the largest {kind}")]
    Overflow {
        /// What kind of place: `file offset` or `address`.
        kind: &'static str,
        /// Where they begin.
        start: u64,
        /// How many bytes.
        bytes: u64,
    },
    /// It would end before it begins, or before the first place.
    #[error("{kind} {end:#x} is not behind {start:#x}")]
    Backwards {
        /// What kind of place.
        kind: &'static str,
        /// Where it would begin.
        start: u64,
        /// Where it would end.
        end: u64,
    },
}

/// A place that can be counted in bytes: [`FileOffset`] or [`Vaddr`].
pub trait Place: Copy + Ord + Debug {
    /// What kind of place it is, for messages.
    const KIND: &'static str;

    /// The place with this number.
    fn at(number: u64) -> Self;

    /// Its number.
    fn number(self) -> u64;

    /// The place `bytes` further on.
    ///
    /// # Errors
    /// Past the largest place.
    fn plus(self, bytes: u64) -> Result<Self, PlaceError> {
        let error = PlaceError::Overflow { kind: Self::KIND, start: self.number(), bytes };
        self.number().checked_add(bytes).map(Self::at).ok_or(error)
    }

    /// The place `bytes` before.
    ///
    /// # Errors
    /// Before the first place.
    fn minus(self, bytes: u64) -> Result<Self, PlaceError> {
        let error = PlaceError::Backwards { kind: Self::KIND, start: bytes, end: self.number() };
        self.number().checked_sub(bytes).map(Self::at).ok_or(error)
    }

    /// How many bytes it is behind `earlier`.
    ///
    /// # Errors
    /// If it is before that.
    fn since(self, earlier: Self) -> Result<u64, PlaceError> {
        let error = PlaceError::Backwards { kind: Self::KIND, start: earlier.number(), end: self.number() };
        self.number().checked_sub(earlier.number()).ok_or(error)
    }

    /// The next place that is a multiple of an alignment; 0 and 1 align to nothing.
    ///
    /// # Errors
    /// Past the largest place.
    fn aligned_up(self, alignment: u64) -> Result<Self, PlaceError> {
        let error = PlaceError::Overflow { kind: Self::KIND, start: self.number(), bytes: alignment };
        self.number().checked_next_multiple_of(alignment.max(1)).map(Self::at).ok_or(error)
    }

    /// The last place that is a multiple of an alignment and not behind this one; 0 and 1 align to nothing.
    fn aligned_down(self, alignment: u64) -> Self {
        let beyond = self.number().checked_rem(alignment.max(1)).unwrap_or(0);
        // No more than the number itself.
        Self::at(self.number().wrapping_sub(beyond))
    }
}

impl Place for FileOffset {
    const KIND: &'static str = "file offset";

    fn at(number: u64) -> Self {
        Self(number)
    }

    fn number(self) -> u64 {
        self.0
    }
}

impl Place for Vaddr {
    const KIND: &'static str = "address";

    fn at(number: u64) -> Self {
        Self(number)
    }

    fn number(self) -> u64 {
        self.0
    }
}

/// Bytes from one place up to another that is not before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span<P> {
    start: P,
    end: P,
}

/// A range of a file.
pub type FileSpan = Span<FileOffset>;

/// A range of memory, before the load bias is added.
pub type VaddrSpan = Span<Vaddr>;

impl<P: Place> Span<P> {
    /// `size` bytes from `start`.
    ///
    /// # Errors
    /// If they reach past the largest place.
    pub fn new(start: P, size: u64) -> Result<Self, PlaceError> {
        Ok(Self { start, end: start.plus(size)? })
    }

    /// From `start` up to `end`, which is not part of it.
    ///
    /// # Errors
    /// If `end` is before `start`.
    pub fn between(start: P, end: P) -> Result<Self, PlaceError> {
        end.since(start)?;
        Ok(Self { start, end })
    }

    /// The first `size` places.
    pub fn first(size: u64) -> Self {
        Self { start: P::at(0), end: P::at(size) }
    }

    /// From the first of some spans' starts to the last of their ends; `None` for no spans.
    pub fn around(spans: impl IntoIterator<Item = Self>) -> Option<Self> {
        spans.into_iter().reduce(|one, other| Self { start: one.start.min(other.start), end: one.end.max(other.end) })
    }

    /// Both as one; `None` if `next` does not begin where this ends.
    pub fn followed_by(&self, next: &Self) -> Option<Self> {
        (self.end == next.start).then_some(Self { start: self.start, end: next.end })
    }

    /// The first place.
    pub fn start(&self) -> P {
        self.start
    }

    /// The first place behind it.
    pub fn end(&self) -> P {
        self.end
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        // Never backwards.
        self.end.number().wrapping_sub(self.start.number())
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Whether a place is one of it.
    pub fn contains(&self, place: P) -> bool {
        self.start <= place && place < self.end
    }

    /// Whether both have a place in common. An empty span within another counts, one at its edge does not.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// Its order among others: by its start, then by its end.
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
    /// Where its bytes are in the file.
    ///
    /// # Errors
    /// If they reach past the largest offset.
    pub fn file_span(&self) -> Result<FileSpan, PlaceError> {
        Span::new(self.offset, self.file_size)
    }

    /// The memory that it is mapped to.
    ///
    /// # Errors
    /// If it reaches past the largest address.
    pub fn memory_span(&self) -> Result<VaddrSpan, PlaceError> {
        Span::new(self.address, self.memory_size)
    }
}

impl SectionHeader {
    /// Where its bytes are in the file; empty for zeros.
    ///
    /// # Errors
    /// If they reach past the largest offset.
    pub fn file_span(&self) -> Result<FileSpan, PlaceError> {
        Span::new(self.offset, self.file_size())
    }

    /// Its addresses.
    ///
    /// # Errors
    /// If they reach past the largest address.
    pub fn memory_span(&self) -> Result<VaddrSpan, PlaceError> {
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
            "4 bytes from file offset 0xfffffffffffffffc reach past the largest file offset"
        );
        assert_eq!(Vaddr(0x10).since(Vaddr(0x20)).unwrap_err().to_string(), "address 0x10 is not behind 0x20");
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
