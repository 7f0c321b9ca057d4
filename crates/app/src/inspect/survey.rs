//! What an inspection of one or many files came to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use coldstart_inspect::{Figures, Finding, FindingKind, Inspection};
use coldstart_profile::JsonPath;
use serde::{Serialize, Serializer};

/// Everything that was looked at.
#[derive(Debug, Default, Serialize)]
pub struct Survey {
    /// The objects, in the order in which they were named or found.
    pub objects: Vec<Inspected>,
    /// ELF files that nothing loads, with the reason.
    pub passed_over: Vec<PassedOver>,
    /// Files of directories that are no ELF files, by what they are.
    pub other_files: BTreeMap<String, u64>,
    /// All objects together.
    pub totals: Figures,
    /// What holds the objects together; one for each program of `--closure`.
    pub closures: Vec<ProgramClosure>,
    /// Files that could not be read; the observer was told of each.
    pub errors: u64,
}

/// One object and what was found out.
#[derive(Debug, Serialize)]
pub struct Inspected {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// What it costs, and what could be better.
    #[serde(flatten)]
    pub inspection: Inspection,
}

/// A file that is ordinary and of no concern.
#[derive(Debug, Serialize)]
pub struct PassedOver {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// Why nothing loads it, as a clause.
    pub reason: String,
}

/// A program with all it loads.
#[derive(Debug, Serialize)]
pub struct ProgramClosure {
    /// The program.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// What it loads, itself first, in the order of loading.
    pub objects: Vec<Loaded>,
    /// Files that the loader asks for in vain before it has found all.
    pub failed_probes: u64,
    /// Of these, how many each rule costs, as `RUNPATH`.
    pub failed_probes_by_rule: BTreeMap<String, u64>,
    /// Everything that is loaded, together.
    pub totals: Figures,
    /// Findings about the whole; those about one object stand with it.
    pub findings: Vec<Finding>,
}

/// An object of a closure.
#[derive(Debug, Serialize)]
pub struct Loaded {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// By which rule of the loader it was found, as `RUNPATH`.
    pub found_by: String,
    /// Who needs it; nobody for the program, what is preloaded, and the loader.
    pub needed_by: Option<String>,
    /// How it was found, in words.
    pub explanation: String,
}

impl Survey {
    /// All findings, of objects and of closures.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_objects = self.objects.iter().flat_map(|object| &object.inspection.findings);
        of_objects.chain(self.closures.iter().flat_map(|closure| &closure.findings))
    }

    /// How many objects or closures have each kind of finding.
    pub fn count_findings(&self) -> BTreeMap<FindingKind, u64> {
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
