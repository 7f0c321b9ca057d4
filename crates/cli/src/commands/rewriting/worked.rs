//! What became of a file, whichever verb was at work on it.
//!
//! A newcomer might not guess: that a file is gone is no failure. Directories are read before the first file is worked on,
//! and whoever packs a tree in use meets files that were replaced meanwhile.

use std::path::PathBuf;
use std::time::Instant;

use coldstart_rewrite::OriginalFile;

use super::gather::Task;
use super::outcome::{Refused, refused_reasons};
use super::passage::complain_refused;
use super::writing::is_gone;
use crate::error::{CliError, Complaints};
use crate::exit::Exit;
use crate::output::text::heading;

/// What became of a file, with `D` for what only this verb does.
pub(in super::super) struct Worked<D> {
    pub(in super::super) outcome: Outcome<D>,
    /// Seconds it took to read the file and to decide.
    pub(in super::super) plan_seconds: f64,
    /// Where its path leads, if that is a symbolic link.
    pub(in super::super) link_to: Option<PathBuf>,
}

/// What became of a file, in a word.
pub(in super::super) enum Outcome<D> {
    /// What the verb is for, or that there is nothing to do.
    Done(D),
    /// It is left as it is.
    Refused(Refused),
    /// Something broke.
    Failed(CliError),
    /// It was there when the directory was read, and is not any more.
    Gone,
}

/// How long it takes to find out what to do with a file.
pub(in super::super) struct Planning {
    begin: Instant,
    seconds: f64,
}

impl Planning {
    /// Says that it is known now.
    pub(in super::super) fn ends(&mut self) {
        self.seconds = self.begin.elapsed().as_secs_f64();
    }
}

impl<D> Worked<D> {
    /// Opens a file and does the work on it.
    pub(in super::super) fn on(
        task: &Task,
        work: impl FnOnce(&OriginalFile, &mut Planning) -> Result<Outcome<D>, CliError>,
    ) -> Self {
        let mut planning = Planning { begin: Instant::now(), seconds: 0.0 };
        let mut link_to = None;
        let outcome = match OriginalFile::open(&task.path) {
            Ok(original) => {
                link_to = original.facts().is_symlink.then(|| original.real_path().to_owned());
                work(&original, &mut planning).unwrap_or_else(Outcome::Failed)
            }
            Err(_) if !task.is_named && is_gone(&task.path) => Outcome::Gone,
            Err(error) => Outcome::Failed(error.into()),
        };
        Self { outcome, plan_seconds: planning.seconds, link_to }
    }

    /// What the verb did, unless something stood in the way.
    pub(in super::super) fn done(&self) -> Option<&D> {
        match &self.outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Why it is left as it is.
    pub(in super::super) fn refused(&self) -> Option<&Refused> {
        match &self.outcome {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        }
    }

    /// What broke, as a sentence.
    pub(in super::super) fn error(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error.sentence()),
            _ => None,
        }
    }
}

/// The part of a text on many files that says which were refused, and why; nothing if none was.
pub(in super::super) fn refused_part<D>(done: &[(Task, Worked<D>)], all: bool) -> String {
    let refused = done.iter().filter_map(|(task, worked)| Some((task.path.as_path(), worked.refused()?)));
    let reasons = refused_reasons(refused, all);
    if reasons.is_empty() { reasons } else { heading("Refused", "left as they are") + &reasons }
}

/// Hands over what broke, and tells whether a file that was named itself was refused; with `says_why`, says why.
pub(in super::super) fn complain<D>(
    verb: &str,
    done: Vec<(Task, Worked<D>)>,
    says_why: bool,
    complaints: &mut Complaints,
) -> Exit {
    let mut exit = Exit::Done;
    for (task, worked) in done {
        match worked.outcome {
            Outcome::Refused(reason) if task.is_named => {
                exit = Exit::No;
                if says_why {
                    complain_refused(verb, &task.path, &reason);
                }
            }
            Outcome::Failed(error) => complaints.add(error),
            _ => {}
        }
    }
    exit
}
