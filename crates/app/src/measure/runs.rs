//! All runs of measurements as CSV (RFC 4180).

use coldstart_profile::measurement::{KeptMeasurement, Sample};

use crate::error::AppError;

/// The columns of a run.
pub const COLUMNS: [&str; 37] = [
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

/// A row for each run of the commands that `is_wanted` says yes to; each measurement with its number, if it was kept.
///
/// # Errors
/// If the table cannot be written.
pub fn csv(
    all: &[(Option<i64>, &KeptMeasurement)],
    is_wanted: impl Fn(&KeptMeasurement, usize) -> bool,
) -> Result<String, AppError> {
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
    let bytes = writer.into_inner().map_err(|error| anyhow::anyhow!("cannot write the table: {}", error.error()))?;
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

/// Empty if a figure is unknown.
fn known(figure: Option<impl ToString>) -> String {
    figure.map(|figure| figure.to_string()).unwrap_or_default()
}

fn of_sample(sample: &Sample) -> Vec<String> {
    let residency = |value: fn(&coldstart_profile::measurement::Residency) -> u64| {
        sample.residency.as_ref().map(|residency| value(residency).to_string()).unwrap_or_default()
    };
    vec![
        sample.number.to_string(),
        sample.state.to_string(),
        sample.round.to_string(),
        sample.attempt.to_string(),
        sample.used.name().to_owned(),
        known(sample.used.reason()),
        sample.seconds.map(|seconds| seconds.to_string()).unwrap_or_default(),
        sample.end.name().to_owned(),
        known(sample.end.value()),
        residency(|residency| residency.file_pages),
        residency(|residency| residency.resident_pages),
        residency(|residency| residency.unknown_files),
        residency(|residency| residency.missing_files),
        known(sample.bytes_read),
        known(sample.major_faults),
        known(sample.minor_faults),
        known(sample.user_seconds),
        known(sample.system_seconds),
        known(sample.over_devices(|device| device.requests)),
        known(sample.over_devices(|device| device.bytes)),
        sample.device_numbers(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_get_into_tables() {
        assert_eq!(without_controls("a\u{1b}[31m\u{9b}\",\n\u{e4}\\"), "a\\u{1b}[31m\\u{9b}\",\n\u{e4}\\");
    }
}
