//! `resolve`: how the dynamic loader finds each library of a program, and why. Nothing is run.

mod dlopen_notes;
mod json_form;
mod known_later;
mod notable;
mod resolution;
mod rules;

use std::path::PathBuf;

use coldstart_startup::StartOptions;
use serde::Serialize;

use crate::error::AppError;
use crate::observer::Observer;

pub use dlopen_notes::{Alternative, DlopenHint, DlopenNotes, Found};
pub use known_later::{LaterSources, Opened};
pub use notable::LateDirectory;
pub use resolution::{Mentions, Resolution};
pub use rules::kind;

/// The name and version of the answer as JSON.
pub const SCHEMA: &str = "coldstart.resolve/1";

/// What shall be resolved, and under which conditions.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Programs or libraries: paths, or names on `PATH`.
    pub programs: Vec<PathBuf>,
    /// Where they are thought to start, and how.
    pub start: StartOptions,
    /// What knows which files they open later.
    pub later: LaterSources,
}

/// What was found out.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The programs that could be looked at, in the order in which they were named.
    pub programs: Vec<Resolution>,
}

impl Answer {
    /// Whether each of these programs would start.
    pub fn is_complete(&self) -> bool {
        self.programs.iter().all(Resolution::is_complete)
    }
}

/// Follows the loader's rules for each program. The observer is told of each that cannot be looked at.
///
/// # Errors
/// When what knows of files that are opened later cannot be read.
pub fn resolve(options: &Options, observer: &dyn Observer) -> Result<Answer, AppError> {
    let known_later = known_later::gather(&options.later)?;
    let mut programs = Vec::new();
    for program in &options.programs {
        match Resolution::find(program, &options.start, known_later.as_deref(), observer) {
            Ok(resolution) => programs.push(resolution),
            Err(error) => observer.error(error),
        }
    }
    Ok(Answer { programs })
}
