//! Packed copies of a program's objects.

use std::path::{Path, PathBuf};

use anyhow::Context;
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_sys::private_mounts::Overlay;
use coldstart_view::numbers::bytes;
use rayon::prelude::*;

use super::{TrialDirectory, resemble};
use crate::error::AppError;
use crate::observer::Silent;
use crate::pack::{self, Done};
use crate::rewriting::{Outcome, PlaceOptions};

/// What is less than a page is not read less.
const PAGE: u64 = 4096;

/// Packed copies, each proven equivalent to its original.
#[derive(Clone, Debug, Default)]
pub struct PackedCopies {
    /// The copies over their originals.
    pub overlays: Vec<Overlay>,
    /// Bytes that the copies are shorter.
    pub bytes_saved: u64,
    /// Pages of 4 KiB that the copies are shorter.
    pub pages_saved: u64,
    /// Files that were not packed, each with the reason as a clause. Files without anything to pack are not listed.
    pub refused: Vec<(PathBuf, String)>,
}

/// Packs every object for which it saves a page or more, into `directory`. Files that are not ELF, and set-ID files, are among the
/// refused.
///
/// # Errors
/// If the copies would not fit, or a signal arrived.
pub fn packed_copies(
    files: &[PathBuf],
    directory: &TrialDirectory,
    interrupt: &Interrupt,
) -> Result<PackedCopies, AppError> {
    let mut copies = PackedCopies::default();
    let worth = worth_packing(files, interrupt, &mut copies.refused)?;
    let needed: u64 = worth.iter().map(|(.., size)| size).sum();
    let room = directory.room().context("cannot determine the free space for packed copies")?;
    if needed > room {
        let (needed, room) = (bytes(needed), bytes(room));
        let place = printable(directory.path());
        return Err(anyhow::anyhow!("packed copies take {needed}, but only {room} are free in `{place}`").into());
    }
    let written: Vec<(&PathBuf, Result<PackedCopy, String>)> = worth
        .par_iter()
        .enumerate()
        .map(|(number, (file, ..))| {
            (file, packed_from(file, &directory.path().join(format!("packed-{number}")), interrupt))
        })
        .collect();
    if let Some(signal) = interrupt.signal() {
        return Err(coldstart_launch::LaunchError::Interrupted { signal }.into());
    }
    for (file, copy) in written {
        match copy {
            Ok(copy) => {
                copies.bytes_saved += copy.before.saturating_sub(copy.after);
                copies.pages_saved += copy.before.div_ceil(PAGE).saturating_sub(copy.after.div_ceil(PAGE));
                copies.overlays.push(copy.overlay);
            }
            Err(reason) => copies.refused.push((file.clone(), reason)),
        }
    }
    Ok(copies)
}

/// What packing would do, without writing anything.
#[derive(Clone, Debug, Default)]
pub struct PlannedPacking {
    /// Number of files that would be packed.
    pub files: usize,
    /// Bytes that they would be shorter.
    pub bytes_saved: u64,
    /// As [`PackedCopies::refused`].
    pub refused: Vec<(PathBuf, String)>,
}

/// Plans what [`packed_copies`] does.
///
/// # Errors
/// If a signal arrived.
pub fn planned_packing(files: &[PathBuf], interrupt: &Interrupt) -> Result<PlannedPacking, AppError> {
    let mut packing = PlannedPacking::default();
    for (_, before, after) in worth_packing(files, interrupt, &mut packing.refused)? {
        packing.files += 1;
        packing.bytes_saved += before - after;
    }
    Ok(packing)
}

/// The files that would be at least a page shorter, with their size before and after.
fn worth_packing(
    files: &[PathBuf],
    interrupt: &Interrupt,
    refused: &mut Vec<(PathBuf, String)>,
) -> Result<Vec<(PathBuf, u64, u64)>, AppError> {
    let planned = pack::pack(&options(files.to_vec(), None), interrupt, &Silent)?;
    let mut worth = Vec::new();
    for (task, worked) in planned.done {
        match worked.outcome {
            Outcome::Done(Done::WouldPack(summary)) if summary.size_before >= summary.size_after + PAGE => {
                worth.push((task.path, summary.size_before, summary.size_after));
            }
            Outcome::Done(_) | Outcome::Gone => {}
            Outcome::Refused(reason) => refused.push((task.path, reason.reason)),
            Outcome::Failed(error) => refused.push((task.path, error.sentence())),
        }
    }
    Ok(worth)
}

/// A packed copy of one file.
pub(crate) struct PackedCopy {
    overlay: Overlay,
    /// Sizes in bytes.
    before: u64,
    after: u64,
}

/// Packs a file into `replacement`.
///
/// # Errors
/// The reason why it is not packed, as a clause.
pub(crate) fn packed_from(file: &Path, replacement: &Path, interrupt: &Interrupt) -> Result<PackedCopy, String> {
    let options = options(vec![file.to_owned()], Some(replacement.to_owned()));
    let mut report = pack::pack(&options, interrupt, &Silent).map_err(|error| error.sentence())?;
    let (_, worked) = report.done.pop().ok_or("interrupted")?;
    let summary = match worked.outcome {
        Outcome::Done(Done::Packed(packed)) => packed.0,
        Outcome::Refused(refused) => return Err(refused.reason),
        Outcome::Failed(error) => return Err(error.sentence()),
        Outcome::Done(Done::Nothing(..)) => return Err("it has nothing to pack".to_owned()),
        Outcome::Done(Done::WouldPack(_)) | Outcome::Gone => return Err("it changed meanwhile".to_owned()),
    };
    let words = |error: std::io::Error| format!("its copy cannot be given its mode and time: {error}");
    resemble(replacement, file).map_err(words)?;
    let overlay = Overlay { original: file.to_owned(), replacement: replacement.to_owned() };
    Ok(PackedCopy { overlay, before: summary.size_before, after: summary.size_after })
}

/// As `coldstart pack` does by default; only planned without an output.
fn options(targets: Vec<PathBuf>, output: Option<PathBuf>) -> pack::Options {
    pack::Options {
        targets,
        one_file_system: false,
        dry_run: output.is_none(),
        place: PlaceOptions { output, ..PlaceOptions::default() },
        keep_original: None,
        libc_floor: None,
        sparse: false,
        drop_syment: false,
        undo: true,
        allow_set_id: false,
        allow_signed: false,
    }
}
