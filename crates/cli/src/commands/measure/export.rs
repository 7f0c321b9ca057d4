//! `--export`: every run as CSV, or the figures as Markdown.

use coldstart_history::Stored;
use coldstart_measure::statistics::{mean, mean_interval, median};
use coldstart_profile::measurement::{End, KeptMeasurement, Sample, Use};

use super::baseline::times;
use super::date::minute;
use super::gate::states;
use crate::args::measure::Export;
use crate::error::CliError;
use crate::output::time::{seconds, spread};

/// The columns of a run.
const COLUMNS: [&str; 37] = [
    "measurement",
    "id",
    "measured_at",
    "label",
    "coldstart_version",
    "kernel",
    "processor",
    "processor_count",
    "memory",
    "governor",
    "command",
    "command_line",
    "readiness",
    "program",
    "build_id",
    "content_hash",
    "number",
    "state",
    "round",
    "attempt",
    "used",
    "reason",
    "seconds",
    "end",
    "end_value",
    "file_pages",
    "resident_pages",
    "unknown_files",
    "missing_files",
    "bytes_read",
    "major_faults",
    "minor_faults",
    "user_seconds",
    "system_seconds",
    "device_requests",
    "device_bytes",
    "devices",
];

/// What was stored, as far as `is_wanted` says yes to a command's line and path.
pub(super) fn exported(
    format: Export,
    stored: &[Stored],
    is_wanted: impl Fn(&str, Option<&str>) -> bool,
) -> Result<String, CliError> {
    let all: Vec<(Option<i64>, &KeptMeasurement)> =
        stored.iter().map(|stored| (Some(stored.number), &stored.kept)).collect();
    let wanted = |kept: &KeptMeasurement, command: usize| {
        let line = kept.measurement.commands.get(command).map_or("", |command| command.command_line.as_str());
        is_wanted(line, kept.program(command).map(|program| program.path.as_str()))
    };
    of(format, &all, wanted)
}

/// A measurement just made; `number` if it was kept.
pub(super) fn current(format: Export, number: Option<i64>, kept: &KeptMeasurement) -> Result<String, CliError> {
    of(format, &[(number, kept)], |_, _| true)
}

fn of(
    format: Export,
    all: &[(Option<i64>, &KeptMeasurement)],
    is_wanted: impl Fn(&KeptMeasurement, usize) -> bool,
) -> Result<String, CliError> {
    match format {
        Export::Csv => csv(all, is_wanted),
        Export::Markdown => Ok(markdown(all, is_wanted)),
    }
}

fn csv(
    all: &[(Option<i64>, &KeptMeasurement)],
    is_wanted: impl Fn(&KeptMeasurement, usize) -> bool,
) -> Result<String, CliError> {
    // RFC 4180 ends lines with CR LF.
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for (number, kept) in all {
        for sample in kept.measurement.samples.iter().filter(|sample| is_wanted(kept, sample.command)) {
            let mut record = of_measurement(*number, kept, sample.command);
            record.extend(of_sample(sample));
            writer.write_record(record.iter().map(|field| without_controls(field)))?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| anyhow::anyhow!("cannot make the table: {}", error.error()))?;
    Ok(String::from_utf8(bytes)?)
}

/// Control characters as `\u{1b}`: what prints our results takes an escape character for the begin of a colour, and takes the
/// quotes and commas behind it away with it. Lines may end within a quoted field.
fn without_controls(field: &str) -> String {
    let shown = |character: char| match character {
        '\n' | '\r' | '\t' => character.to_string(),
        _ if character.is_control() => character.escape_unicode().to_string(),
        _ => character.to_string(),
    };
    field.chars().map(shown).collect()
}

fn of_measurement(number: Option<i64>, kept: &KeptMeasurement, command: usize) -> Vec<String> {
    let machine = &kept.measurement.machine;
    let measured = kept.measurement.commands.get(command);
    let program = kept.program(command);
    vec![
        number.map(|number| number.to_string()).unwrap_or_default(),
        kept.id.clone(),
        kept.measured_at.to_string(),
        kept.label.clone().unwrap_or_default(),
        kept.coldstart_version.clone(),
        machine.kernel.clone(),
        machine.processor.clone(),
        machine.processor_count.to_string(),
        machine.memory.to_string(),
        machine.governor.clone().unwrap_or_default(),
        measured.map(|command| command.label.clone()).unwrap_or_default(),
        measured.map(|command| command.command_line.clone()).unwrap_or_default(),
        measured.map(|command| command.readiness.clone()).unwrap_or_default(),
        program.map(|program| program.path.clone()).unwrap_or_default(),
        program.and_then(|program| program.build_id.clone()).unwrap_or_default(),
        program.and_then(|program| program.content_hash.clone()).unwrap_or_default(),
    ]
}

/// Empty where a figure is not known.
fn known(figure: Option<impl ToString>) -> String {
    figure.map(|figure| figure.to_string()).unwrap_or_default()
}

fn of_sample(sample: &Sample) -> Vec<String> {
    let (used, reason) = match &sample.used {
        Use::Counted => ("counted", ""),
        Use::WarmUp => ("warm-up", ""),
        Use::Failed { reason } => ("failed", reason.as_str()),
        Use::Contradicts { reason } => ("contradicts", reason.as_str()),
    };
    let (end, value) = match sample.end {
        End::Exited(code) => ("exited", code.to_string()),
        End::Signalled(signal) => ("signalled", signal.to_string()),
        End::Ended => ("ended", String::new()),
        End::TimedOut => ("timed-out", String::new()),
    };
    let residency = |value: fn(&coldstart_profile::measurement::Residency) -> u64| {
        sample.residency.as_ref().map(|residency| value(residency).to_string()).unwrap_or_default()
    };
    let sum = |value: fn(&coldstart_profile::measurement::DeviceReads) -> u64| {
        let total = sample.devices.iter().map(value).fold(0, u64::saturating_add);
        known((!sample.devices.is_empty()).then_some(total))
    };
    let devices: Vec<&str> = sample.devices.iter().map(|device| device.device.as_str()).collect();
    vec![
        sample.number.to_string(),
        sample.state.to_string(),
        sample.round.to_string(),
        sample.attempt.to_string(),
        used.to_owned(),
        reason.to_owned(),
        sample.seconds.map(|seconds| seconds.to_string()).unwrap_or_default(),
        end.to_owned(),
        value,
        residency(|residency| residency.file_pages),
        residency(|residency| residency.resident_pages),
        residency(|residency| residency.unknown_files),
        residency(|residency| residency.missing_files),
        known(sample.bytes_read),
        known(sample.major_faults),
        known(sample.minor_faults),
        known(sample.user_seconds),
        known(sample.system_seconds),
        sum(|device| device.requests),
        sum(|device| device.bytes),
        devices.join(" "),
    ]
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

/// Text that stays in its cell and is no markup.
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
    fn control_characters_do_not_get_into_tables() {
        assert_eq!(without_controls("a\u{1b}[31m\u{9b}\",\n\u{e4}\\"), "a\\u{1b}[31m\\u{9b}\",\n\u{e4}\\");
    }

    #[test]
    fn markup_in_names_stays_text() {
        assert_eq!(cell("a|b <c> *d*\n"), "a\\|b \\<c\\> \\*d\\*\\\\n");
    }
}
