//! Text for skipped files and unknown residency.

use coldstart_app::pagecache::{Passed, Untold};
use coldstart_pagecache::Unknown;

use crate::output::size::grouped;
use crate::output::text::{counted, plain};
use crate::output::{hint, note};

/// Prints the skipped files in one line, if any.
pub(super) fn tell_passed(passed: &Passed) {
    let parts = [
        (passed.symbolic_links, "symbolic link", "symbolic links"),
        (passed.seen_before, "further name of a known file", "further names of known files"),
        (passed.special_files, "special file", "special files"),
        (passed.kernel_state, "tree of kernel state", "trees of kernel state"),
        (passed.vanished, "file that vanished", "files that vanished"),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(count, _, _)| *count > 0)
        .map(|&(count, one, many)| format!("{} {}", grouped(count), if count == 1 { one } else { many }))
        .collect();
    if !parts.is_empty() {
        note(&format!("skipped {}", parts.join(", ")));
    }
}

/// Prints for each reason the number of files with unknown residency, and a hint.
pub(super) fn tell_untold(untold: &Untold) {
    for unknown in [Unknown::NotPermitted, Unknown::Unsupported, Unknown::TooLarge] {
        let count = untold.of(unknown);
        if count > 0 {
            note(&format!("unknown for {}: {unknown}", files(count)));
            if let Some(advice) = unknown.hint() {
                hint(&advice);
            }
        }
    }
}

/// "1 file" or "2 files".
pub(super) fn files(count: u64) -> String {
    plain(&counted(count, "file"))
}
