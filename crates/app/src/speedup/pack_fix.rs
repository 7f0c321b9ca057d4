//! The fix "pack": packed relocations in the program and all its libraries.

use super::copies::{ProgramFiles, TrialDirectory, packed_copies};
use super::fix::{Fix, FixKind, Prospect};
use super::setup::Setup;
use super::subject::{Changeable, Subject};
use crate::error::AppError;
use crate::text::{counted, size};

/// Packs every object of the program.
#[derive(Default)]
pub(super) struct PackFix {
    files: ProgramFiles,
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
        let planned = match super::copies::planned_packing(&self.files.files, &subject.interrupt) {
            Ok(planned) => planned,
            Err(error) => return Ok(Prospect::not(self, error.sentence())),
        };
        if planned.files == 0 {
            let why = match planned.refused.first().or(may_not.first()) {
                Some((_, reason)) => format!("none of its files can be packed; the first: {reason}"),
                None => "none of its files has relocations to pack".to_owned(),
            };
            return Ok(Prospect::not(self, why));
        }
        let saved = planned.bytes_saved as f64 / subject.device().bandwidth.max(1) as f64;
        let files = counted(planned.files as u64, "file");
        let mut why = format!("{} less to read in {files}", size(planned.bytes_saved));
        if let Some((_, reason)) = may_not.first() {
            let left = counted(may_not.len() as u64, "file");
            why.push_str(&format!("; {left} cannot be replaced, the first: {reason}"));
        }
        Ok(Prospect::of(self, Some((subject.cold_seconds() - saved).max(0.0)), why))
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let copies = TrialDirectory::beside(&self.files.program, 0, &[])?;
        // Another fix may have changed some of them already.
        let now: Vec<_> = self.files.files.iter().map(|file| setup.replacement(file)).collect();
        let mut packed = packed_copies(&now, &copies, &subject.interrupt)?;
        for overlay in &mut packed.overlays {
            if let Some((original, _)) = self.files.files.iter().zip(&now).find(|(_, now)| **now == overlay.original) {
                setup.uncover(original);
                overlay.original.clone_from(original);
            }
        }
        setup.bytes_saved += packed.bytes_saved;
        setup.packed.extend(packed.overlays.iter().map(|overlay| overlay.original.clone()));
        setup.lay_over(packed.overlays, copies);
        Ok(())
    }
}
