//! What became of a file, whichever verb was at work on it.
//!
//! A newcomer might not guess: that a file is gone is no failure. Directories are read before the first file is worked on,
//! and whoever packs a tree in use meets files that were replaced meanwhile.

use std::path::PathBuf;
use std::time::Instant;

use coldstart_rewrite::OriginalFile;

use super::gather::Task;
use super::refused::Refused;
use super::writing::is_gone;
use crate::error::AppError;

/// What became of a file, with `D` for what only this verb does.
#[derive(Debug)]
pub struct Worked<D> {
    /// What came of it.
    pub outcome: Outcome<D>,
    /// Seconds it took to read the file and to decide.
    pub plan_seconds: f64,
    /// Where its path leads, if that is a symbolic link.
    pub link_to: Option<PathBuf>,
}

/// What became of a file, in a word.
#[derive(Debug)]
pub enum Outcome<D> {
    /// What the verb is for, or that there is nothing to do.
    Done(D),
    /// It is left as it is.
    Refused(Refused),
    /// Something broke.
    Failed(AppError),
    /// It was there when the directory was read, and is not any more.
    Gone,
}

/// How long it takes to find out what to do with a file.
#[derive(Debug)]
pub struct Planning {
    begin: Instant,
    seconds: f64,
}

impl Planning {
    /// Says that it is known now.
    pub fn ends(&mut self) {
        self.seconds = self.begin.elapsed().as_secs_f64();
    }
}

impl<D> Worked<D> {
    /// Opens a file and does the work on it.
    pub fn on(task: &Task, work: impl FnOnce(&OriginalFile, &mut Planning) -> Result<Outcome<D>, AppError>) -> Self {
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
    pub fn done(&self) -> Option<&D> {
        match &self.outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// Why it is left as it is.
    pub fn refused(&self) -> Option<&Refused> {
        match &self.outcome {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        }
    }

    /// What broke, as a sentence.
    pub fn error(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error.sentence()),
            _ => None,
        }
    }
}
