//! A command's files: their residency, and their eviction.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use coldstart_pagecache::{Backing, Detail, Error, EvictOptions, evict as evict_file, residency};
use coldstart_profile::measurement::{Residency, StayedFile};

/// Sums the residency of the files; `None` if there are none. `note` gets each file's resident pages.
///
/// Files in memory-backed file systems do not count: they can never be cold.
pub(crate) fn look(files: &[PathBuf], note: &mut dyn FnMut(&Path, u64)) -> Option<Residency> {
    if files.is_empty() {
        return None;
    }
    let mut sum = Residency::default();
    for path in files {
        add(&mut sum, path, residency(path, Detail::Counts), note);
    }
    Some(sum)
}

/// Evicts the files and sums the remaining pages. Files that were removed or replaced are not errors.
pub(crate) fn evict(files: &[PathBuf], note: &mut dyn FnMut(&Path, u64)) -> Result<Residency, Error> {
    let mut sum = Residency::default();
    for path in files {
        match evict_file(path, EvictOptions { write_first: true }) {
            Err(error @ (Error::Write { .. } | Error::Evict { .. })) => return Err(error),
            evicted => add(&mut sum, path, evicted.map(|evicted| evicted.after), note),
        }
    }
    Ok(sum)
}

fn add(
    sum: &mut Residency,
    path: &Path,
    found: Result<coldstart_pagecache::Residency, Error>,
    note: &mut dyn FnMut(&Path, u64),
) {
    match found {
        Ok(found) if found.backing == Backing::Memory => {}
        Ok(found) => match found.resident_pages() {
            Some(resident) => {
                sum.file_pages += found.file_pages;
                sum.resident_pages += resident;
                note(path, resident);
            }
            None => sum.unknown_files += 1,
        },
        Err(error) if error.is_gone() => sum.missing_files += 1,
        Err(_) => sum.unknown_files += 1,
    }
}

/// Files with remaining pages, and the most pages each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stayed(HashMap<PathBuf, u64>);

impl Stayed {
    pub(crate) fn note(&mut self, path: &Path, pages: u64) {
        if pages == 0 {
            return;
        }
        match self.0.get_mut(path) {
            Some(most) => *most = pages.max(*most),
            None => {
                self.0.insert(path.to_owned(), pages);
            }
        }
    }

    /// Most pages first.
    pub(crate) fn into_list(self) -> Vec<StayedFile> {
        let mut list: Vec<_> = self
            .0
            .into_iter()
            .map(|(path, pages)| StayedFile { path: path.to_string_lossy().into_owned(), pages })
            .collect();
        list.sort_unstable_by(|a, b| b.pages.cmp(&a.pages).then_with(|| a.path.cmp(&b.path)));
        list
    }
}
