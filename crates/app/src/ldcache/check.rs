//! What in a cache a loader would not find, and what has changed since it was written.

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

/// Something that is wrong, or worth knowing.
#[derive(Debug, Serialize)]
pub struct Finding {
    /// A word for scripts: `gone`, `soname`, `order`, ...
    pub kind: &'static str,
    /// Whether it makes the answer "no".
    pub is_fault: bool,
    /// The name that is looked up; none when the whole file is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The file that is meant.
    #[serde(flatten)]
    pub path: Option<ShownPath>,
    /// What is wrong, as a clause.
    pub message: String,
}

/// What shall be checked.
#[derive(Clone, Debug, Default)]
pub struct CheckOptions {
    /// The cache, or an ELF file with a resolution note; not looked up in the sysroot.
    pub file: PathBuf,
    /// Where the paths in it begin.
    pub sysroot: Option<PathBuf>,
    /// Processor levels that have to be entered: `all`, `none`, or names.
    pub hwcaps: Vec<String>,
    /// Whether the files that it names are left alone.
    pub only_cache: bool,
}

/// What was found in a cache or a note.
#[derive(Debug, Serialize)]
pub struct Checked {
    action: &'static str,
    #[serde(flatten)]
    file: JsonPath,
    /// Number of entries; of a note, of names.
    pub entries: usize,
    /// Whether no finding is a fault.
    pub is_well: bool,
    /// All that was found.
    pub findings: Vec<Finding>,
}

impl Checked {
    pub(super) fn new(file: &Path, entries: usize, findings: Vec<Finding>) -> Self {
        let is_well = !findings.iter().any(|finding| finding.is_fault);
        Self { action: "check", file: JsonPath::new(file), entries, is_well, findings }
    }
}

/// Finds out what a loader would not find in a cache, and what has changed since it was written.
///
/// # Errors
/// When the file is no cache or cannot be read, or the sysroot cannot be used.
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

/// What the cache itself tells.
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
        // One directory cannot hold two libraries of one name, so `ldconfig` does not write such.
        let is_fault = entry.name != by.name || parent(entry.path) == parent(by.path);
        let message = format!("shadowed by `{}`", harmless(by.path));
        findings.push(Finding::of("hidden", is_fault, entry.name, entry.path, message));
    }
}

impl Finding {
    /// A fault of the file as a whole.
    pub(super) fn of_whole(kind: &'static str, message: String) -> Self {
        Self { kind, is_fault: true, name: None, path: None, message }
    }

    pub(super) fn of(kind: &'static str, is_fault: bool, name: &[u8], path: &[u8], message: String) -> Self {
        let path = (!path.is_empty()).then(|| ShownPath::new(path));
        Self { kind, is_fault, name: Some(harmless(name)), path, message }
    }
}
