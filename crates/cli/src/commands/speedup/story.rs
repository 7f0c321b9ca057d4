//! The text report of `speedup`.

use coldstart_app::speedup::{Step, Story};
use coldstart_profile::measurement::{Comparison, Interval, StartState, Verdict};

use crate::commands::measure::report::{FIGURES, figures, judged, machine_line, range};
use crate::output::size;
use crate::output::table::{Align, Table};
use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// The whole report, in at most 100 columns.
pub(super) fn in_words(story: &Story) -> String {
    let mut text = machine_line(&story.measurement.machine);
    text.push_str(&wrapped(&format!("program: {}", story.command_line(0)), 0));
    text.push('\n');
    text.push_str(&table(story));
    text.push('\n');
    for (number, fix) in story.fixes.iter().enumerate() {
        text.push_str(&fix_in_words(story, number + 1, fix));
    }
    for warning in &story.measurement.warnings {
        text.push_str(&wrapped(&format!("warning: {warning}"), 0));
    }
    text
}

fn table(story: &Story) -> String {
    let mut columns = vec![("start", Align::Left)];
    columns.extend(FIGURES);
    let mut table = Table::new(&columns);
    for state in [story.cold, StartState::Hot] {
        for summary in story.measurement.summaries.iter().filter(|summary| summary.state == state) {
            let mut row = vec![format!("{state}, {}", story.label(summary.command))];
            row.extend(figures(summary));
            table.row(row);
        }
    }
    if let Some(limit) = story.limit_seconds {
        let figure = |(name, _)| match name {
            "median" => seconds(limit),
            "read" => size::bytes(story.bytes),
            _ => String::new(),
        };
        table.row(std::iter::once("limit".to_owned()).chain(FIGURES.map(figure)).collect());
    }
    let mut text = table.render();
    text.push_str(&wrapped(
        &format!(
            "limit: {} at {} MB/s, then a hot start; reading in parallel with computing can be faster",
            size::bytes(story.bytes),
            story.bytes_per_second / 1_000_000
        ),
        0,
    ));
    text
}

fn fix_in_words(story: &Story, command: usize, fix: &Step) -> String {
    let mut text = String::new();
    for (state, name) in [(story.cold, story.cold.name()), (StartState::Hot, "hot")] {
        if let Some(comparison) = story.comparison(command, state) {
            text.push_str(&wrapped(&comparison_sentence(fix.fix, name, comparison), 0));
        }
    }
    if let (Some(predicted), Some(measured)) = (fix.predicted, story.median(command, story.cold)) {
        text.push_str(&wrapped(&format!("predicted {}, measured {}", seconds(predicted), seconds(measured)), 0));
    }
    let proof = match (fix.proven, fix.unchecked.is_empty()) {
        (true, true) => "proven",
        (true, false) => "proven as far as possible",
        (false, _) => "NOT PROVEN",
    };
    text.push_str(&wrapped(&format!("{proof}: {}", fix.findings.join("; ")), 0));
    if !fix.unchecked.is_empty() {
        text.push_str(&wrapped(&format!("could not be checked: {}", fix.unchecked.join("; ")), 0));
    }
    let faster = story.comparison(command, story.cold).is_some_and(|found| found.verdict == Verdict::Faster);
    if faster && fix.proven {
        // Not wrapped, so that it can be copied.
        text.push_str(&format!("run from now on: {}\n", fix.command));
    } else if fix.proven {
        text.push_str(&wrapped("no change recommended: no gain shown on this device", 0));
    } else {
        text.push_str(&wrapped("do not use it: the program behaves differently with it", 0));
    }
    text
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
