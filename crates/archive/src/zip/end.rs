//! The records at the end of a zip file, by which everything else is found.

use std::ops::Range;

use super::ZipLayout;
use super::error::ZipError;
use crate::fields::{u16_at, u32_at, u64_at};

pub(super) const END: &[u8; 4] = b"PK\x05\x06";
pub(super) const END_LENGTH: usize = 22;
const WIDE_END: &[u8; 4] = b"PK\x06\x06";
const WIDE_END_LENGTH: usize = 56;
const LOCATOR: &[u8; 4] = b"PK\x06\x07";
const LOCATOR_LENGTH: usize = 20;
pub(super) const CENTRAL: &[u8; 4] = b"PK\x01\x02";

/// The end record, and the larger one in front of it.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// The end record without its comment.
    pub(super) record: Range<usize>,
    pub(super) comment: Range<usize>,
    /// The zip64 end record and its locator, one behind the other.
    pub(super) wide: Option<Wide>,
    pub(super) count: u64,
    pub(super) size: u64,
    /// The offset of the directory as recorded.
    pub(super) offset: u64,
}

/// The zip64 end record and its locator.
type Wide = (Range<usize>, Range<usize>);

/// The place of the central directory.
pub(super) struct Directory {
    pub(super) range: Range<usize>,
    pub(super) base: usize,
    pub(super) layout: ZipLayout,
}

/// Whether these bytes are at this place.
pub(super) fn stands(bytes: &[u8], at: usize, wanted: &[u8]) -> bool {
    bytes.get(at..).is_some_and(|rest| rest.starts_with(wanted))
}

/// Finds the end record: the last one whose comment ends with the file.
pub(super) fn find_end(bytes: &[u8]) -> Result<End, ZipError> {
    let last = bytes.len().checked_sub(END_LENGTH).ok_or(ZipError::NotZip)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let mut trailing = None;
    for at in (first..=last).rev().filter(|at| stands(bytes, *at, END)) {
        let comment = at.saturating_add(END_LENGTH)..bytes.len();
        let length = u16_at(bytes, at.saturating_add(20)).map(usize::from).unwrap_or_default();
        if length == comment.len() {
            return read_end(bytes, at, comment);
        }
        trailing = trailing.or(comment.len().checked_sub(length).map(|count| ZipError::TrailingBytes { at, count }));
    }
    Err(trailing.unwrap_or(ZipError::NotZip))
}

fn read_end(bytes: &[u8], at: usize, comment: Range<usize>) -> Result<End, ZipError> {
    let short = |from: usize| u16_at(bytes, at.saturating_add(from)).map(u64::from).ok_or(ZipError::NotZip);
    let long = |from: usize| u32_at(bytes, at.saturating_add(from)).map(u64::from).ok_or(ZipError::NotZip);
    let (disk, first_disk, on_disk, count) = (short(4)?, short(6)?, short(8)?, short(10)?);
    let (size, offset) = (long(12)?, long(16)?);
    let mut end = End { record: at..comment.start, comment, wide: None, count, size, offset };
    let Some((wide, locator)) = wide_end(bytes, at)? else {
        if (disk, first_disk) != (0, 0) || on_disk != count {
            return Err(ZipError::Volumes);
        }
        return Ok(end);
    };
    let contradiction = ZipError::Contradiction { at };
    let field = |from: usize| u64_at(bytes, wide.start.saturating_add(from)).ok_or(contradiction.clone());
    let (on_disk, count, size, offset) = (field(24)?, field(32)?, field(40)?, field(48)?);
    if on_disk != count || field(16)? != 0 {
        return Err(ZipError::Volumes);
    }
    // A field of the small record is either all ones or says the same.
    let agree = |small: u64, most: u64, large: u64| small == most || small == large;
    if !(agree(end.count, 0xffff, count)
        && agree(end.size, 0xffff_ffff, size)
        && agree(end.offset, 0xffff_ffff, offset))
    {
        return Err(contradiction);
    }
    (end.count, end.size, end.offset, end.wide) = (count, size, offset, Some((wide, locator)));
    Ok(end)
}

/// The zip64 end record and its locator in front of the end record at `at`.
fn wide_end(bytes: &[u8], at: usize) -> Result<Option<Wide>, ZipError> {
    let Some(locator) = at.checked_sub(LOCATOR_LENGTH).filter(|locator| stands(bytes, *locator, LOCATOR)) else {
        return Ok(None);
    };
    let contradiction = || ZipError::Contradiction { at };
    if u32_at(bytes, locator.saturating_add(16)).is_none_or(|volumes| volumes > 1) {
        return Err(ZipError::Volumes);
    }
    let recorded = u64_at(bytes, locator.saturating_add(8)).and_then(|offset| usize::try_from(offset).ok());
    // With a prefix that was put in front later, the recorded offset is too small.
    let places = [recorded, locator.checked_sub(WIDE_END_LENGTH)];
    let is_it = |start: &usize| {
        stands(bytes, *start, WIDE_END)
            && u64_at(bytes, start.saturating_add(4))
                .and_then(|size| usize::try_from(size).ok()?.checked_add(12)?.checked_add(*start))
                .is_some_and(|end| end == locator)
            && locator.saturating_sub(*start) >= WIDE_END_LENGTH
    };
    let start = places.into_iter().flatten().find(is_it).ok_or_else(contradiction)?;
    Ok(Some((start..locator, locator..at)))
}

impl End {
    /// Where the first end record starts.
    pub(super) fn start(&self) -> usize {
        self.wide.as_ref().map_or(self.record.start, |(wide, _)| wide.start)
    }

    /// Finds the central directory.
    pub(super) fn directory(&self, bytes: &[u8]) -> Result<Directory, ZipError> {
        let missing = || ZipError::NoDirectory { at: self.offset, end: self.record.start };
        let offset = usize::try_from(self.offset).map_err(|_| missing())?;
        let size = usize::try_from(self.size).map_err(|_| missing())?;
        let end = self.start();
        let recorded_end = offset.checked_add(size).ok_or_else(missing)?;
        if recorded_end == end {
            return Ok(Directory { range: offset..end, base: 0, layout: ZipLayout::Plain });
        }
        let own = bytes.get(self.record.start..self.comment.end).unwrap_or_default();
        if offset == 4 && self.wide.is_none() && stands(bytes, 4, CENTRAL) && stands(bytes, recorded_end, own) {
            return Ok(Directory { range: 4..recorded_end, base: 0, layout: ZipLayout::Mozilla });
        }
        let start = end.checked_sub(size).filter(|start| size == 0 || stands(bytes, *start, CENTRAL));
        let start = start.ok_or_else(missing)?;
        let base = start.checked_sub(offset).ok_or_else(missing)?;
        Ok(Directory { range: start..end, base, layout: ZipLayout::Plain })
    }
}
