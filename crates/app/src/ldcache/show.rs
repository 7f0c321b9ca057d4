//! The contents of a cache.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_loader::cache::{CacheEntry, CacheFormat, EntryHwcap, LdSoCache};
use coldstart_profile::JsonPath;
use coldstart_profile::pattern::fits;
use serde::Serialize;

use super::{ShownPath, read_cache, read_file};
use crate::error::AppError;
use crate::text::harmless;

/// A cache, and the selected entries.
#[derive(Debug, Serialize)]
pub struct ShownCache {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    /// The format as text.
    pub format: &'static str,
    /// `little` or `big`.
    pub byte_order: &'static str,
    /// The program that wrote it.
    pub generator: Option<String>,
    /// The processor levels in it.
    pub hwcaps: Vec<String>,
    /// Number of all entries.
    pub entry_count: usize,
    /// The selected entries.
    pub entries: Vec<ShownEntry>,
}

/// An entry of a cache.
#[derive(Debug, Serialize)]
pub struct ShownEntry {
    /// The library name.
    pub name: String,
    /// The file's path.
    #[serde(flatten)]
    pub path: ShownPath,
    /// The flags as in the cache.
    pub flags: u32,
    /// The flags as `ldconfig -p` prints them.
    pub kind: String,
    /// The required processor; `None` for any.
    pub hwcap: Option<ShownHwcap>,
}

/// The required processor of an entry.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum ShownHwcap {
    /// A processor level.
    Level {
        /// The level's name, if the cache has it.
        level: Option<String>,
        /// The level's index in the cache.
        number: u32,
        /// The ISA level.
        isa_level: u32,
    },
    /// A capability mask.
    Bits {
        /// Hexadecimal.
        bits: String,
    },
}

/// Reads a cache, and selects the entries with names that match the pattern.
///
/// # Errors
/// If the file is not an undamaged cache, or cannot be read.
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

/// The output of `ldconfig -p` for a cache; empty for an empty file.
///
/// # Errors
/// If the file is not an undamaged cache, or cannot be read.
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
