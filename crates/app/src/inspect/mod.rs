//! `inspect`: the start-up costs of ELF files.

mod closure;
mod look;
mod read;
mod survey;
mod symbol_uses;
mod targets;

use std::collections::BTreeMap;
use std::path::PathBuf;

use coldstart_inspect::FindingKind;
use coldstart_output::{Inputs, OutputTarget};
use coldstart_profile::printable;
use serde::Serialize;

use crate::observer::Observer;

pub use closure::{LoadsOf, search_cost};
pub use read::{ReadError, inspect_bytes, inspect_file};
pub use survey::{Inspected, Loaded, PassedOver, ProgramClosure, Survey};
pub use symbol_uses::SymbolUses;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.inspect/1";

/// What to inspect, and how.
#[derive(Clone)]
pub struct Options<'a> {
    /// ELF files, directories to walk, or names of programs on PATH.
    pub targets: Vec<PathBuf>,
    /// The other side of a comparison: a file, a directory or a program.
    pub compare: Option<PathBuf>,
    /// Also inspects everything that programs load, as resolved by this function. Directories are refused then.
    pub closure: Option<LoadsOf<'a>>,
    /// Whether walks stay on one file system.
    pub one_file_system: bool,
    /// Whether objects of directories keep their long lists, for JSON.
    pub keep_lists: bool,
}

impl Options<'_> {
    /// The input files, which no output may replace.
    pub fn inputs(&self) -> Inputs {
        self.targets
            .iter()
            .chain(&self.compare)
            .fold(Inputs::default(), |inputs, path| inputs.with(format!("the inspected `{}`", printable(path)), path))
    }
}

/// What was found out.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The given files.
    #[serde(flatten)]
    pub survey: Survey,
    /// The other side of a comparison, used as "before".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<Survey>,
}

impl Report {
    /// Whether one side of the comparison has no inspected objects.
    pub fn has_empty_side(&self) -> bool {
        self.surveys().any(|survey| survey.objects.is_empty())
    }

    /// Adds all inspected files to those that an output must not replace: files found below directories or loaded by programs
    /// are known only now.
    pub fn add_inputs(&self, place: &mut OutputTarget) {
        for object in self.surveys().flat_map(|survey| &survey.objects) {
            place.add_input(format!("the inspected `{}`", printable(&object.path)), &object.path);
        }
    }

    /// Kinds of findings only in the other side, and those only in the given files.
    pub fn findings_apart(&self) -> (Vec<FindingKind>, Vec<FindingKind>) {
        let now = self.survey.count_findings();
        let before = self.compared_with.as_ref().map(Survey::count_findings).unwrap_or_default();
        let only_in = |these: &BTreeMap<FindingKind, u64>, others: &BTreeMap<FindingKind, u64>| {
            these.keys().filter(|kind| !others.contains_key(kind)).copied().collect()
        };
        (only_in(&before, &now), only_in(&now, &before))
    }

    fn surveys(&self) -> impl Iterator<Item = &Survey> {
        std::iter::once(&self.survey).chain(&self.compared_with)
    }
}

/// Reads the files in parallel. None is run or changed. Errors for given files go to the observer; other files in directories
/// are counted in the report.
pub fn inspect(options: &Options<'_>, observer: &dyn Observer) -> Report {
    let survey = look::survey(&options.targets, options, observer);
    let other = |other| look::survey(std::slice::from_ref(other), options, observer);
    Report { survey, compared_with: options.compare.as_ref().map(other) }
}
