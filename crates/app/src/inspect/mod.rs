//! `inspect`: what in these ELF files costs start-up time.

mod closure;
mod look;
mod read;
mod survey;
mod targets;

use std::path::PathBuf;

use serde::Serialize;

use crate::observer::Observer;

pub use closure::LoadsOf;
pub use read::{ReadError, inspect_file};
pub use survey::{Inspected, Loaded, PassedOver, ProgramClosure, Survey};

/// The name and version of the report as JSON.
pub const SCHEMA: &str = "coldstart.inspect/1";

/// What shall be inspected, and how.
#[derive(Clone)]
pub struct Options<'a> {
    /// ELF files, directories to walk, or names of programs on PATH.
    pub targets: Vec<PathBuf>,
    /// What they are compared with: a file, a directory or a program.
    pub compare: Option<PathBuf>,
    /// Inspects everything that programs load, too: how it is worked out what that is. Directories are refused then.
    pub closure: Option<LoadsOf<'a>>,
    /// Whether walks stay in the file system of their root.
    pub one_file_system: bool,
    /// Whether objects of directories keep their long lists, which only a machine reads.
    pub keep_lists: bool,
}

/// What was found out.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Of what was named.
    #[serde(flatten)]
    pub survey: Survey,
    /// Of what it is compared with; it counts as "before".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<Survey>,
}

/// Reads the files, several at a time. None is run or changed. The observer is told of each that was named and cannot be
/// inspected; files of directories that are nothing to inspect are counted in the report.
pub fn inspect(options: &Options<'_>, observer: &dyn Observer) -> Report {
    let survey = look::survey(&options.targets, options, observer);
    let other = |other| look::survey(std::slice::from_ref(other), options, observer);
    Report { survey, compared_with: options.compare.as_ref().map(other) }
}
