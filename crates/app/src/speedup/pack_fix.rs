//! The fix "pack": packed relocations in the program and all its libraries.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;

use coldstart_sys::private_mounts::Overlay;

use super::copies::{PlannedPacking, ProgramFiles, TrialDirectory, by_device, planned_packing, write_packed};
use super::fix::{Fix, Prospect, made_once};
use super::setup::Setup;
use super::subject::{Changeable, Subject};
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::text::{counted, size};

/// Packs every object of the program.
#[derive(Default)]
pub(super) struct PackFix {
    files: ProgramFiles,
    planned: PlannedPacking,
    /// Written at the first trial; all trials use them.
    written: OnceCell<Written>,
}

/// Packed copies and where they are.
#[derive(Clone, Default)]
struct Written {
    overlays: Vec<Overlay>,
    directories: Vec<Rc<TrialDirectory>>,
}

impl Fix for PackFix {
    fn kind(&self) -> FixKind {
        FixKind::Pack
    }

    fn name(&self) -> &'static str {
        "pack"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        self.files = match subject.elf_files() {
            Ok(files) => files.clone(),
            Err(reason) => return Ok(Prospect::not(self, reason)),
        };
        let Changeable { may, may_not } = subject.changeable(&self.files.files)?;
        self.files.files = may;
        self.planned = match planned_packing(&self.files.files, &subject.interrupt) {
            Ok(planned) => planned,
            Err(error) if subject.interrupt.signal().is_some() => return Err(error),
            Err(error) => return Ok(Prospect::not(self, error.sentence())),
        };
        self.refuse_without_room();
        if self.planned.worth.is_empty() {
            let why = match self.planned.refused.first().or(may_not.first()) {
                Some((_, reason)) => format!("none of its files can be packed; the first: {reason}"),
                None => "none of its files has relocations to pack".to_owned(),
            };
            return Ok(Prospect::not(self, why));
        }
        let saved = self.planned.bytes_saved();
        let seconds = saved as f64 / subject.device().bandwidth.max(1) as f64;
        let files = counted(self.planned.worth.len() as u64, "file");
        let mut why = format!("{} less to read in {files}", size(saved));
        if let Some((_, reason)) = may_not.first() {
            let left = counted(may_not.len() as u64, "file");
            why.push_str(&format!("; {left} cannot be replaced, the first: {reason}"));
        }
        Ok(Prospect::of(self, Some((subject.cold_seconds() - seconds).max(0.0)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let written = made_once(&self.written, || write(self.planned.clone(), subject))?;
        // Another fix may have changed some files already: those are packed as they are now.
        let changed: Vec<PathBuf> = self
            .files
            .files
            .iter()
            .map(|file| setup.replacement(file))
            .filter(|now| !self.files.files.contains(now))
            .collect();
        let of_changed = match changed.is_empty() {
            true => Written::default(),
            false => write(planned_packing(&changed, &subject.interrupt)?, subject)?,
        };
        for overlay in written.overlays {
            if setup.replacement(&overlay.original) == overlay.original {
                setup.packed.push(overlay.original.clone());
                setup.lay_over([overlay]);
            }
        }
        for Overlay { original: before, replacement } in of_changed.overlays {
            if let Some(original) = self.files.files.iter().find(|file| setup.replacement(file) == before).cloned() {
                setup.packed.push(original.clone());
                setup.uncover(&original);
                setup.lay_over([Overlay { original, replacement }]);
            }
        }
        setup.keep(written.directories);
        setup.keep(of_changed.directories);
        Ok(())
    }
}

impl PackFix {
    /// Removes the files from the plan of which the copies have no room.
    fn refuse_without_room(&mut self) {
        let worth = std::mem::take(&mut self.planned.worth);
        for (files, directory) in by_device(worth, |file| (&file.path, file.after)) {
            match directory {
                Ok(_) => self.planned.worth.extend(files),
                Err(error) => {
                    let reason = error.sentence();
                    self.planned.refused.splice(0..0, files.into_iter().map(|file| (file.path, reason.clone())));
                }
            }
        }
    }
}

/// Writes the copies, each on the file system of its original.
fn write(planned: PlannedPacking, subject: &Subject<'_>) -> Result<Written, AppError> {
    let mut written = Written::default();
    for (files, directory) in by_device(planned.worth, |file| (&file.path, file.after)) {
        let directory = Rc::new(directory?);
        written.overlays.extend(write_packed(&files, &directory, &subject.interrupt)?.overlays);
        written.directories.push(directory);
    }
    Ok(written)
}
