//! Unchanged copies, for the plain side of a comparison with changed copies.
//!
//! A copy lies elsewhere on the disk than its original, mostly in one piece. With copies on both sides that is no difference.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::{Interrupt, LaunchError};
use coldstart_profile::printable;
use coldstart_sys::private_mounts::Overlay;
use rustix::fs::{FallocateFlags, fallocate};

use super::{TrialDirectory, by_device, resemble};
use crate::error::AppError;

/// Bytes that are copied at a time.
const PORTION: usize = 1 << 20;

/// Copies files as they are, each to its own file system, to lie over themselves. The directories must be kept as long.
///
/// # Errors
/// If there is no place or not enough room for them, with what is missing; if they cannot be written; if a signal arrived.
pub fn unchanged_copies(
    originals: &[PathBuf],
    interrupt: &Interrupt,
) -> Result<(Vec<Overlay>, Vec<TrialDirectory>), AppError> {
    let mut sized = Vec::new();
    for original in originals {
        let found = original.metadata().with_context(|| format!("cannot use `{}`", printable(original)))?;
        sized.push((original, found.len()));
    }
    let (mut overlays, mut directories) = (Vec::new(), Vec::new());
    for (files, directory) in by_device(sized, |(path, size)| (path, *size)) {
        let directory = directory?;
        for (number, (original, size)) in files.into_iter().enumerate() {
            if let Some(signal) = interrupt.signal() {
                return Err(LaunchError::Interrupted { signal }.into());
            }
            let replacement = directory.path().join(format!("unchanged-{number}"));
            copy(original, &replacement, size)
                .with_context(|| format!("cannot copy `{}` to `{}`", printable(original), printable(&replacement)))?;
            overlays.push(Overlay { original: original.clone(), replacement });
        }
        directories.push(directory);
    }
    Ok((overlays, directories))
}

/// Reads and writes: a file system that shares blocks between copies would leave the copy in its original's place.
fn copy(original: &Path, replacement: &Path, size: u64) -> io::Result<()> {
    let (mut from, mut to) = (File::open(original)?, File::create_new(replacement)?);
    // In one piece, as changed copies are written. Not every file system can.
    let _ = fallocate(&to, FallocateFlags::KEEP_SIZE, 0, size.max(1));
    let mut portion = vec![0; PORTION];
    loop {
        let length = from.read(&mut portion)?;
        if length == 0 {
            break;
        }
        to.write_all(portion.get(..length).unwrap_or_default())?;
    }
    resemble(replacement, original)?;
    // What is not on the disk yet cannot be dropped from memory.
    to.sync_all()
}
