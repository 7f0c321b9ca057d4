//! The story as it is told: before, after, hot, and the limit that no fix can pass.

use std::time::Duration;

use coldstart_measure::{Measurement, StartState};
use coldstart_profile::measurement::{Comparison, Interval, Summary, Verdict};
use coldstart_profile::plan::PlannedDevice;
use serde::Serialize;

use crate::commands::measure::report::{FIGURES, figures, judged, machine_line, range};
use crate::output::size;
use crate::output::table::{Align, Table};
use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// Everything there is to tell.
#[derive(Serialize)]
pub(crate) struct Story {
    /// The state that stands for cold.
    cold: StartState,
    /// The fixes, in the order of the measurement's commands behind the first.
    fixes: Vec<Step>,
    /// The least cold start that this device allows, in seconds: all bytes at full bandwidth, then a hot start. Waiting
    /// and computing at the same time can pass it.
    limit_seconds: Option<f64>,
    /// Bytes that a cold start leaves in the page cache.
    bytes: u64,
    bytes_per_second: u64,
    measurement: Measurement,
}

/// One fix's part.
#[derive(Serialize)]
pub(crate) struct Step {
    pub(crate) fix: &'static str,
    /// Predicted cold start, in seconds.
    pub(crate) predicted: Option<f64>,
    pub(crate) proven: bool,
    pub(crate) findings: Vec<String>,
    /// What could not be checked, because the program varies by itself.
    pub(crate) unchecked: Vec<String>,
    /// What to run from now on.
    pub(crate) command: String,
}

impl Story {
    pub(crate) fn new(
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

    /// Whether some fix is proven and makes the cold start faster.
    pub(crate) fn succeeded(&self) -> bool {
        self.fixes.iter().enumerate().any(|(number, fix)| {
            fix.proven && self.comparison(number + 1, self.cold).is_some_and(|found| found.verdict == Verdict::Faster)
        })
    }

    /// The whole story, in at most 100 columns.
    pub(crate) fn in_words(&self) -> String {
        let mut text = machine_line(&self.measurement.machine);
        text.push_str(&wrapped(&format!("program: {}", self.command_line(0)), 0));
        text.push('\n');
        text.push_str(&self.table());
        text.push('\n');
        for (number, fix) in self.fixes.iter().enumerate() {
            text.push_str(&self.fix_in_words(number + 1, fix));
        }
        for warning in &self.measurement.warnings {
            text.push_str(&wrapped(&format!("warning: {warning}"), 0));
        }
        text
    }

    fn table(&self) -> String {
        let mut columns = vec![("start", Align::Left)];
        columns.extend(FIGURES);
        let mut table = Table::new(&columns);
        for state in [self.cold, StartState::Hot] {
            for summary in self.measurement.summaries.iter().filter(|summary| summary.state == state) {
                let mut row = vec![format!("{state}, {}", self.label(summary.command))];
                row.extend(figures(summary));
                table.row(row);
            }
        }
        if let Some(limit) = self.limit_seconds {
            let figure = |(name, _)| match name {
                "median" => seconds(limit),
                "read" => size::bytes(self.bytes),
                _ => String::new(),
            };
            table.row(std::iter::once("limit".to_owned()).chain(FIGURES.map(figure)).collect());
        }
        let mut text = table.render();
        text.push_str(&wrapped(
            &format!(
                "limit: {} at {} MB/s, then a hot start; reading while the program computes can pass it",
                size::bytes(self.bytes),
                self.bytes_per_second / 1_000_000
            ),
            0,
        ));
        text
    }

    fn fix_in_words(&self, command: usize, fix: &Step) -> String {
        let mut text = String::new();
        for (state, name) in [(self.cold, self.cold.name()), (StartState::Hot, "hot")] {
            if let Some(comparison) = self.comparison(command, state) {
                text.push_str(&wrapped(&comparison_sentence(fix.fix, name, comparison), 0));
            }
        }
        if let (Some(predicted), Some(measured)) = (fix.predicted, self.median(command, self.cold)) {
            text.push_str(&wrapped(&format!("predicted {}, measured {}", seconds(predicted), seconds(measured)), 0));
        }
        let proof = match (fix.proven, fix.unchecked.is_empty()) {
            (true, true) => "proven",
            (true, false) => "proven as far as it can be",
            (false, _) => "NOT PROVEN",
        };
        text.push_str(&wrapped(&format!("{proof}: {}", fix.findings.join("; ")), 0));
        if !fix.unchecked.is_empty() {
            text.push_str(&wrapped(&format!("could not be checked: {}", fix.unchecked.join("; ")), 0));
        }
        let faster = self.comparison(command, self.cold).is_some_and(|found| found.verdict == Verdict::Faster);
        if faster && fix.proven {
            // Not wrapped: it is there to be copied.
            text.push_str(&format!("run from now on: {}\n", fix.command));
        } else if fix.proven {
            text.push_str(&wrapped("nothing to change: no gain has been shown on this device", 0));
        } else {
            text.push_str(&wrapped("do not use it: the program is not the same with it", 0));
        }
        text
    }

    fn comparison(&self, command: usize, state: StartState) -> Option<&Comparison> {
        self.measurement.comparisons.iter().find(|found| found.command == command && found.state == state)
    }

    fn median(&self, command: usize, state: StartState) -> Option<f64> {
        let of_command = |summary: &&Summary| summary.command == command && summary.state == state;
        self.measurement.summaries.iter().find(of_command)?.median
    }

    fn label(&self, command: usize) -> &str {
        self.measurement.commands.get(command).map_or("?", |command| &command.label)
    }

    fn command_line(&self, command: usize) -> &str {
        self.measurement.commands.get(command).map_or("?", |command| &command.command_line)
    }
}

/// "cold: 3.70 times as fast with prefetch (95 %: 3.60 to 3.90): faster (99 %: 3.52 to 3.98)".
fn comparison_sentence(fix: &str, state: &str, comparison: &Comparison) -> String {
    let Some(ratio) = comparison.ratio.filter(|&ratio| ratio > 0.0) else {
        return format!("{state}: cannot be compared, one side has no times");
    };
    let (interval, wide) = (comparison.interval, comparison.wide_interval);
    let verdict = comparison.verdict;
    match verdict {
        Verdict::Faster => {
            // A speed is the reciprocal of a time.
            let speeds = |times: Interval| {
                let speeds = Interval { low: 1.0 / times.high, high: 1.0 / times.low, ..times };
                (times.low > 0.0).then_some(speeds)
            };
            let (interval, wide) = (interval.and_then(speeds), wide.and_then(speeds));
            let in_words = |value: f64| format!("{value:.2}");
            let range = range(interval.as_ref(), in_words);
            let judged = judged(verdict, wide.as_ref(), in_words);
            format!("{state}: {:.2} times as fast with {fix}{range}: {judged}", 1.0 / ratio)
        }
        verdict => {
            let in_words = |value: f64| format!("{value:.3}");
            let range = range(interval.as_ref(), in_words);
            let judged = judged(verdict, wide.as_ref(), in_words);
            format!("{state}: {ratio:.3} of the time with {fix}{range}: {judged}")
        }
    }
}
