//! Going over the files that were asked for: the walk, its complaints, and what to say about it afterwards.

use coldstart_pagecache::{CacheFile, Cached, Error, Found, Residency, Unknown, Walk, WalkOptions, WalkSkips};
use serde::Serialize;

use crate::args::pagecache::FilesArgs;
use crate::error::Complaints;
use crate::output::{hint, note, size::grouped};

/// What went by without being looked at.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Passed {
    /// Further names of files already seen.
    seen_before: u64,
    symbolic_links: u64,
    special_files: u64,
    /// Directories such as /proc, whose files have no pages.
    kernel_state: u64,
    /// Went away meanwhile.
    vanished: u64,
}

/// Does `work` for each file once. Errors are printed as they come and do not end the passage.
pub(super) fn over_files<T>(
    args: &FilesArgs,
    complaints: &mut Complaints,
    mut work: impl FnMut(&CacheFile) -> Result<T, Error>,
    mut done: impl FnMut(Found, T),
) -> Passed {
    let options = WalkOptions { one_file_system: args.one_file_system };
    let mut walk = Walk::new(args.paths.iter().cloned(), options);
    let mut vanished = 0;
    for found in walk.by_ref() {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                complaints.add(error);
                continue;
            }
        };
        match found.open().and_then(|file| work(&file)) {
            Ok(result) => done(found, result),
            Err(error) if found.has_vanished(&error) => vanished += 1,
            Err(error) => complaints.add(error),
        }
    }
    let WalkSkips { seen_before, symbolic_links, special_files, kernel_state, vanished: early } = walk.skips();
    Passed { seen_before, symbolic_links, special_files, kernel_state, vanished: vanished + early }
}

impl Passed {
    /// Says what went by, if anything, in one line.
    pub(super) fn tell(&self) {
        let parts = [
            (self.symbolic_links, "symbolic link", "symbolic links"),
            (self.seen_before, "further name of a file already seen", "further names of files already seen"),
            (self.special_files, "special file", "special files"),
            (self.kernel_state, "tree of kernel state", "trees of kernel state"),
            (self.vanished, "file that vanished", "files that vanished"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _, _)| *count > 0)
            .map(|&(count, one, many)| format!("{} {}", grouped(count), if count == 1 { one } else { many }))
            .collect();
        if !parts.is_empty() {
            note(&format!("passed over {}", parts.join(", ")));
        }
    }
}

/// Files of which the kernel does not tell what is resident, by why.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Untold {
    not_permitted: u64,
    unsupported: u64,
    too_large: u64,
}

impl Untold {
    pub(super) fn add(&mut self, residency: &Residency) {
        if let Cached::Unknown(unknown) = residency.cached {
            *self.count_mut(unknown) += 1;
        }
    }

    pub(super) fn count(&self) -> u64 {
        self.not_permitted + self.unsupported + self.too_large
    }

    fn count_mut(&mut self, unknown: Unknown) -> &mut u64 {
        match unknown {
            Unknown::NotPermitted => &mut self.not_permitted,
            Unknown::Unsupported => &mut self.unsupported,
            Unknown::TooLarge => &mut self.too_large,
        }
    }

    /// Says once for each reason how many files it hides, and what helps.
    pub(super) fn tell(mut self) {
        for unknown in [Unknown::NotPermitted, Unknown::Unsupported, Unknown::TooLarge] {
            let count = *self.count_mut(unknown);
            if count > 0 {
                note(&format!("unknown for {}: {unknown}", files(count)));
                if let Some(advice) = unknown.hint() {
                    hint(&advice);
                }
            }
        }
    }
}

/// "1 file" or "2 files".
pub(super) fn files(count: u64) -> String {
    format!("{} {}", grouped(count), if count == 1 { "file" } else { "files" })
}
