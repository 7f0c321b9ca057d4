//! The text report of a measurement: machine, table, comparisons and warnings.

mod machine;
mod overhead;
mod states;

use coldstart_app::measure::advice;
use coldstart_profile::measurement::{Comparison, InputOutputComparison, Interval, Measurement, Summary, Verdict};

pub(crate) use self::machine::machine_line;
use self::overhead::overhead_sentence;
use self::states::state_sentences;

use crate::output::size;
use crate::output::table::{Align, Table};
use crate::output::text::escaped;
use crate::output::time::{seconds, spread};
use crate::output::wrap::wrapped;

/// The whole report.
pub(crate) fn report(measurement: &Measurement) -> String {
    let mut text = machine_line(&measurement.machine);
    for command in &measurement.commands {
        let ready =
            if command.readiness == "exit" { String::new() } else { format!(", ready at {}", command.readiness) };
        // Arguments may contain terminal escape sequences.
        let line = escaped(&command.command_line);
        text.push_str(&wrapped(&format!("{}: {line}{ready}", command.label), 0));
    }
    text.push('\n');
    text.push_str(&times_table(measurement));
    text.push('\n');
    for comparison in &measurement.comparisons {
        text.push_str(&wrapped(&comparison_sentence(measurement, comparison), 0));
    }
    for comparison in &measurement.input_output {
        text.push_str(&wrapped(&input_output_sentence(measurement, comparison), 0));
    }
    for sentence in state_sentences(measurement).into_iter().chain(overhead_sentence(measurement)) {
        text.push_str(&wrapped(&sentence, 0));
    }
    for warning in &measurement.warnings {
        text.push_str(&wrapped(&format!("warning: {warning}"), 0));
        if let Some(advice) = advice(warning, measurement) {
            text.push_str(&wrapped(&format!("hint: {advice}"), 2));
        }
    }
    text
}

fn times_table(measurement: &Measurement) -> String {
    let mut columns = vec![("state", Align::Left), ("", Align::Left)];
    columns.extend(FIGURES);
    columns.push(("faults", Align::Right));
    let mut table = Table::new(&columns);
    for summary in &measurement.summaries {
        let mut row = vec![summary.state.to_string(), label(measurement, summary.command).to_owned()];
        row.extend(figures(summary));
        row.push(counted(summary, summary.major_faults, size::grouped));
        table.row(row);
    }
    table.render()
}

/// Columns of a command's figures in a state.
pub(crate) const FIGURES: [(&str, Align); 8] = [
    ("runs", Align::Right),
    ("median", Align::Right),
    ("mean", Align::Right),
    ("95 %", Align::Left),
    ("min", Align::Right),
    ("max", Align::Right),
    ("read", Align::Right),
    ("requests", Align::Right),
];

/// The cells of [`FIGURES`]; the number of excluded runs follows that of counted runs.
pub(crate) fn figures(summary: &Summary) -> Vec<String> {
    let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), seconds);
    let left_out = summary.failed + summary.contradicting;
    let interval = summary.mean.zip(summary.mean_interval).map(|(mean, interval)| half_width(&interval, mean));
    vec![
        if left_out == 0 { summary.counted.to_string() } else { format!("{} (+{left_out})", summary.counted) },
        time(summary.median),
        time(summary.mean),
        interval.unwrap_or_default(),
        time(summary.min),
        time(summary.max),
        counted(summary, summary.bytes_read, size::bytes),
        summary.requests.map_or_else(|| "-".to_owned(), |requests| size::grouped(requests as u64)),
    ]
}

/// Bytes read by the counted runs; "-" without counted runs.
fn counted(summary: &Summary, figure: Option<f64>, shown: fn(u64) -> String) -> String {
    match figure {
        Some(figure) => shown(figure as u64),
        None if summary.counted == 0 => "-".to_owned(),
        None => "unknown".to_owned(),
    }
}

fn half_width(interval: &Interval, of: f64) -> String {
    spread((interval.high - interval.low) / 2.0, of)
}

fn label(measurement: &Measurement, command: usize) -> &str {
    measurement.commands.get(command).map_or("?", |command| &command.label)
}

fn comparison_sentence(measurement: &Measurement, comparison: &Comparison) -> String {
    let (other, baseline) = (label(measurement, comparison.command), label(measurement, comparison.baseline));
    let Some(ratio) = comparison.ratio else {
        return format!("{}: {other} and {baseline} cannot be compared: one of them has no times", comparison.state);
    };
    let in_words = |value: f64| format!("{value:.3}");
    format!(
        "{}: {other} takes {ratio:.3} times as long as {baseline}{}: {}",
        comparison.state,
        range(comparison.interval.as_ref(), in_words),
        judged(comparison.verdict, comparison.wide_interval.as_ref(), in_words)
    )
}

fn input_output_sentence(measurement: &Measurement, comparison: &InputOutputComparison) -> String {
    let (other, baseline) = (label(measurement, comparison.command), label(measurement, comparison.baseline));
    format!(
        "I/O alone ({} - hot): {} for {other}, {} for {baseline}, difference {}{}: {}",
        comparison.cold,
        seconds(comparison.command_cost),
        seconds(comparison.baseline_cost),
        seconds(comparison.difference),
        range(comparison.interval.as_ref(), seconds),
        judged(comparison.verdict, comparison.wide_interval.as_ref(), seconds)
    )
}

/// " (95 %: 0.640 to 0.750)"; nothing without an interval.
pub(crate) fn range(interval: Option<&Interval>, in_words: impl Fn(f64) -> String) -> String {
    let words = |interval: &Interval| {
        let confidence = interval.confidence * 100.0;
        format!(" ({confidence:.0} %: {} to {})", in_words(interval.low), in_words(interval.high))
    };
    interval.map(words).unwrap_or_default()
}

/// "faster (99 %: 0.630 to 0.760)": a verdict with its interval, which is wider than that of the ratio.
pub(crate) fn judged(judged: Verdict, wide: Option<&Interval>, in_words: impl Fn(f64) -> String) -> String {
    format!("{}{}", verdict(judged), range(wide, in_words))
}

/// A verdict as text.
pub(super) fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NotShown => "no difference shown",
        Verdict::TooFew => "too few runs to say",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interval_says_its_confidence() {
        let interval = |low, high, confidence| Some(Interval { low, high, confidence });
        let in_words = |value: f64| format!("{value:.3}");
        assert_eq!(range(interval(0.64, 0.75, 0.95).as_ref(), in_words), " (95 %: 0.640 to 0.750)");
        let wide = interval(0.96, 1.04, 0.99);
        assert_eq!(judged(Verdict::NotShown, wide.as_ref(), in_words), "no difference shown (99 %: 0.960 to 1.040)");
        assert_eq!(judged(Verdict::TooFew, None, in_words), "too few runs to say");
    }
}
