//! A measurement as people read it: what was measured where, a table, comparisons in sentences, and what stands against
//! trusting it.

mod advice;
mod machine;
mod overhead;
mod states;

use coldstart_profile::measurement::{Comparison, InputOutputComparison, Interval, Measurement, Summary, Verdict};

use self::advice::advice;
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
        // Arguments may hold anything, also what a terminal would obey.
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
        row.push(summary.major_faults.map_or_else(|| "-".to_owned(), |faults| size::grouped(faults as u64)));
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

/// The cells of [`FIGURES`]; runs that were left out stand behind those that count.
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
        summary.bytes_read.map_or_else(|| "-".to_owned(), |bytes| size::bytes(bytes as u64)),
        summary.requests.map_or_else(|| "-".to_owned(), |requests| size::grouped(requests as u64)),
    ]
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
        return format!("{}: {other} and {baseline} cannot be compared, one of them has no times", comparison.state);
    };
    let interval = comparison
        .interval
        .map(|interval| format!(" ({:.0} %: {:.3} to {:.3})", interval.confidence * 100.0, interval.low, interval.high))
        .unwrap_or_default();
    format!(
        "{}: {other} takes {ratio:.3} of the time of {baseline}{interval}: {}",
        comparison.state,
        verdict(comparison.verdict)
    )
}

fn input_output_sentence(measurement: &Measurement, comparison: &InputOutputComparison) -> String {
    let (other, baseline) = (label(measurement, comparison.command), label(measurement, comparison.baseline));
    let interval = comparison.interval.map(|interval| format!(" {}", half_width(&interval, comparison.difference)));
    format!(
        "I/O alone ({} - hot): {} for {other}, {} for {baseline}, difference {}{}: {}",
        comparison.cold,
        seconds(comparison.command_cost),
        seconds(comparison.baseline_cost),
        seconds(comparison.difference),
        interval.unwrap_or_default(),
        verdict(comparison.verdict)
    )
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NotShown => "no difference shown",
        Verdict::TooFew => "too few runs to say",
    }
}
