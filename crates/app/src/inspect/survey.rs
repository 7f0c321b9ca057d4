//! The results of an inspection.

use std::collections::BTreeMap;
use std::path::PathBuf;

use coldstart_inspect::{Figures, Finding, FindingKind, Inspection};
use coldstart_profile::JsonPath;
use serde::{Serialize, Serializer};

/// All inspected files.
#[derive(Debug, Default, Serialize)]
pub struct Survey {
    /// The objects, in the order of arguments and walks.
    pub objects: Vec<Inspected>,
    /// Non-loadable ELF files, with the reason.
    pub passed_over: Vec<PassedOver>,
    /// Non-ELF files in directories, by kind.
    pub other_files: BTreeMap<String, u64>,
    /// Totals of all objects.
    pub totals: Figures,
    /// One closure for each program of `--closure`.
    pub closures: Vec<ProgramClosure>,
    /// Number of unreadable files; each was reported to the observer.
    pub errors: u64,
}

/// One inspected object.
#[derive(Debug, Serialize)]
pub struct Inspected {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// Its costs and findings.
    #[serde(flatten)]
    pub inspection: Inspection,
}

/// A skipped file.
#[derive(Debug, Serialize)]
pub struct PassedOver {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// Why it is not loadable, as a clause.
    pub reason: String,
}

/// A program with all it loads.
#[derive(Debug, Serialize)]
pub struct ProgramClosure {
    /// The program.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// Its objects, itself first, in load order.
    pub objects: Vec<Loaded>,
    /// Number of failed probes.
    pub failed_probes: u64,
    /// Failed probes by rule, such as `RUNPATH`.
    pub failed_probes_by_rule: BTreeMap<String, u64>,
    /// Totals of all loaded objects.
    pub totals: Figures,
    /// Findings on the whole program; those on one object are with it.
    pub findings: Vec<Finding>,
}

/// An object of a closure.
#[derive(Debug, Serialize)]
pub struct Loaded {
    /// The file.
    #[serde(flatten, serialize_with = "json_path")]
    pub path: PathBuf,
    /// The loader's rule that found it, such as `RUNPATH`.
    pub found_by: String,
    /// The requesting object; `None` for the program, preloaded objects and the loader.
    pub needed_by: Option<String>,
    /// How it was found, as text.
    pub explanation: String,
}

impl Survey {
    /// All findings, of objects and of closures.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let of_objects = self.objects.iter().flat_map(|object| &object.inspection.findings);
        of_objects.chain(self.closures.iter().flat_map(|closure| &closure.findings))
    }

    /// Number of objects or closures with each kind of finding.
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
