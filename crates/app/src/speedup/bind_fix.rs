//! The fix "bind": a program whose libraries are found at the first try.

use std::rc::Rc;

use super::copies::{BoundCopy, TrialDirectory, bound_copy};
use super::fix::{Fix, Prospect};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::text::counted;

/// Binds the program.
#[derive(Default)]
pub(super) struct BindFix {
    /// Written for the prediction; all trials use it.
    written: Option<(BoundCopy, Rc<TrialDirectory>)>,
}

impl Fix for BindFix {
    fn kind(&self) -> FixKind {
        FixKind::Bind
    }

    fn name(&self) -> &'static str {
        "bind"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        let program = match subject.elf_files() {
            Ok(files) => &files.program,
            Err(reason) => return Ok(Prospect::not(self, reason)),
        };
        if let Some((_, reason)) = subject.changeable(std::slice::from_ref(program))?.may_not.pop() {
            return Ok(Prospect::not(self, format!("the program cannot be replaced: {reason}")));
        }
        // A bound copy is larger by its new tables, which are small.
        let room = program.metadata().map_or(0, |found| found.len()).saturating_add(ROOM_FOR_TABLES);
        let copies = match TrialDirectory::beside(program, room, &[]) {
            Ok(copies) => copies,
            Err(error) => return Ok(Prospect::not(self, error.sentence())),
        };
        Ok(match bound_copy(program, &copies, &subject.interrupt) {
            Ok(bound) => {
                let why = format!("{} fewer at each start", counted(bound.probes_saved, "failed probe"));
                self.written = Some((bound, Rc::new(copies)));
                // The probes' own time is small; what they cost cold depends on directories that other reads may bring.
                Prospect::of(self, None, why)
            }
            Err(reason) => Prospect::not(self, reason),
        })
    }

    fn add_to(&self, setup: &mut Setup, _subject: &Subject<'_>) -> Result<(), AppError> {
        let Some((bound, directory)) = &self.written else {
            return Err(anyhow::anyhow!("the program was not bound").into());
        };
        setup.cautions.extend(bound.cautions.iter().cloned());
        let overlay = bound.overlay.clone();
        setup.bound = Some(overlay.original.clone());
        setup.uncover(&overlay.original);
        setup.lay_over([overlay]);
        setup.keep([Rc::clone(directory)]);
        Ok(())
    }
}

/// Bytes for the directory of links and what the bound program has more.
const ROOM_FOR_TABLES: u64 = 1 << 20;
