//! The results: what was tried, what is best, before and after, and what limits the start now.

use std::path::PathBuf;

use coldstart_measure::{Measurement, StartState};
use coldstart_profile::measurement::{Comparison, Summary, Verdict};
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::{JsonPath, WorkingSet};
use serde::Serialize;

use super::advice::Advice;
use super::fix::Prospect;
use super::installation::Baseline;
use super::limit::{LimitedBy, limit, limited_by, medians};
use crate::fix_kind::{FileChange, FixKind};
use crate::install::{ImageToInstall, IndexToInstall};

/// The result of `speedup`.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// The image of the best set, if that is to be installed.
    #[serde(skip)]
    pub(super) image: Option<ImageToInstall>,
    /// The index of the best set, likewise.
    #[serde(skip)]
    pub(super) index: Option<IndexToInstall>,
    /// The state used as cold.
    pub cold: StartState,
    /// Every fix that was asked for: what it would do, or why it does not fit.
    pub prospects: Vec<Prospect>,
    /// Whether files could be changed for the trial only, and how: "root", "user-namespace", or "none".
    pub private_view: &'static str,
    /// Why fixes that change files were not tried: a clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_private_view: Option<String>,
    /// Each fix alone, then sets of them, as measured to choose the best.
    pub trials: Vec<Trial>,
    /// The measurements of the trials, in the order in which they were made. The first command of each is the plain start.
    pub trial_measurements: Vec<Measurement>,
    /// The best of them, measured again against the plain start; empty if nothing could be tried.
    pub fixes: Vec<Step>,
    /// Whether unchanged copies lay over the changed files at the plain start of the last measurement, so that both sides read copies.
    pub before_is_copied: bool,
    /// What else would make it faster, and is not done by a fix.
    pub advice: Vec<Advice>,
    /// What limits the plain start.
    pub limited_by: Option<LimitedBy>,
    /// The limit for a cold start on this device, in seconds: computing and reading overlap entirely, and only used bytes are
    /// read. The hot start, or the used bytes at full bandwidth, whichever takes longer.
    pub limit_seconds: Option<f64>,
    /// Bytes that a start uses.
    pub bytes: u64,
    /// The device's maximum bandwidth.
    pub bytes_per_second: u64,
    /// The measurement before and after.
    pub measurement: Measurement,
    /// Traces of the plain start and of the fixed one, and a page that compares them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// What the plain program does, to compare an installation with.
    #[serde(skip)]
    pub baseline: Baseline,
}

/// Files with traces.
#[derive(Clone, Debug, Serialize)]
pub struct Traces {
    /// The trace of the plain start.
    pub before: JsonPath,
    /// Its path.
    #[serde(skip)]
    pub before_path: PathBuf,
    /// The trace of the start with the fixes.
    pub after: JsonPath,
    /// The page with both.
    pub page: JsonPath,
    /// The page's path.
    #[serde(skip)]
    pub page_path: PathBuf,
    /// The page's file name, printable.
    pub name: String,
    /// A link to it from a page beside it: its name with all bytes but letters, digits and `-._~` escaped (RFC 3986).
    pub link: String,
}

/// A fix, or several together, measured to choose.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// The names of the fixes.
    pub name: String,
    /// Kinds of the fixes.
    pub kinds: Vec<FixKind>,
    /// Median cold start, in seconds; `None` without counted runs.
    pub median: Option<f64>,
    /// Against the plain start in the same rounds; `None` if it was not measured.
    pub comparison: Option<Comparison>,
    /// Median hot start, in seconds; `None` if hot starts were not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_median: Option<f64>,
    /// Against the plain start in the same rounds, hot; `None` likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hot_comparison: Option<Comparison>,
    /// Whether the program is the same with it.
    pub proven: bool,
    /// Why it is not proven, or was not measured: a clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// The result of the best fixes.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The names of the fixes.
    pub fix: String,
    /// Their kinds.
    pub kinds: Vec<FixKind>,
    /// Predicted cold start, in seconds.
    pub predicted: Option<f64>,
    /// Whether no difference was found.
    pub proven: bool,
    /// The comparisons.
    pub findings: Vec<String>,
    /// What could not be checked, because the program itself varies.
    pub unchecked: Vec<String>,
    /// The command to start the program with from now on; for indexes and fixes that change files, the command that installs them.
    pub command: String,
    /// What limits the start with them.
    pub limited_by: Option<LimitedBy>,
    /// What they cost.
    pub cost: Cost,
    /// The files that they change.
    pub changes: Vec<FileChange>,
}

/// What fixes cost, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Size of the plan on the disk.
    pub plan_bytes: u64,
    /// What the plan brings into memory, most of which a plain start does, too. Of an image, its pages lie there twice.
    pub memory_bytes: u64,
    /// Size of the image on the disk.
    pub image_bytes: u64,
    /// Size of the index on the disk.
    pub index_bytes: u64,
    /// Number of changed files.
    pub changed_files: u64,
    /// Bytes by which changed files are smaller.
    pub saved_bytes: u64,
}

/// What is known of the device and the start, for limits.
pub(super) struct LimitFacts<'a> {
    pub(super) device: PlannedDevice,
    pub(super) used_bytes: u64,
    pub(super) cold: StartState,
    pub(super) measurement: &'a Measurement,
}

impl LimitFacts<'_> {
    pub(super) fn limited_by(&self, command: usize) -> Option<LimitedBy> {
        medians(self.measurement, command, self.cold).map(|medians| limited_by(medians, &self.device))
    }

    pub(super) fn limit(&self) -> Option<f64> {
        let hot = medians(self.measurement, 0, self.cold)?.hot;
        Some(limit(hot, self.used_bytes, &self.device))
    }
}

impl Cost {
    pub(super) fn of_plan(&mut self, plan_bytes: u64, working_set: &WorkingSet) {
        self.plan_bytes = plan_bytes;
        self.memory_bytes = working_set.bytes();
    }
}

impl Story {
    /// Whether the best fixes are proven and make the start faster.
    pub fn succeeded(&self) -> bool {
        self.fixes.iter().enumerate().any(|(number, fix)| fix.proven && self.is_faster(number + 1, fix))
    }

    /// Whether a command, with these fixes, starts faster: cold, or hot and not slower cold, if a fix is among them that pays there.
    pub fn is_faster(&self, command: usize, fix: &Step) -> bool {
        let verdict = |state| self.comparison(command, state).map(|found| found.verdict);
        let cold = verdict(self.cold);
        let may_be_hot = fix.kinds.iter().any(|kind| kind.pays_hot());
        let is_hot = may_be_hot && cold != Some(Verdict::Slower) && verdict(StartState::Hot) == Some(Verdict::Faster);
        cold == Some(Verdict::Faster) || is_hot
    }

    /// A command against the plain start, in a state.
    pub fn comparison(&self, command: usize, state: StartState) -> Option<&Comparison> {
        self.measurement.comparisons.iter().find(|found| found.command == command && found.state == state)
    }

    /// The median of a command in a state, in seconds.
    pub fn median(&self, command: usize, state: StartState) -> Option<f64> {
        let of_command = |summary: &&Summary| summary.command == command && summary.state == state;
        self.measurement.summaries.iter().find(of_command)?.median
    }

    /// The label of a command.
    pub fn label(&self, command: usize) -> &str {
        self.measurement.commands.get(command).map_or("?", |command| &command.label)
    }

    /// A command.
    pub fn command_line(&self, command: usize) -> &str {
        self.measurement.commands.get(command).map_or("?", |command| &command.command_line)
    }
}
