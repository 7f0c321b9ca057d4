//! `ldcache`: read, write and check loader caches and resolution notes.

mod check;
mod check_files;
mod errors;
pub mod note;
mod show;
mod target;
mod write;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_elf::FileKind;
use coldstart_loader::cache::LdSoCache;
use coldstart_profile::{JsonPath, printable};
use serde::{Serialize, Serializer};

use crate::error::{AppError, HintExt};
use crate::reading::{kind_of, read};

pub use check::{CheckOptions, Checked, Finding, check};
pub use show::{ShownCache, ShownEntry, ShownHwcap, as_ldconfig, show};
pub use write::{Conflict, MissingName, Reason, WriteOptions, Written, write};

/// The name and version of the JSON schema; `action` distinguishes the three kinds.
pub const SCHEMA: &str = "coldstart.ldcache/1";
/// The system's cache.
const SYSTEM_CACHE: &str = "/etc/ld.so.cache";
/// Size limit; a cache for all libraries of a machine is below 1 MiB.
const LARGEST_CACHE: u64 = 256 << 20;

/// Whether a file is an ELF file, and so may contain a resolution note.
pub fn is_elf(path: &Path) -> bool {
    kind_of(path).is_ok_and(|kind| kind == FileKind::Elf)
}

/// A file's bytes.
fn read_file(path: &Path) -> Result<Vec<u8>, AppError> {
    read("", path, LARGEST_CACHE)
}

/// Reads a cache that must be undamaged.
fn read_cache(path: &Path) -> Result<LdSoCache, AppError> {
    let bytes = read_file(path)?;
    LdSoCache::parse(&bytes)
        .with_context(|| format!("cannot use `{}`", printable(path)))
        .hint(|| "`coldstart ldcache check` lists the damage; `ldconfig` rebuilds the system's cache")
}

/// The levels of `--hwcaps`; `None` for all.
fn levels(words: &[String]) -> Result<Option<BTreeSet<Vec<u8>>>, AppError> {
    match words {
        [word] if word == "all" => Ok(None),
        [word] if word == "none" => Ok(Some(BTreeSet::new())),
        words if words.iter().any(|word| word.is_empty() || word == "all" || word == "none" || word.contains('/')) => {
            Err(anyhow::anyhow!("`--hwcaps {}` is not a list of processor levels", words.join(",")))
                .hint(|| "use `all`, `none`, or names of directories below glibc-hwcaps: x86-64-v2,x86-64-v3")
        }
        words => Ok(Some(words.iter().map(|word| word.as_bytes().to_vec()).collect())),
    }
}

/// A path of bytes.
fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// A path for output: unchanged in JSON, escaped in text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownPath(PathBuf);

impl ShownPath {
    fn new(bytes: &[u8]) -> Self {
        Self(path(bytes).to_owned())
    }

    /// The unescaped path.
    pub fn as_path(&self) -> &Path {
        &self.0
    }
}

impl Serialize for ShownPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JsonPath::new(&self.0).serialize(serializer)
    }
}

impl fmt::Display for ShownPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&printable(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;
    use crate::starting::loads;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn levels_are_all_none_or_named() {
        assert_eq!(levels(&names(&["all"])).unwrap(), None);
        assert_eq!(levels(&names(&["none"])).unwrap(), Some(BTreeSet::new()));
        assert_eq!(levels(&names(&["b", "a"])).unwrap().unwrap().len(), 2);
        for wrong in [&["all", "a"][..], &["a/b"], &[""]] {
            assert!(levels(&names(wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_written_is_shown_and_checked_until_a_library_goes() {
        let closure = loads(&std::env::current_exe().unwrap()).unwrap();
        let library = closure.objects.iter().skip(1).find(|object| object.facts.soname.is_some()).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let directory = scratch.path().join("lib");
        std::fs::create_dir(&directory).unwrap();
        let soname = String::from_utf8(library.facts.soname.clone().unwrap()).unwrap();
        let copy = directory.join(&soname);
        std::fs::copy(&library.path, &copy).unwrap();
        let (output, hwcaps) = (scratch.path().join("cache"), names(&["all"]));
        let options = WriteOptions {
            output: output.clone(),
            directories: vec![directory],
            hwcaps: hwcaps.clone(),
            ..WriteOptions::default()
        };
        let written = write(&options, &Silent).unwrap();
        assert_eq!((written.entries, written.missing.len()), (1, 0));
        let shown = show(&output, Some(&soname)).unwrap();
        assert_eq!(shown.entries.iter().map(|entry| entry.path.as_path()).collect::<Vec<_>>(), [copy.as_path()]);
        assert!(show(&output, Some("other")).unwrap().entries.is_empty());
        let options = CheckOptions { file: output, hwcaps, ..CheckOptions::default() };
        assert!(check(&options, &Silent).unwrap().is_well);
        std::fs::remove_file(&copy).unwrap();
        let checked = check(&options, &Silent).unwrap();
        assert!(!checked.is_well && checked.findings.iter().any(|finding| finding.kind == "gone"), "{checked:?}");
        assert!(check(&CheckOptions { only_cache: true, ..options }, &Silent).unwrap().is_well);
    }
}
