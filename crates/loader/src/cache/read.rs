//! Reading a cache's bytes (`struct cache_file`, `struct cache_file_new` in glibc's dl-cache.h).
//!
//! Input is hostile: every offset is checked, and no allocation exceeds what the file's size justifies.

use std::ffi::CStr;
use std::ops::Range;

use super::{CacheFormat, Characters, LdSoCache, Record};

const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const EXTENSION_MAGIC: u32 = 0xeaa4_2174;
/// Header sizes: the magic, padding, and the number of entries; the new one has five more words and flags.
const OLD_HEADER: usize = 16;
const NEW_HEADER: usize = 48;
const OLD_ENTRY: usize = 12;
const NEW_ENTRY: usize = 24;
/// `struct cache_extension_section`: tag, flags, offset, size.
const SECTION: usize = 16;
/// Limit on sections and levels.
const MOST_LEVELS: usize = 256;

/// Why bytes are not a loader cache. Offsets are from the beginning of the file, in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    /// No known magic number at the beginning.
    #[error("not a loader cache: neither \"glibc-ld.so.cache1.1\" nor \"ld.so-1.7.0\" at the beginning")]
    Magic,
    /// The file is truncated.
    #[error("the cache is truncated at {end:#x}, in its {what}")]
    Truncated {
        /// Size of the file.
        end: usize,
        /// The truncated part.
        what: &'static str,
    },
    /// A string is outside the file or not terminated.
    #[error("entry {entry} of the cache: the {what} at {offset:#x} is outside the file or unterminated")]
    Text {
        /// Number of the entry.
        entry: usize,
        /// "name" or "path".
        what: &'static str,
        /// Where the string should be.
        offset: u64,
    },
    /// The header marks the file invalid, as a writer does before it is finished.
    #[error("the cache's header marks it invalid")]
    Invalid,
    /// The section with processor levels is damaged; the loader would ignore it.
    #[error("the cache's extension section at {offset:#x} is damaged")]
    Extension {
        /// Its offset.
        offset: u64,
    },
    /// Binary search misses a name of the cache.
    #[error("binary search in the cache does not find `{}`", String::from_utf8_lossy(name))]
    Order {
        /// The name.
        name: Vec<u8>,
    },
}

/// Limit on reported damages; hostile files have millions.
const MOST_DAMAGES: usize = 200;

/// Collects damages, for callers that read on after the first one.
struct Damages {
    found: Vec<CacheError>,
    is_strict: bool,
}

impl Damages {
    /// Records a damage.
    ///
    /// # Errors
    /// The damage, if reading stops at the first one.
    fn add(&mut self, damage: CacheError) -> Result<(), CacheError> {
        if self.is_strict {
            return Err(damage);
        }
        if self.found.len() < MOST_DAMAGES {
            self.found.push(damage);
        }
        Ok(())
    }
}

impl LdSoCache {
    /// Reads a cache.
    ///
    /// Stricter than the loader, which checks only the entries it reads: one damaged entry is an error here.
    ///
    /// # Errors
    /// What is damaged and where.
    pub fn parse(bytes: &[u8]) -> Result<Self, CacheError> {
        Self::parse_owned(bytes.to_vec())
    }

    /// Like [`Self::parse`], without a copy of the bytes.
    ///
    /// # Errors
    /// What is damaged and where.
    pub fn parse_owned(bytes: Vec<u8>) -> Result<Self, CacheError> {
        let cache = read(&bytes, &mut Damages { found: Vec::new(), is_strict: true })?;
        Ok(Self { bytes: bytes.into(), ..cache })
    }

    /// Reads the intact parts of a cache and lists the first 200 damages.
    ///
    /// # Errors
    /// If the magic number is missing or the header is truncated.
    pub fn parse_damaged(bytes: &[u8]) -> Result<(Self, Vec<CacheError>), CacheError> {
        let mut damages = Damages { found: Vec::new(), is_strict: false };
        let cache = read(bytes, &mut damages)?;
        Ok((Self { bytes: bytes.into(), ..cache }, damages.found))
    }
}

/// Everything but the bytes themselves.
fn read(bytes: &[u8], damages: &mut Damages) -> Result<LdSoCache, CacheError> {
    let mut cache = read_entries(bytes, damages)?;
    cache.characters = Characters::of_flags(cache.records.iter().map(|record| record.flags));
    Ok(cache)
}

/// Whether bytes begin with a cache's magic number.
pub fn is_cache(bytes: &[u8]) -> bool {
    bytes.starts_with(NEW_MAGIC) || bytes.starts_with(OLD_MAGIC)
}

fn read_entries(bytes: &[u8], damages: &mut Damages) -> Result<LdSoCache, CacheError> {
    if bytes.starts_with(NEW_MAGIC) {
        return read_new(bytes, 0, CacheFormat::New, damages);
    }
    if !bytes.starts_with(OLD_MAGIC) {
        return Err(CacheError::Magic);
    }
    // The old format does not store its byte order; it follows from the new format after it or from the entry count.
    let little = number(bytes, 12, false);
    let big_endian = little.is_none_or(|count| !old_count_fits(bytes, count));
    let truncated = || CacheError::Truncated { end: bytes.len(), what: "old entries" };
    let count = number(bytes, 12, big_endian).ok_or_else(truncated)?;
    let mut count = count as usize;
    let room = bytes.len().saturating_sub(OLD_HEADER) / OLD_ENTRY;
    if count > room {
        damages.add(truncated())?;
        count = room;
    }
    let after = OLD_HEADER + count * OLD_ENTRY;
    let aligned = after.next_multiple_of(8);
    if bytes.get(aligned..).is_some_and(|rest| rest.starts_with(NEW_MAGIC)) {
        return read_new(bytes, aligned, CacheFormat::NewAfterOld, damages);
    }
    let mut cache = empty(CacheFormat::Old, big_endian);
    for entry in 0..count {
        let [flags, name, path] = numbers(bytes, OLD_HEADER + entry * OLD_ENTRY, big_endian).ok_or_else(truncated)?;
        let texts = both(text(bytes, after, name, entry, "name"), text(bytes, after, path, entry, "path"));
        match texts {
            Ok((name, path)) => cache.records.push(Record { flags, name, path, os_version: 0, hwcap: 0 }),
            Err(damage) => damages.add(damage)?,
        }
    }
    Ok(cache)
}

fn both<T>(first: Result<T, CacheError>, second: Result<T, CacheError>) -> Result<(T, T), CacheError> {
    Ok((first?, second?))
}

fn empty(format: CacheFormat, big_endian: bool) -> LdSoCache {
    LdSoCache {
        bytes: Box::default(),
        records: Vec::new(),
        hwcaps: Vec::new(),
        generator: None,
        format,
        big_endian,
        characters: Characters::default(),
    }
}

fn old_count_fits(bytes: &[u8], count: u32) -> bool {
    bytes.len().saturating_sub(OLD_HEADER) / OLD_ENTRY >= count as usize
}

/// Reads the new format at `base`; its offsets are relative to that.
fn read_new(bytes: &[u8], base: usize, format: CacheFormat, damages: &mut Damages) -> Result<LdSoCache, CacheError> {
    let truncated = |what| CacheError::Truncated { end: bytes.len(), what };
    let header = bytes.get(base..).and_then(|rest| rest.get(..NEW_HEADER)).ok_or(truncated("header"))?;
    // The low two bits of the flags are the byte order; writers before 2.33 omitted them.
    let big_endian = match header.get(28).map(|flags| flags & 3) {
        Some(3) => true,
        Some(1) => {
            damages.add(CacheError::Invalid)?;
            false
        }
        _ => false,
    };
    let [count, _strings] = numbers(header, NEW_MAGIC.len(), big_endian).ok_or(truncated("header"))?;
    let extension = number(header, 32, big_endian).ok_or(truncated("header"))?;
    let mut count = count as usize;
    let room = (bytes.len() - base - NEW_HEADER) / NEW_ENTRY;
    if room < count {
        damages.add(truncated("entries"))?;
        count = room;
    }
    let mut cache = empty(format, big_endian);
    cache.records.reserve_exact(count);
    for entry in 0..count {
        let place = base + NEW_HEADER + entry * NEW_ENTRY;
        let [flags, name, path, os_version, first, second] =
            numbers(bytes, place, big_endian).ok_or(truncated("entries"))?;
        let (low, high) = if big_endian { (second, first) } else { (first, second) };
        let hwcap = u64::from(high) << 32 | u64::from(low);
        match both(text(bytes, base, name, entry, "name"), text(bytes, base, path, entry, "path")) {
            Ok((name, path)) => cache.records.push(Record { flags, name, path, os_version, hwcap }),
            Err(damage) => damages.add(damage)?,
        }
    }
    if extension != 0 && read_extensions(&mut cache, bytes, extension as usize).is_none() {
        damages.add(CacheError::Extension { offset: u64::from(extension) })?;
    }
    Ok(cache)
}

/// Reads the extensions: the generator (tag 0) and the names of processor levels (tag 1). Their offsets are relative
/// to the file's beginning even where the new format follows the old one. (There, `ldconfig` 2.36 writes the levels'
/// names relative to the new part, so the loader finds none of its processor's among them.)
fn read_extensions(cache: &mut LdSoCache, bytes: &[u8], start: usize) -> Option<()> {
    let big_endian = cache.big_endian;
    if !start.is_multiple_of(4) {
        return None;
    }
    let [magic, count] = numbers(bytes, start, big_endian)?;
    let table = bytes.get(start.checked_add(8)?..)?;
    let count = count as usize;
    if magic != EXTENSION_MAGIC || count > MOST_LEVELS || table.len() / SECTION < count {
        return None;
    }
    for section in 0..count {
        let [tag, _flags, offset, size] = numbers(table, section * SECTION, big_endian)?;
        let offset = offset as usize;
        let place = offset..offset.checked_add(size as usize)?;
        let content = bytes.get(place.clone())?;
        match tag {
            0 => cache.generator = Some(place),
            // No processor has more than a handful of levels; a hostile section could repeat one long name endlessly.
            1 if !cache.hwcaps.is_empty() || content.len() > 4 * MOST_LEVELS => return None,
            1 if content.len().is_multiple_of(4) => {
                let names = content.len() / 4;
                let names = (0..names).map(|name| {
                    let offset = number(content, name * 4, big_endian)?;
                    text(bytes, 0, offset, 0, "name").ok()
                });
                cache.hwcaps = names.collect::<Option<Vec<_>>>()?;
            }
            // Unknown tags are for later loaders.
            _ => {}
        }
    }
    Some(())
}

/// The range of a zero-terminated string that begins `offset` bytes after `base`.
fn text(bytes: &[u8], base: usize, offset: u32, entry: usize, what: &'static str) -> Result<Range<usize>, CacheError> {
    // No path is longer than PATH_MAX, and the limit bounds the time for a million entries of one long string.
    const LONGEST: usize = 4096;
    let start = base.saturating_add(offset as usize);
    let rest = bytes.get(start..).unwrap_or_default();
    let rest = rest.get(..LONGEST).unwrap_or(rest);
    let string = CStr::from_bytes_until_nul(rest);
    let string = string.map_err(|_| CacheError::Text { entry, what, offset: start as u64 })?;
    Ok(start..start + string.count_bytes())
}

fn number(bytes: &[u8], offset: usize, big_endian: bool) -> Option<u32> {
    let raw = *bytes.get(offset..)?.first_chunk::<4>()?;
    Some(if big_endian { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
}

/// The first `N` numbers at an offset.
fn numbers<const N: usize>(bytes: &[u8], offset: usize, big_endian: bool) -> Option<[u32; N]> {
    let mut found = [0; N];
    for (index, slot) in found.iter_mut().enumerate() {
        *slot = number(bytes, offset.checked_add(index * 4)?, big_endian)?;
    }
    Some(found)
}
