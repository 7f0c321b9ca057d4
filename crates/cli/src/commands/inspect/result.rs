//! What an inspection of one or many files came to: the data that tables, pictures and JSON show.

use std::collections::BTreeMap;
use std::path::PathBuf;

use coldstart_inspect::{Figures, Finding, FindingKind, Inspection};
use serde::{Serialize, Serializer};

use crate::output::path::JsonPath;

/// Everything that was looked at.
#[derive(Debug, Default, Serialize)]
pub(super) struct Survey {
    /// The objects, in the order in which they were named or found.
    pub(super) objects: Vec<Inspected>,
    /// ELF files that nothing loads, with the reason.
    pub(super) passed_over: Vec<PassedOver>,
    /// Files of directories that are no ELF files, by what they are.
    pub(super) other_files: BTreeMap<String, u64>,
    /// All objects together.
    pub(super) totals: Figures,
    /// What holds the objects together; one for each program of `--closure`.
    pub(super) closures: Vec<ProgramClosure>,
    /// Files that could not be read; each has been complained about.
    pub(super) errors: u64,
}

/// One object and what was found out.
#[derive(Debug, Serialize)]
pub(super) struct Inspected {
    #[serde(flatten, serialize_with = "json_path")]
    pub(super) path: PathBuf,
    #[serde(flatten)]
    pub(super) inspection: Inspection,
}

/// A file that is ordinary and of no concern.
#[derive(Debug, Serialize)]
pub(super) struct PassedOver {
    #[serde(flatten, serialize_with = "json_path")]
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

/// A program with all it loads.
#[derive(Debug, Serialize)]
pub(super) struct ProgramClosure {
    /// The program.
    #[serde(flatten, serialize_with = "json_path")]
    pub(super) path: PathBuf,
    /// What it loads, itself first, in the order of loading.
    pub(super) objects: Vec<Loaded>,
    /// Files that the loader asks for in vain before it has found all.
    pub(super) failed_probes: u64,
    /// Of these, how many each rule costs, as `RUNPATH`.
    pub(super) failed_probes_by_rule: BTreeMap<String, u64>,
    /// Everything that is loaded, together.
    pub(super) totals: Figures,
    /// Findings about the whole; those about one object stand with it.
    pub(super) findings: Vec<Finding>,
}

/// An object of a closure.
#[derive(Debug, Serialize)]
pub(super) struct Loaded {
    #[serde(flatten, serialize_with = "json_path")]
    pub(super) path: PathBuf,
    /// By which rule of the loader it was found, as `RUNPATH`.
    pub(super) found_by: String,
    /// Who needs it; nobody for the program, what is preloaded, and the loader.
    pub(super) needed_by: Option<String>,
    /// How it was found, in words.
    pub(super) explanation: String,
}

impl Survey {
    /// All findings, of objects and of closures.
    pub(super) fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_objects = self.objects.iter().flat_map(|object| &object.inspection.findings);
        of_objects.chain(self.closures.iter().flat_map(|closure| &closure.findings))
    }

    /// How many objects or closures have each kind of finding.
    pub(super) fn count_findings(&self) -> BTreeMap<FindingKind, u64> {
        let mut counts = BTreeMap::new();
        for finding in self.findings() {
            *counts.entry(finding.kind).or_insert(0) += 1;
        }
        counts
    }
}

#[expect(clippy::ptr_arg, reason = "serde hands over the field as it is")]
fn json_path<S: Serializer>(path: &PathBuf, serializer: S) -> Result<S::Ok, S::Error> {
    JsonPath::new(path).serialize(serializer)
}
