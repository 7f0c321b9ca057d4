//! The text report of `speedup`.

use coldstart_app::speedup::{FixKind, Step, Story, Trial};
use coldstart_app::text::counted;
use coldstart_profile::measurement::{Comparison, Interval, StartState, Verdict};
use coldstart_profile::printable;

use super::advice;
use crate::commands::measure::report::{FIGURES, figures, judged, machine_line, range};
use crate::output::size;
use crate::output::table::{Align, Table};
use crate::output::time::seconds;
use crate::output::wrap::wrapped;

/// The whole report, in at most 100 columns.
/// The report. What is installed needs no command to be typed.
pub(super) fn in_words(story: &Story, installs: bool) -> String {
    let mut text = machine_line(&story.measurement.machine);
    text.push_str(&wrapped(&format!("program: {}", story.command_line(0)), 0));
    text.push('\n');
    text.push_str(&trials(story));
    text.push('\n');
    text.push_str(&before_and_after(story));
    text.push('\n');
    for (number, fix) in story.fixes.iter().enumerate() {
        text.push_str(&fix_in_words(story, number + 1, fix, installs));
    }
    if story.fixes.is_empty() {
        text.push_str(&wrapped("no change recommended: no fix fits, or what was tried is refused", 0));
    }
    text.push_str(&advice::in_words(&story.advice));
    if let Some(traces) = &story.traces {
        text.push_str(&format!("both starts, traced: {}\n", printable(&traces.page_path)));
    }
    for warning in &story.measurement.warnings {
        text.push_str(&wrapped(&format!("warning: {warning}"), 0));
    }
    text
}

/// Every fix: what it would do, and what it did alone; then sets of them.
fn trials(story: &Story) -> String {
    let is_hot = story.trials.iter().any(|trial| trial.hot_comparison.is_some());
    let mut columns =
        vec![("fix", Align::Left), ("predicted", Align::Right), ("cold", Align::Right), ("of before", Align::Right)];
    if is_hot {
        columns.extend([("hot", Align::Right), ("of before", Align::Right)]);
    }
    columns.push(("what it does, or why not", Align::Left));
    let mut table = Table::new(&columns);
    let measured = |trial: Option<&Trial>| {
        let of = |state: fn(&Trial) -> (Option<f64>, Option<&Comparison>)| {
            let (median, found) = trial.map(state).unwrap_or_default();
            vec![median.map(seconds).unwrap_or_default(), of_before(found, is_hot)]
        };
        let hot = is_hot.then(|| of(|trial| (trial.hot_median, trial.hot_comparison.as_ref())));
        [of(|trial| (trial.median, trial.comparison.as_ref())), hot.unwrap_or_default()].concat()
    };
    let alone = |name: &str| story.trials.iter().rfind(|trial| trial.name == name);
    for prospect in &story.prospects {
        let trial = alone(prospect.name);
        let why = trial
            .and_then(|trial| trial.refused.clone())
            .map_or_else(|| prospect.why.clone(), |reason| format!("refused: {reason}"));
        let predicted = prospect.predicted.map(seconds).unwrap_or_default();
        table.row([vec![prospect.name.to_owned(), predicted], measured(trial), vec![why]].concat());
    }
    let together = |trial: &&Trial| trial.kinds.len() > 1;
    for trial in story.trials.iter().filter(together) {
        let why = trial.refused.as_ref().map(|reason| format!("refused: {reason}")).unwrap_or_default();
        table.row([vec![trial.name.clone(), String::new()], measured(Some(trial)), vec![why]].concat());
    }
    table.render()
}

/// "0.42 (0.40 to 0.44)"; without the interval where there is no room for it, or none.
fn of_before(comparison: Option<&Comparison>, is_short: bool) -> String {
    let Some(Comparison { ratio: Some(ratio), interval, .. }) = comparison else { return String::new() };
    match interval {
        _ if is_short => format!("{ratio:.2}"),
        Some(interval) => format!("{ratio:.2} ({:.2} to {:.2})", interval.low, interval.high),
        None => format!("{ratio:.2} (too few runs)"),
    }
}

fn before_and_after(story: &Story) -> String {
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
            "limit: a hot start, or the {} that a start uses at {} MB/s, whichever takes longer",
            size::bytes(story.bytes),
            story.bytes_per_second / 1_000_000
        ),
        0,
    ));
    if story.before_is_copied {
        let words = "before: with unchanged copies over the files that the fixes change, for a copy lies elsewhere on the disk \
                     than its original";
        text.push_str(&wrapped(words, 0));
    }
    if let Some(by) = story.limited_by {
        text.push_str(&wrapped(&format!("before, a {} start is limited by {}", story.cold, by.in_words()), 0));
    }
    text
}

fn fix_in_words(story: &Story, command: usize, fix: &Step, installs: bool) -> String {
    let mut text = String::new();
    for (state, name) in [(story.cold, story.cold.name()), (StartState::Hot, "hot")] {
        if let Some(comparison) = story.comparison(command, state) {
            text.push_str(&wrapped(&comparison_sentence(&fix.fix, name, comparison), 0));
        }
    }
    if let (Some(predicted), Some(measured)) = (fix.predicted, story.median(command, story.cold)) {
        text.push_str(&wrapped(&format!("predicted {}, measured {}", seconds(predicted), seconds(measured)), 0));
    }
    if let Some(by) = fix.limited_by {
        text.push_str(&wrapped(&format!("with it, a {} start is limited by {}", story.cold, by.in_words()), 0));
    }
    text.push_str(&wrapped(&format!("it costs {}", cost(fix)), 0));
    let proof = match (fix.proven, fix.unchecked.is_empty()) {
        (true, true) => "proven",
        (true, false) => "proven as far as possible",
        (false, _) => "NOT PROVEN",
    };
    text.push_str(&wrapped(&format!("{proof}: {}", fix.findings.join("; ")), 0));
    if !fix.unchecked.is_empty() {
        text.push_str(&wrapped(&format!("could not be checked: {}", fix.unchecked.join("; ")), 0));
    }
    let faster = story.is_faster(command, fix);
    if fix.proven && installs {
        if !faster {
            text.push_str(&wrapped("no gain shown on this device; installed anyway, as asked for", 0));
        }
    } else if faster && fix.proven {
        // Not wrapped, so that it can be copied.
        let what = match (fix.cost.changed_files > 0, fix.kinds.contains(&FixKind::Index)) {
            (true, _) => "make the changes with",
            (false, true) => "install it with",
            (false, false) => "run from now on",
        };
        text.push_str(&format!("{what}: {}\n", fix.command));
    } else if fix.proven {
        text.push_str(&wrapped("no change recommended: no gain shown on this device", 0));
    } else {
        text.push_str(&wrapped("do not use it: the program behaves differently with it", 0));
    }
    text
}

/// What the fixes cost: disk and memory.
fn cost(fix: &Step) -> String {
    let mut parts = Vec::new();
    if fix.kinds.contains(&FixKind::Prefetch) {
        parts.push(format!(
            "{} of disk for the plan, and {} of memory for the pages that it reads, as a start does without it",
            size::bytes(fix.cost.plan_bytes),
            size::bytes(fix.cost.memory_bytes)
        ));
    }
    if fix.kinds.contains(&FixKind::Image) {
        parts.push(format!(
            "{} of disk for the image, and {} of memory, where its pages lie twice",
            size::bytes(fix.cost.image_bytes),
            size::bytes(fix.cost.memory_bytes)
        ));
    }
    if fix.kinds.contains(&FixKind::Index) {
        parts.push(format!("{} of disk for the index", size::bytes(fix.cost.index_bytes)));
    }
    if fix.cost.changed_files > 0 {
        let changed = format!("{} changed", counted(fix.cost.changed_files, "file"));
        parts.push(match fix.cost.saved_bytes {
            0 => changed,
            saved => format!("{changed} ({} smaller)", size::bytes(saved)),
        });
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
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
