//! `--export`: every run as CSV, or the figures as Markdown.

use coldstart_app::measure::{measured_states as states, runs, times};
use coldstart_measure::statistics::{mean, mean_interval, median};
use coldstart_profile::measurement::KeptMeasurement;
use coldstart_view::dates::minute;

use crate::args::measure::Export;
use crate::error::CliError;
use crate::output::time::{seconds, spread};

/// The measurements with their numbers in the history, for the commands selected by `is_wanted`.
pub(super) fn exported(
    format: Export,
    all: &[(Option<i64>, &KeptMeasurement)],
    is_wanted: impl Fn(&KeptMeasurement, usize) -> bool,
) -> Result<String, CliError> {
    match format {
        Export::Csv => runs::csv(all, is_wanted),
        Export::Markdown => Ok(markdown(all, is_wanted)),
    }
}

fn markdown(all: &[(Option<i64>, &KeptMeasurement)], is_wanted: impl Fn(&KeptMeasurement, usize) -> bool) -> String {
    let mut text = "| | date (UTC) | label | command | ready at | state | runs | median | mean | 95 % | machine |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for (number, kept) in all {
        let measurement = &kept.measurement;
        for (index, command) in measurement.commands.iter().enumerate().filter(|(index, _)| is_wanted(kept, *index)) {
            for state in states(measurement) {
                let times = times(&measurement.samples, index, state);
                let time = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), seconds);
                let half = mean(&times).zip(mean_interval(&times, 0.95));
                let half = half.map(|(mean, interval)| spread((interval.high - interval.low) / 2.0, mean));
                let cells = [
                    number.map(|number| format!("#{number}")).unwrap_or_default(),
                    minute(kept.measured_at),
                    cell(kept.label.as_deref().unwrap_or_default()),
                    format!("{}: {}", cell(&command.label), cell(&command.command_line)),
                    cell(&command.readiness),
                    state.to_string(),
                    times.len().to_string(),
                    time(median(&times)),
                    time(mean(&times)),
                    half.unwrap_or_default(),
                    cell(&format!(
                        "{} x {}, Linux {}",
                        measurement.machine.processor_count, measurement.machine.processor, measurement.machine.kernel
                    )),
                ];
                text.push_str(&format!("| {} |\n", cells.join(" | ")));
            }
        }
    }
    text
}

/// Text escaped for a Markdown table cell.
fn cell(text: &str) -> String {
    let mut shown = String::new();
    for character in crate::output::text::escaped(text).chars() {
        if matches!(character, '|' | '\\' | '`' | '*' | '_' | '<' | '>' | '[' | ']' | '&' | '~' | '#') {
            shown.push('\\');
        }
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(cell("a|b <c> *d*\n"), "a\\|b \\<c\\> \\*d\\*\\\\n");
    }
}
