//! What a start from an image needs that does not lie in its hot range: found by such a start.
//!
//! The program is started from the image alone: nothing is read ahead, and the kernel reads single pages. What is in the page cache of the image's
//! files afterwards is what was used. Not obvious: all of it happens in a thread with its own mount namespace, which ends with the thread, also
//! when we are killed.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, anyhow};
use coldstart_image::start::{Front, take_place_of_own};
use coldstart_launch::{CommandLine, LaunchOptions, launch};
use coldstart_pagecache::pages;
use coldstart_profile::PageRange;
use coldstart_sys::drop_caches::drop_caches;
use coldstart_sys::named_file::open_regular;

use crate::error::AppError;

/// Pages that a start used, of files of the image, and that are not hot.
pub(super) fn missed_pages(
    image: &File,
    command: &CommandLine,
    launch_options: &LaunchOptions,
    all_cold: bool,
) -> Result<Vec<(PathBuf, PageRange)>, AppError> {
    let front = Front::read(image).context("cannot read the image")?;
    thread::scope(|scope| {
        let started = thread::Builder::new()
            .spawn_scoped(scope, || start_and_look(image, &front, command, launch_options, all_cold));
        let thread = started.context("cannot create a thread")?;
        thread.join().unwrap_or_else(|_| Err(anyhow!("the thread of the second start ended early").into()))
    })
}

fn start_and_look(
    image: &File,
    front: &Front,
    command: &CommandLine,
    options: &LaunchOptions,
    all_cold: bool,
) -> Result<Vec<(PathBuf, PageRange)>, AppError> {
    let placed = take_place_of_own(image, front).map_err(|error| anyhow!("{error}"))?;
    let left: HashSet<&Path> = placed.left.iter().map(|(path, _)| path.as_path()).collect();
    // Of the image's own files nothing is in memory in any case: they have just been mounted.
    if all_cold {
        drop_caches().context("cannot drop the caches")?;
    }
    launch(command, options, None, &mut || {})?;
    let mut hot: HashMap<u32, Vec<(u64, u64)>> = HashMap::new();
    for run in &front.index.runs {
        hot.entry(run.file).or_default().push((run.start.into(), u64::from(run.start) + u64::from(run.pages)));
    }
    let mut missed = Vec::new();
    for (number, file) in front.index.files.iter().enumerate() {
        if left.contains(file.path.as_path()) {
            continue;
        }
        let Ok(open) = open_regular(&file.path) else { continue };
        let mut known = u32::try_from(number).ok().and_then(|number| hot.remove(&number)).unwrap_or_default();
        known.sort_unstable();
        for used in pages(&open).unwrap_or_default() {
            missed.extend(without(used, &known).map(|range| (file.path.clone(), range)));
        }
    }
    Ok(missed)
}

/// The parts of a range outside sorted, disjoint ones.
fn without(range: PageRange, known: &[(u64, u64)]) -> impl Iterator<Item = PageRange> {
    let (mut at, end) = (range.start.0, range.end().0);
    let mut parts = Vec::new();
    for &(from, to) in known.iter().skip_while(|(_, to)| *to <= range.start.0) {
        if from >= end {
            break;
        }
        parts.extend(PageRange::new(at, from.saturating_sub(at)));
        at = at.max(to);
    }
    parts.extend(PageRange::new(at, end.saturating_sub(at)));
    parts.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_left_out() {
        let ranges = |range: (u64, u64), known: &[(u64, u64)]| -> Vec<(u64, u64)> {
            let range = PageRange::new(range.0, range.1 - range.0).unwrap();
            without(range, known).map(|part| (part.start.0, part.end().0)).collect()
        };
        assert_eq!(ranges((2, 9), &[]), [(2, 9)]);
        assert_eq!(ranges((2, 9), &[(0, 3), (4, 5), (8, 20)]), [(3, 4), (5, 8)]);
        assert_eq!(ranges((2, 9), &[(0, 1), (2, 9)]), []);
        assert_eq!(ranges((2, 9), &[(9, 12)]), [(2, 9)]);
    }
}
