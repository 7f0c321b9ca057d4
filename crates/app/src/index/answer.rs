//! What the recorded interpreter says when it compiles a part of an index.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use coldstart_index::Language;
use coldstart_launch::{CommandLine, LaunchOptions, Output, launch};
use coldstart_profile::printable;

use crate::error::{AppError, HintExt};

/// An interpreter at work for the index.
pub(super) struct Compiler<'a> {
    pub(super) language: Language,
    pub(super) interpreter: PathBuf,
    pub(super) arguments: Vec<OsString>,
    /// Where its answer goes, a temporary file.
    pub(super) answer: PathBuf,
    /// The oldest version that can do it.
    pub(super) oldest: &'a str,
}

impl Compiler<'_> {
    /// Runs it, with the limits of the program's own starts. Returns what it printed.
    ///
    /// # Errors
    /// If it cannot be started, or fails: with its last line.
    pub(super) fn run(self, options: &LaunchOptions) -> Result<String, AppError> {
        let command = CommandLine::new(&self.interpreter, self.arguments);
        let options = LaunchOptions {
            output: Output::File(self.answer.clone()),
            time_limit: options.time_limit,
            grace: options.grace,
            interrupt: options.interrupt.clone(),
            ..LaunchOptions::default()
        };
        let launched = launch(&command, &options, None, &mut || {})?;
        let name = self.language.name();
        let printed = fs::read(&self.answer).with_context(|| format!("cannot read {name}'s answer"))?;
        let printed = String::from_utf8_lossy(&printed).into_owned();
        if launched.succeeded() {
            return Ok(printed);
        }
        let last = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        let interpreter = printable(&self.interpreter);
        Err(anyhow!("`{interpreter}` cannot compile the index: it {}: {last}", launched.end))
            .hint(|| format!("is there room on the file system of the index? An index needs {name} {}", self.oldest))
    }
}
