//! What a cache holds.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_loader::cache::{CacheEntry, CacheFormat, EntryHwcap, LdSoCache};
use coldstart_profile::JsonPath;
use coldstart_profile::pattern::fits;
use serde::Serialize;

use super::{ShownPath, read_cache, read_file};
use crate::error::AppError;
use crate::text::harmless;

/// A cache, and those of its entries that were asked for.
#[derive(Debug, Serialize)]
pub struct ShownCache {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    /// How the entries are stored, in words.
    pub format: &'static str,
    /// `little` or `big`.
    pub byte_order: &'static str,
    /// The program that wrote it.
    pub generator: Option<String>,
    /// The processor levels that it knows.
    pub hwcaps: Vec<String>,
    /// Number of entries, those that were not asked for included.
    pub entry_count: usize,
    /// The entries that were asked for.
    pub entries: Vec<ShownEntry>,
}

/// An entry of a cache.
#[derive(Debug, Serialize)]
pub struct ShownEntry {
    /// The name that is looked up.
    pub name: String,
    /// The file that it means.
    #[serde(flatten)]
    pub path: ShownPath,
    /// As they are in the cache.
    pub flags: u32,
    /// In the words of `ldconfig -p`.
    pub kind: String,
    /// The processor that it is for; none for any.
    pub hwcap: Option<ShownHwcap>,
}

/// The processor that an entry is for.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ShownHwcap {
    /// One of at least this level.
    Level {
        /// Its name, if the cache has it.
        level: Option<String>,
        /// Its number in the cache.
        number: u32,
        /// The level of the architecture's instruction set.
        isa_level: u32,
    },
    /// One with these capabilities.
    Bits {
        /// Hexadecimal.
        bits: String,
    },
}

/// Reads a cache, and those of its entries whose name fits the pattern.
///
/// # Errors
/// When the file is no whole cache, or cannot be read.
pub fn show(file: &Path, pattern: Option<&str>) -> Result<ShownCache, AppError> {
    let cache = read_cache(file)?;
    let is_wanted = |entry: &CacheEntry<'_>| pattern.is_none_or(|pattern| fits(pattern.as_bytes(), entry.name));
    Ok(ShownCache {
        action: "show",
        file: JsonPath::new(file),
        format: format_name(cache.format()),
        byte_order: if cache.big_endian() { "big" } else { "little" },
        generator: cache.generator().map(harmless),
        hwcaps: cache.hwcaps().map(harmless).collect(),
        entry_count: cache.entries().len(),
        entries: cache.entries().filter(is_wanted).map(|entry| shown(&cache, &entry)).collect(),
    })
}

/// What `ldconfig -p` prints of a cache: nothing for an empty file.
///
/// # Errors
/// When the file is no whole cache, or cannot be read.
pub fn as_ldconfig(file: &Path) -> Result<Vec<u8>, AppError> {
    if read_file(file)?.is_empty() {
        return Ok(Vec::new());
    }
    Ok(read_cache(file)?.describe_all(file.as_os_str().as_bytes()))
}

fn shown(cache: &LdSoCache, entry: &CacheEntry<'_>) -> ShownEntry {
    ShownEntry {
        name: harmless(entry.name),
        path: ShownPath::new(entry.path),
        flags: entry.flags,
        kind: harmless(&cache.describe_kind(entry)),
        hwcap: match entry.required() {
            EntryHwcap::Any => None,
            EntryHwcap::Level { index, isa_level } => {
                Some(ShownHwcap::Level { level: cache.level_name(entry).map(harmless), number: index, isa_level })
            }
            EntryHwcap::Bits(bits) => Some(ShownHwcap::Bits { bits: format!("{bits:#018x}") }),
        },
    }
}

fn format_name(format: CacheFormat) -> &'static str {
    match format {
        CacheFormat::New => "new format",
        CacheFormat::NewAfterOld => "old and new format",
        CacheFormat::Old => "old format",
    }
}
