//! Comparing a cache with the files in its directories.

use std::collections::{BTreeMap, BTreeSet};

use coldstart_loader::cache::{
    CacheEntry, DirectorySource, EntryHwcap, Family, LdSoCache, Library, NewHwcap, NoLibrary, RequestedDirectory,
    ScanRules, ScannedLibrary, scan,
};
use coldstart_startup::Root;
use coldstart_startup::cache::{NEWEST_RELEASE, family_loader, file_name, parent};

use super::{Finding, path};
use crate::text::harmless;

/// The generator of caches made with `--closure`: they contain needed libraries, not whole directories.
const CLOSURE: &[u8] = b"ldcache (closure)";

/// Compares each entry with its file, and the directories with the entries.
pub(super) fn compare_with_files(
    cache: &LdSoCache,
    root: &Root,
    levels: Option<&BTreeSet<Vec<u8>>>,
    findings: &mut Vec<Finding>,
) {
    let mut read: BTreeMap<&[u8], Result<Library, NoLibrary>> = BTreeMap::new();
    let mut families: Vec<&'static Family> = Vec::new();
    for entry in cache.entries() {
        let library = read.entry(entry.path).or_insert_with(|| root.library(entry.path));
        findings.extend(compare(&entry, library));
        let family = library.as_ref().ok().and_then(|library| Family::of(&library.facts));
        families.extend(family.filter(|family| !families.contains(family)));
    }
    let is_of_programs = cache.generator().is_some_and(|text| text.windows(CLOSURE.len()).any(|part| part == CLOSURE));
    if let [family] = families.as_slice()
        && !is_of_programs
    {
        compare_directories(cache, root, family, levels, findings);
    }
}

/// The fault of an entry's file.
fn compare(entry: &CacheEntry<'_>, library: &Result<Library, NoLibrary>) -> Option<Finding> {
    let fault = |kind, message| Some(Finding::of(kind, true, entry.name, entry.path, message));
    let library = match library {
        Ok(library) => library,
        Err(NoLibrary::Missing) => return fault("gone", "no such file".to_owned()),
        Err(NoLibrary::Unreadable(error)) => return fault("unreadable", format!("cannot be read: {error}")),
        Err(reason) => return fault("no-library", reason.to_string()),
    };
    // If flags do not distinguish architectures, releases write different values.
    let fits = [36, NEWEST_RELEASE].iter().any(|&release| library.cache_flags(release) == Some(entry.flags));
    if !fits {
        let message = "its architecture or ABI differs from its entry".to_owned();
        return fault("machine", message);
    }
    let file = file_name(entry.path);
    let soname = library.facts.soname.as_deref().unwrap_or(file);
    let for_linkers = entry.name == file && file.ends_with(b".so") && soname.starts_with(file);
    if soname != entry.name && !for_linkers {
        return fault("soname", format!("the file's soname is `{}`", harmless(soname)));
    }
    None
}

/// Libraries in the cache's directories that are not in the cache.
fn compare_directories(
    cache: &LdSoCache,
    root: &Root,
    family: &'static Family,
    levels: Option<&BTreeSet<Vec<u8>>>,
    findings: &mut Vec<Finding>,
) {
    let release = family_loader(root, family).and_then(|loader| loader.release).unwrap_or(NEWEST_RELEASE);
    let mut directories: Vec<&[u8]> = Vec::new();
    for entry in cache.entries() {
        let directory = match entry.required() {
            EntryHwcap::Level { .. } => parent(parent(parent(entry.path))),
            EntryHwcap::Any | EntryHwcap::Bits(_) => parent(entry.path),
        };
        directories.push(directory);
    }
    directories.sort_unstable();
    directories.dedup();
    let asked: Vec<RequestedDirectory> =
        directories.iter().map(|path| RequestedDirectory { path: path.to_vec(), kind: None }).collect();
    let found = scan(&asked, root, &ScanRules { family, release, levels: levels.cloned() });
    let known: BTreeSet<(&[u8], &[u8])> = cache.entries().map(|entry| (entry.name, entry.path)).collect();
    let mut paths: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for entry in cache.entries() {
        paths.entry(entry.name).or_default().push(entry.path);
    }
    // A directory may have two names, with only one in the cache.
    let same_file = |library: &ScannedLibrary| {
        let own = root.identity(path(&library.entry.path)).ok();
        let mut others = paths.get(library.entry.name.as_slice()).into_iter().flatten();
        own.is_some() && others.any(|path| root.identity(super::path(path)).ok() == own)
    };
    for library in &found.libraries {
        let entry = &library.entry;
        if !known.contains(&(entry.name.as_slice(), entry.path.as_slice())) && !same_file(library) {
            let file = [library.directory.as_slice(), b"/", &library.file].concat();
            findings.push(Finding::of(
                "missing",
                true,
                &entry.name,
                &file,
                "it exists but is not in the cache".to_owned(),
            ));
        } else if !matches!(entry.hwcap, NewHwcap::Level { .. }) {
            findings.extend(newer(root, library));
        }
    }
}

/// A newer library with the same soname as the target of the soname's link.
fn newer(root: &Root, library: &ScannedLibrary) -> Option<Finding> {
    let file = [library.directory.as_slice(), b"/", &library.file].concat();
    let (chosen, linked) = (root.identity(path(&file)).ok()?, root.identity(path(&library.entry.path)).ok()?);
    let message =
        || format!("`{}` has the same soname and is newer; `ldconfig` would link to it", harmless(&library.file));
    (chosen != linked).then(|| Finding::of("newer", true, &library.entry.name, &library.entry.path, message()))
}
