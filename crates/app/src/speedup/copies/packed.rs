//! Packed copies of a program's objects.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_rewrite::Passes;
use coldstart_sys::private_mounts::Overlay;
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
    /// Files that were not packed, each with the reason as a clause. Files without anything to pack are not listed.
    pub refused: Vec<(PathBuf, String)>,
}

/// A file that packing makes at least a page shorter.
#[derive(Clone, Debug)]
pub struct WorthPacking {
    /// Its path.
    pub path: PathBuf,
    /// Its size in bytes.
    pub before: u64,
    /// The size of its packed copy.
    pub after: u64,
}

/// What packing would do, without writing anything.
#[derive(Clone, Debug, Default)]
pub struct PlannedPacking {
    /// The files that would be packed.
    pub worth: Vec<WorthPacking>,
    /// As [`PackedCopies::refused`].
    pub refused: Vec<(PathBuf, String)>,
}

impl PlannedPacking {
    /// Bytes that the files would be shorter.
    pub fn bytes_saved(&self) -> u64 {
        self.worth.iter().map(|file| file.before.saturating_sub(file.after)).sum()
    }
}

/// Plans what [`write_packed`] does. Files that are not ELF, and set-ID files, are among the refused.
///
/// # Errors
/// If a signal arrived.
pub fn planned_packing(files: &[PathBuf], interrupt: &Interrupt) -> Result<PlannedPacking, AppError> {
    let planned = pack::pack(&options(files.to_vec(), None), interrupt, &Silent)?;
    let mut packing = PlannedPacking::default();
    for (task, worked) in planned.done {
        match worked.outcome {
            Outcome::Done(Done::WouldPack(summary)) if summary.size_before >= summary.size_after + PAGE => {
                let (before, after) = (summary.size_before, summary.size_after);
                packing.worth.push(WorthPacking { path: task.path, before, after });
            }
            Outcome::Done(_) | Outcome::Gone => {}
            Outcome::Refused(reason) => packing.refused.push((task.path, reason.reason)),
            Outcome::Failed(error) => packing.refused.push((task.path, error.sentence())),
        }
    }
    Ok(packing)
}

/// Writes packed copies of planned files into `directory`.
///
/// # Errors
/// If a signal arrived.
pub fn write_packed(
    worth: &[WorthPacking],
    directory: &TrialDirectory,
    interrupt: &Interrupt,
) -> Result<PackedCopies, AppError> {
    let place = |number: usize| directory.path().join(format!("packed-{number}"));
    let written: Vec<(&WorthPacking, Result<Overlay, String>)> = worth
        .par_iter()
        .enumerate()
        .map(|(number, file)| (file, packed_from(&file.path, &place(number), interrupt)))
        .collect();
    if let Some(signal) = interrupt.signal() {
        return Err(coldstart_launch::LaunchError::Interrupted { signal }.into());
    }
    let mut copies = PackedCopies::default();
    for (file, copy) in written {
        match copy {
            Ok(overlay) => copies.overlays.push(overlay),
            Err(reason) => copies.refused.push((file.path.clone(), reason)),
        }
    }
    Ok(copies)
}

/// Packs a file into `replacement`.
///
/// # Errors
/// The reason why it is not packed, as a clause.
pub(crate) fn packed_from(file: &Path, replacement: &Path, interrupt: &Interrupt) -> Result<Overlay, String> {
    let options = options(vec![file.to_owned()], Some(replacement.to_owned()));
    let mut report = pack::pack(&options, interrupt, &Silent).map_err(|error| error.sentence())?;
    let (_, worked) = report.done.pop().ok_or("interrupted")?;
    match worked.outcome {
        Outcome::Done(Done::Packed(_)) => {}
        Outcome::Refused(refused) => return Err(refused.reason),
        Outcome::Failed(error) => return Err(error.sentence()),
        Outcome::Done(Done::Nothing(..)) => return Err("it has nothing to pack".to_owned()),
        Outcome::Done(Done::WouldPack(_)) | Outcome::Gone => return Err("it changed meanwhile".to_owned()),
    }
    let words = |error: std::io::Error| format!("its copy cannot be given its mode and time: {error}");
    resemble(replacement, file).map_err(words)?;
    Ok(Overlay { original: file.to_owned(), replacement: replacement.to_owned() })
}

/// As `coldstart pack` does by default; only planned without an output.
fn options(targets: Vec<PathBuf>, output: Option<PathBuf>) -> pack::Options {
    pack::Options {
        targets,
        one_file_system: false,
        dry_run: output.is_none(),
        place: PlaceOptions { output, ..PlaceOptions::default() },
        keep_original: None,
        passes: Passes::default(),
        closed_world: Vec::new(),
        libc_floor: None,
        sparse: false,
        drop_syment: false,
        undo: true,
        allow_set_id: false,
        allow_signed: false,
    }
}
