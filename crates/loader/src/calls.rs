//! The system calls that a loader's search is expected to make.
//!
//! Only the search: reading and mapping the file that is found costs the same wherever it is. The cache itself and
//! /etc/ld.so.preload are opened once per start and left out, too.

use std::path::Path;

use crate::Closure;

/// One call of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call<'a> {
    /// `openat` of a file.
    Open {
        /// The file.
        path: &'a Path,
        /// Whether the loader accepts it; otherwise it is absent or skipped.
        found: bool,
    },
    /// `stat` of a directory in which a file was not found.
    Stat {
        /// The directory, subdirectory included, without a slash at the end.
        path: &'a Path,
        /// Whether it exists.
        exists: bool,
    },
}

/// All calls of the search, in order.
pub fn calls(closure: &Closure) -> Vec<Call<'_>> {
    let mut calls = Vec::with_capacity(closure.failed_probes.len() + closure.objects.len());
    let mut done = (0, 0);
    for request in &closure.requests {
        failures(closure, request.failed_before, &mut done, &mut calls);
        if let Some(path) = &request.opened {
            calls.push(Call::Open { path, found: true });
        }
    }
    failures(closure, closure.failed_probes.len(), &mut done, &mut calls);
    let last = closure.stopped.iter().map(|stopped| stopped.path.as_path());
    calls.extend(last.filter(|path| !path.as_os_str().is_empty()).map(|path| Call::Open { path, found: true }));
    calls
}

/// The failed probes up to index `end`, each with the check of its directory; `done` counts the ones already
/// returned.
fn failures<'a>(closure: &'a Closure, end: usize, done: &mut (usize, usize), calls: &mut Vec<Call<'a>>) {
    for probe in closure.failed_probes.get(done.0..end).unwrap_or_default() {
        calls.push(Call::Open { path: &probe.path, found: false });
        done.0 += 1;
        let looks = closure.directory_probes.get(done.1..).unwrap_or_default();
        for look in looks.iter().take_while(|look| look.failed_before <= done.0) {
            calls.push(Call::Stat { path: &look.path, exists: look.exists });
            done.1 += 1;
        }
    }
}
