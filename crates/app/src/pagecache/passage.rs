//! Walking over the given files, with errors and skipped files.

use std::path::PathBuf;

use coldstart_pagecache::{CacheFile, Cached, Error, FoundFile, Residency, Unknown, Walk, WalkOptions, WalkSkips};
use serde::Serialize;

use crate::observer::Observer;

/// Which files, and how to walk to them.
#[derive(Clone, Debug, Default)]
pub struct FilesOptions {
    /// Files, block devices, or directories to walk; symbolic links are followed only when named here.
    pub paths: Vec<PathBuf>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
}

/// Numbers of skipped files.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Passed {
    /// Further names of files already seen.
    pub seen_before: u64,
    /// Symbolic links, which are not followed.
    pub symbolic_links: u64,
    /// Sockets, pipes and devices.
    pub special_files: u64,
    /// Directories such as /proc, whose files have no pages.
    pub kernel_state: u64,
    /// Removed meanwhile.
    pub vanished: u64,
}

/// Runs `work` for each file once. Errors go to the observer and do not end the walk. Returns the skipped files and the
/// number of errors.
pub(super) fn over_files<T>(
    options: &FilesOptions,
    observer: &dyn Observer,
    mut work: impl FnMut(&CacheFile) -> Result<T, Error>,
    mut done: impl FnMut(FoundFile, T),
) -> (Passed, u64) {
    let walk_options = WalkOptions { one_file_system: options.one_file_system };
    let mut walk = Walk::new(options.paths.iter().cloned(), walk_options);
    let (mut vanished, mut errors) = (0, 0);
    let mut fail = |error: Error| {
        errors += 1;
        observer.error(error.into());
    };
    for found in walk.by_ref() {
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                fail(error);
                continue;
            }
        };
        match found.open().and_then(|file| work(&file)) {
            Ok(result) => done(found, result),
            Err(error) if found.has_vanished(&error) => vanished += 1,
            Err(error) => fail(error),
        }
    }
    let WalkSkips { seen_before, symbolic_links, special_files, kernel_state, vanished: early } = walk.skips();
    (Passed { seen_before, symbolic_links, special_files, kernel_state, vanished: vanished + early }, errors)
}

/// Numbers of files with unknown residency, by reason.
#[derive(Clone, Copy, Debug, Default)]
pub struct Untold {
    /// For lack of permission.
    pub not_permitted: u64,
    /// Because the kernel or the file system cannot tell.
    pub unsupported: u64,
    /// Because the file has too many pages to ask for.
    pub too_large: u64,
}

impl Untold {
    pub(super) fn add(&mut self, residency: &Residency) {
        if let Cached::Unknown(unknown) = residency.cached {
            *self.count_mut(unknown) += 1;
        }
    }

    /// All of them.
    pub fn count(&self) -> u64 {
        self.not_permitted + self.unsupported + self.too_large
    }

    /// The number for one reason.
    pub fn of(&self, unknown: Unknown) -> u64 {
        match unknown {
            Unknown::NotPermitted => self.not_permitted,
            Unknown::Unsupported => self.unsupported,
            Unknown::TooLarge => self.too_large,
        }
    }

    fn count_mut(&mut self, unknown: Unknown) -> &mut u64 {
        match unknown {
            Unknown::NotPermitted => &mut self.not_permitted,
            Unknown::Unsupported => &mut self.unsupported,
            Unknown::TooLarge => &mut self.too_large,
        }
    }
}
