//! The results: before, after, hot, and the limit for all fixes.

use std::time::Duration;

use coldstart_measure::{Measurement, StartState};
use coldstart_profile::measurement::{Comparison, Summary, Verdict};
use coldstart_profile::plan::PlannedDevice;
use serde::Serialize;

/// The result of `doctor`.
#[derive(Clone, Debug, Serialize)]
pub struct Story {
    /// The state used as cold.
    pub cold: StartState,
    /// The fixes, in the order of the measured commands after the first.
    pub fixes: Vec<Step>,
    /// The limit for a cold start on this device, in seconds: all bytes at full bandwidth, then a hot start. Reading in
    /// parallel with computing can be faster.
    pub limit_seconds: Option<f64>,
    /// Bytes in the page cache after a cold start.
    pub bytes: u64,
    /// The device's maximum bandwidth.
    pub bytes_per_second: u64,
    /// The measurement before and after.
    pub measurement: Measurement,
}

/// The result of one fix.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The fix's name.
    pub fix: &'static str,
    /// Predicted cold start, in seconds.
    pub predicted: Option<f64>,
    /// Whether no difference was found.
    pub proven: bool,
    /// The comparisons.
    pub findings: Vec<String>,
    /// What could not be checked, because the program itself varies.
    pub unchecked: Vec<String>,
    /// The command to use from now on.
    pub command: String,
}

impl Story {
    pub(super) fn new(
        measurement: Measurement,
        fixes: Vec<Step>,
        cold: StartState,
        bytes: u64,
        device: PlannedDevice,
        transfer: Duration,
    ) -> Self {
        let mut story =
            Self { cold, fixes, limit_seconds: None, bytes, bytes_per_second: device.bandwidth, measurement };
        story.limit_seconds = story.median(0, StartState::Hot).map(|hot| hot + transfer.as_secs_f64());
        story
    }

    /// Whether a fix is proven and makes the cold start faster.
    pub fn succeeded(&self) -> bool {
        self.fixes.iter().enumerate().any(|(number, fix)| {
            fix.proven && self.comparison(number + 1, self.cold).is_some_and(|found| found.verdict == Verdict::Faster)
        })
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
