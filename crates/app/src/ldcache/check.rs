//! Checks of a cache: entries that a loader would not find, and changes since it was written.

use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_loader::cache::LdSoCache;
use coldstart_profile::{JsonPath, printable};
use coldstart_startup::cache::parent;
use serde::Serialize;

use super::check_files::compare_with_files;
use super::{ShownPath, levels, read_file};
use crate::error::{AppError, HintExt};
use crate::observer::Observer;
use crate::starting::open_root;
use crate::text::harmless;

/// A fault or a note.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// A stable name for scripts: `gone`, `soname`, `order`, ...
    pub kind: &'static str,
    /// Whether it is a fault, for exit code 1.
    pub is_fault: bool,
    /// The library name; `None` for the whole file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file.
    #[serde(flatten)]
    pub path: Option<ShownPath>,
    /// The problem as a clause.
    pub message: String,
}

/// What to check.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The cache, or an ELF file with a resolution note; a host path even with a sysroot.
    pub file: PathBuf,
    /// The root of the paths in it.
    pub sysroot: Option<PathBuf>,
    /// Required processor levels: `all`, `none`, or names.
    pub hwcaps: Vec<String>,
    /// Whether to skip checking the files.
    pub only_cache: bool,
}

/// The result of checking a cache or a note.
#[derive(Debug, Serialize)]
pub struct Checked {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    /// Number of entries, or of names in a note.
    pub entries: usize,
    /// Whether there are no faults.
    pub is_well: bool,
    /// All findings.
    pub findings: Vec<Finding>,
}

impl Checked {
    pub(super) fn new(file: &Path, entries: usize, findings: Vec<Finding>) -> Self {
        let is_well = !findings.iter().any(|finding| finding.is_fault);
        Self { action: "check", file: JsonPath::new(file), entries, is_well, findings }
    }
}

/// Finds entries of a cache that a loader would not find, and changes since it was written.
///
/// # Errors
/// If the file is not a cache or cannot be read, or the sysroot cannot be used.
pub fn check(options: &CheckOptions, observer: &dyn Observer) -> Result<Checked, AppError> {
    let levels = levels(&options.hwcaps)?;
    let bytes = read_file(&options.file)?;
    let (cache, damages) = LdSoCache::parse_damaged(&bytes)
        .with_context(|| format!("cannot check `{}`", printable(&options.file)))
        .hint(|| "name a file written by ldconfig or `coldstart ldcache write`")?;
    let mut findings: Vec<Finding> =
        damages.iter().map(|damage| Finding::of_whole("damaged", damage.to_string())).collect();
    look_at_order(&cache, &mut findings);
    if !options.only_cache {
        let root = open_root(options.sysroot.as_deref(), observer)?;
        compare_with_files(&cache, &root, levels.as_ref(), &mut findings);
    }
    Ok(Checked::new(&options.file, cache.entries().len(), findings))
}

/// Findings in the cache itself.
fn look_at_order(cache: &LdSoCache, findings: &mut Vec<Finding>) {
    for entry in cache.order_faults() {
        let message = "binary search does not find the name, because the entry is out of order".to_owned();
        findings.push(Finding::of("order", true, entry.name, entry.path, message));
    }
    for entry in cache.level_faults() {
        let message = "its processor level has no name in the cache".to_owned();
        findings.push(Finding::of("level", true, entry.name, entry.path, message));
    }
    for entry in cache.repeated() {
        findings.push(Finding::of("repeated", true, entry.name, entry.path, "duplicate entry".to_owned()));
    }
    for shadowed in cache.shadowed().filter(|shadowed| shadowed.entry.path != shadowed.by.path) {
        let (entry, by) = (shadowed.entry, shadowed.by);
        // A directory cannot contain two libraries with the same name, so `ldconfig` does not write such entries.
        let is_fault = entry.name != by.name || parent(entry.path) == parent(by.path);
        let message = format!("shadowed by `{}`", harmless(by.path));
        findings.push(Finding::of("hidden", is_fault, entry.name, entry.path, message));
    }
}

impl Finding {
    /// A fault of the whole file.
    pub(super) fn of_whole(kind: &'static str, message: String) -> Self {
        Self { kind, is_fault: true, name: None, path: None, message }
    }

    pub(super) fn of(kind: &'static str, is_fault: bool, name: &[u8], path: &[u8], message: String) -> Self {
        let path = (!path.is_empty()).then(|| ShownPath::new(path));
        Self { kind, is_fault, name: Some(harmless(name)), path, message }
    }
}
