//! The fix "bind": a program whose libraries are found at the first try.
//!
//! Of the programs that a start executes (a wrapper in shell, the program itself, its helpers), the one that gains most is bound.

use std::path::Path;
use std::rc::Rc;

use coldstart_profile::printable;

use super::copies::{BoundCopy, TrialDirectory, bound_copy};
use super::fix::{Fix, Prospect};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::AppError;
use crate::fix_kind::FixKind;
use crate::text::counted;

/// A bound program, and the directory that it is in.
type Written = (BoundCopy, Rc<TrialDirectory>);

/// Binds a program of the start.
#[derive(Default)]
pub(super) struct BindFix {
    /// Written for the prediction; all trials use it.
    written: Option<Written>,
}

impl Fix for BindFix {
    fn kind(&self) -> FixKind {
        FixKind::Bind
    }

    fn name(&self) -> &'static str {
        "bind"
    }

    fn predict(&mut self, subject: &Subject<'_>) -> Result<Prospect, AppError> {
        let programs = match subject.executed_programs() {
            Ok(programs) => programs,
            Err(reason) => return Ok(Prospect::not(self, reason)),
        };
        let may_not = subject.changeable(&programs)?.may_not;
        let mut refused = None;
        for program in &programs {
            let written = match may_not.iter().find(|(file, _)| file == program) {
                Some((_, reason)) => Err(format!("the program cannot be replaced: {reason}")),
                None => write(program, subject),
            };
            let saved = |written: &Option<Written>| written.as_ref().map_or(0, |(bound, _)| bound.probes_saved);
            match written {
                Ok(written) if written.0.probes_saved > saved(&self.written) => self.written = Some(written),
                Ok(_) => {}
                Err(reason) => refused = refused.or(Some((program, reason))),
            }
        }
        Ok(match (&self.written, refused) {
            (Some((bound, _)), _) => {
                let saved = counted(bound.probes_saved, "failed probe");
                let program = &bound.overlay.original;
                let why = match programs.first() == Some(program) {
                    true => format!("{saved} fewer at each start"),
                    false => format!("{saved} fewer in `{}` at each start", printable(program)),
                };
                // The probes' own time is small; what they cost cold depends on directories that other reads may bring.
                Prospect::of(self, None, why)
            }
            (None, Some((program, reason))) if programs.len() > 1 => {
                let all = counted(programs.len() as u64, "program");
                Prospect::not(self, format!("none of the {all} of the start gains; `{}`: {reason}", printable(program)))
            }
            (None, Some((_, reason))) => Prospect::not(self, reason),
            (None, None) => Prospect::not(self, "the start executes no program that can be bound"),
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

/// Binds a copy beside the program.
///
/// # Errors
/// Why not, as a clause.
fn write(program: &Path, subject: &Subject<'_>) -> Result<Written, String> {
    // A bound copy is larger by its new tables, which are small.
    let room = program.metadata().map_or(0, |found| found.len()).saturating_add(ROOM_FOR_TABLES);
    let copies = TrialDirectory::beside(program, room, &[]).map_err(|error| error.sentence())?;
    Ok((bound_copy(program, &copies, &subject.interrupt)?, Rc::new(copies)))
}

/// Bytes for the directory of links and what the bound program has more.
const ROOM_FOR_TABLES: u64 = 1 << 20;
