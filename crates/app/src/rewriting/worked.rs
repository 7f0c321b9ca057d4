//! The result of a file, for every verb.
//!
//! Not obvious: a missing file is not an error. Directories are read before the first file is processed, and files of a tree
//! in use may be replaced or removed meanwhile.

use std::path::PathBuf;
use std::time::Instant;

use coldstart_rewrite::OriginalFile;

use super::gather::Task;
use super::refused::Refused;
use super::writing::is_gone;
use crate::error::AppError;

/// The result of a file, with `D` for the verb's own result.
#[derive(Debug)]
pub struct Worked<D> {
    /// Its outcome.
    pub outcome: Outcome<D>,
    /// Seconds to read the file and to plan.
    pub plan_seconds: f64,
    /// The target of its path, if that is a symbolic link.
    pub link_to: Option<PathBuf>,
}

/// The outcome of a file.
#[derive(Debug)]
pub enum Outcome<D> {
    /// The verb did its work, or had nothing to do.
    Done(D),
    /// Refused, unchanged.
    Refused(Refused),
    /// An error.
    Failed(AppError),
    /// Removed since the directory was read.
    Gone,
}

/// A timer for planning.
#[derive(Debug)]
pub struct Planning {
    begin: Instant,
    seconds: f64,
}

impl Planning {
    /// Stops the timer.
    pub fn ends(&mut self) {
        self.seconds = self.begin.elapsed().as_secs_f64();
    }
}

impl<D> Worked<D> {
    /// Opens a file and processes it.
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

    /// The verb's own result, if there is one.
    pub fn done(&self) -> Option<&D> {
        match &self.outcome {
            Outcome::Done(done) => Some(done),
            _ => None,
        }
    }

    /// The refusal, if it was refused.
    pub fn refused(&self) -> Option<&Refused> {
        match &self.outcome {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        }
    }

    /// The error as a sentence.
    pub fn error(&self) -> Option<String> {
        match &self.outcome {
            Outcome::Failed(error) => Some(error.sentence()),
            _ => None,
        }
    }
}
