//! The fix "bind": a program whose libraries are found at the first try.

use super::copies::{TrialDirectory, bound_copy};
use super::fix::{Fix, FixKind, Prospect};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::text::counted;

/// Binds the program.
#[derive(Default)]
pub(super) struct BindFix {
    program: std::path::PathBuf,
}

impl Fix for BindFix {
    fn kind(&self) -> FixKind {
        FixKind::Bind
    }

    fn name(&self) -> &'static str {
        "bind"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        self.program = match subject.elf_files() {
            Ok(files) => files.program.clone(),
            Err(reason) => return Ok(Prospect::not(self, reason)),
        };
        if let Some((_, reason)) = subject.changeable(std::slice::from_ref(&self.program))?.may_not.pop() {
            return Ok(Prospect::not(self, format!("the program cannot be replaced: {reason}")));
        }
        let copies = match TrialDirectory::beside(&self.program, 0, &[]) {
            Ok(copies) => copies,
            Err(error) => return Ok(Prospect::not(self, error.sentence())),
        };
        Ok(match bound_copy(&self.program, &copies, &subject.interrupt) {
            Ok(bound) => {
                let why = format!("{} fewer at each start", counted(bound.probes_saved, "failed probe"));
                // The probes' own time is small; what they cost cold depends on directories that other reads may bring.
                Prospect::of(self, None, why)
            }
            Err(reason) => Prospect::not(self, reason),
        })
    }

    fn add_to(&self, setup: &mut Setup, subject: &Subject<'_>) -> Result<(), AppError> {
        let copies = TrialDirectory::beside(&self.program, 0, &[])?;
        let bound = bound_copy(&self.program, &copies, &subject.interrupt)
            .map_err(|reason| anyhow::anyhow!("cannot bind the program: {reason}"))?;
        setup.cautions.extend(bound.cautions);
        setup.bound = Some(self.program.clone());
        setup.uncover(&self.program);
        setup.lay_over([bound.overlay], copies);
        Ok(())
    }
}
