//! Reads a zip file as it lies. Total: any bytes give an archive or an error.

use std::ops::Range;

use super::end::{CENTRAL, END_LENGTH, End, find_end, stands};
use super::error::ZipError;
use super::{ZipArchive, ZipEntry, ZipLayout};
use crate::fields::{u16_at, u32_at, u64_at};

pub(super) const CENTRAL_LENGTH: usize = 46;
const LOCAL: &[u8; 4] = b"PK\x03\x04";
const LOCAL_LENGTH: usize = 30;
const DESCRIPTOR: &[u8; 4] = b"PK\x07\x08";
/// The extra field for sizes and offsets of 64 bits.
pub(super) const WIDE_FIELD: u16 = 1;
const ALL_ONES: u64 = 0xffff_ffff;
/// Flag: checksum and sizes follow the data.
const HAS_DESCRIPTOR: u16 = 1 << 3;
/// Flag: headers are masked, as the directory is encrypted.
const IS_MASKED: u16 = 1 << 13;
/// At the end of an Android package's signatures, right in front of the directory.
const ANDROID_SIGNATURE: &[u8] = b"APK Sig Block 42";

/// A header of the central directory with what is needed to find its entry.
struct Central {
    entry: ZipEntry,
    crc: u32,
    compressed: u64,
    size: u64,
    offset: u64,
}

impl<'a> ZipArchive<'a> {
    /// Reads the directory and each local header. The data of entries is not looked at.
    ///
    /// # Errors
    /// If anything is not where it should be, is there twice, or belongs to no entry.
    pub fn read(bytes: &'a [u8]) -> Result<Self, ZipError> {
        let end = find_end(bytes)?;
        let directory = end.directory(bytes)?;
        let centrals = read_directory(bytes, &end, directory.range.clone())?;
        let mut order: Vec<usize> = (0..centrals.len()).collect();
        order.sort_by_key(|number| centrals.get(*number).map(|central| central.offset));
        // From where entries may lie, and up to where.
        let (floor, limit) = match directory.layout {
            ZipLayout::Plain => (0, directory.range.start),
            ZipLayout::Mozilla => {
                let front = END_LENGTH.saturating_add(end.comment.len());
                (directory.range.end.saturating_add(front), end.record.start)
            }
        };
        let starts: Vec<Option<usize>> = order
            .iter()
            .filter_map(|number| centrals.get(*number))
            .map(|central| usize::try_from(central.offset).ok()?.checked_add(directory.base))
            .collect();
        let first = starts.first().copied().flatten().unwrap_or(limit);
        let mut entries: Vec<Option<ZipEntry>> = vec![None; centrals.len()];
        let mut padding = 0usize;
        for (place, number) in order.iter().enumerate() {
            let Some(central) = centrals.get(*number) else { continue };
            let name = || shown(&central.entry.name);
            let damaged = || ZipError::DamagedEntry { name: name(), at: central.offset };
            let start = starts.get(place).copied().flatten().filter(|start| *start >= floor).ok_or_else(damaged)?;
            let bound = starts.get(place.saturating_add(1)).copied().flatten().unwrap_or(limit);
            let data_end = data_end(bytes, start, central).ok_or_else(damaged)?;
            if data_end > bound || bound > limit {
                return Err(ZipError::Overlap { name: name(), at: start });
            }
            let rest = bytes.get(data_end..bound).unwrap_or_default();
            let descriptor = descriptor_length(rest, central);
            let record_end = data_end.saturating_add(descriptor);
            padding = padding.saturating_add(zeros(bytes, record_end..bound)?);
            if let Some(place) = entries.get_mut(*number) {
                *place = Some(ZipEntry { record: start..record_end, ..central.entry.clone() });
            }
        }
        let prefix = match directory.layout {
            ZipLayout::Plain => 0..first,
            ZipLayout::Mozilla => {
                padding = padding.saturating_add(zeros(bytes, floor..first.max(floor))?);
                0..0
            }
        };
        Ok(Self {
            bytes,
            entries: entries.into_iter().flatten().collect(),
            layout: directory.layout,
            prefix,
            base: directory.base,
            directory: directory.range,
            end,
            padding,
        })
    }
}

/// Counts the bytes of a range in which there may be nothing but zeros.
fn zeros(bytes: &[u8], range: Range<usize>) -> Result<usize, ZipError> {
    let (at, count) = (range.start, range.len());
    let gap = bytes.get(range).unwrap_or_default();
    if gap.ends_with(ANDROID_SIGNATURE) {
        return Err(ZipError::Signed { what: "a signature block of Android covers the whole file".to_owned() });
    }
    match gap.iter().all(|byte| *byte == 0) {
        true => Ok(count),
        false => Err(ZipError::Stray { at, count }),
    }
}

fn read_directory(bytes: &[u8], end: &End, range: Range<usize>) -> Result<Vec<Central>, ZipError> {
    let mut centrals = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let number = centrals.len() as u64;
        if stands(bytes, at, b"PK\x05\x05") {
            return Err(ZipError::Signed { what: "the central directory has a digital signature".to_owned() });
        }
        let damaged = ZipError::DamagedDirectory { number, at };
        let header = bytes.get(at..range.end).and_then(read_central).ok_or(damaged)?;
        if header.entry.flags & IS_MASKED != 0 {
            return Err(ZipError::EncryptedDirectory);
        }
        let length = header.entry.central.len();
        let mut header = header;
        header.entry.central = at..at.saturating_add(length);
        at = at.saturating_add(length);
        centrals.push(header);
    }
    if centrals.len() as u64 != end.count {
        return Err(ZipError::DamagedDirectory { number: centrals.len() as u64, at });
    }
    Ok(centrals)
}

/// The header at the front of these bytes.
fn read_central(bytes: &[u8]) -> Option<Central> {
    if !bytes.starts_with(CENTRAL) {
        return None;
    }
    let long = |at| u32_at(bytes, at).map(u64::from);
    let length = |at| u16_at(bytes, at).map(usize::from);
    let name_end = CENTRAL_LENGTH.checked_add(length(28)?)?;
    let extra_end = name_end.checked_add(length(30)?)?;
    let whole = extra_end.checked_add(length(32)?)?;
    if whole > bytes.len() || u16_at(bytes, 34)? != 0 && u16_at(bytes, 34)? != u16::MAX {
        return None;
    }
    let (mut compressed, mut size, mut offset) = (long(20)?, long(24)?, long(42)?);
    let mut wide_offset = None;
    if let Some(field) = wide_field(bytes.get(..extra_end)?, name_end) {
        // In this order, and each only if its small field is all ones.
        let mut at = field.start;
        for (value, is_offset) in [(&mut size, false), (&mut compressed, false), (&mut offset, true)] {
            if *value == ALL_ONES && at.saturating_add(8) <= field.end {
                *value = u64_at(bytes, at)?;
                wide_offset = is_offset.then_some(at);
                at = at.saturating_add(8);
            }
        }
    }
    let entry = ZipEntry {
        name: bytes.get(CENTRAL_LENGTH..name_end)?.to_vec(),
        record: 0..0,
        method: u16_at(bytes, 10)?,
        flags: u16_at(bytes, 8)?,
        central: 0..whole,
        wide_offset,
    };
    Some(Central { entry, crc: u32_at(bytes, 16)?, compressed, size, offset })
}

/// The content of the extra field for large sizes among those that start at `at`.
pub(super) fn wide_field(bytes: &[u8], mut at: usize) -> Option<Range<usize>> {
    loop {
        let (kind, length) = (u16_at(bytes, at)?, usize::from(u16_at(bytes, at.checked_add(2)?)?));
        let start = at.checked_add(4)?;
        let end = start.checked_add(length).filter(|end| *end <= bytes.len())?;
        if kind == WIDE_FIELD {
            return Some(start..end);
        }
        at = end;
    }
}

/// Where the data of the entry ends whose local header is at `start`.
fn data_end(bytes: &[u8], start: usize, central: &Central) -> Option<usize> {
    let header = bytes.get(start..)?;
    if !header.starts_with(LOCAL) {
        return None;
    }
    let name_end = LOCAL_LENGTH.checked_add(usize::from(u16_at(header, 26)?))?;
    let extra = usize::from(u16_at(header, 28)?);
    if header.get(LOCAL_LENGTH..name_end)? != central.entry.name.as_slice()
        || u16_at(header, 8)? != central.entry.method
    {
        return None;
    }
    let end =
        start.checked_add(name_end)?.checked_add(extra)?.checked_add(usize::try_from(central.compressed).ok()?)?;
    (end <= bytes.len()).then_some(end)
}

/// The length of the data descriptor at the front of `rest`: with or without a signature, with sizes of 32 or 64 bits.
fn descriptor_length(rest: &[u8], central: &Central) -> usize {
    if central.entry.flags & HAS_DESCRIPTOR == 0 {
        return 0;
    }
    let fits = |length: usize| {
        let signed = if length.is_multiple_of(8) { 4 } else { 0 };
        let sizes = (length.saturating_sub(signed).saturating_sub(4)) / 2;
        let size_at = |at: usize| match sizes {
            4 => u32_at(rest, at).map(u64::from),
            _ => u64_at(rest, at),
        };
        (signed == 0 || rest.starts_with(DESCRIPTOR))
            && u32_at(rest, signed) == Some(central.crc)
            && size_at(signed.saturating_add(4)) == Some(central.compressed)
            && size_at(signed.saturating_add(4).saturating_add(sizes)) == Some(central.size)
    };
    // The longer one first: with sizes of zero, both fit.
    [24, 16, 20, 12].into_iter().find(|length| fits(*length)).unwrap_or(0)
}

/// A name as a message shows it.
pub(super) fn shown(name: &[u8]) -> String {
    name.escape_ascii().to_string()
}
