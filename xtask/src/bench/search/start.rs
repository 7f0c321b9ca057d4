//! How a program of a world is started.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::super::runner::{shown, words};
use super::super::workshop::{Workshop, text};

/// A program with what it is given.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
}

impl Start {
    pub(super) fn new(program: &Path) -> Self {
        Self { program: program.to_owned(), arguments: Vec::new() }
    }

    /// The same start of another file.
    pub(super) fn of(&self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self.clone() }
    }

    /// The command.
    pub(super) fn command(&self) -> Vec<String> {
        [vec![text(&self.program)], self.arguments.clone()].concat()
    }

    /// `command` with `more` in its environment.
    pub(super) fn within(&self, more: &[&str], command: &[String]) -> Vec<String> {
        let mut within = words(["env"]);
        within.extend(more.iter().map(|&pair| pair.to_owned()));
        within.extend_from_slice(command);
        within
    }

    /// Starts it once and returns what it printed.
    ///
    /// # Errors
    /// When it fails.
    pub(super) fn printed(&self, workshop: &Workshop) -> Result<String> {
        let command = self.within(&[], &self.command());
        let said = workshop.runner.said(&command)?;
        ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
        Ok(said.stdout)
    }
}
