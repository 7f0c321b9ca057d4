//! `--html`: a measurement, or what the history tells of several, as a page.

use coldstart_measure::Measurement;
use coldstart_output::OutputPlace;
use coldstart_view::page::ReportKind;
use serde::Serialize;

use super::SCHEMA;
use crate::error::CliError;
use crate::output::page;

/// Writes the page of a measurement; `printed` is what `--json` prints of it.
pub(super) fn write<T: Serialize>(place: &OutputPlace, measurement: &Measurement, printed: &T) -> Result<(), CliError> {
    page::write(place, ReportKind::Measure, &title(measurement), SCHEMA, printed)
}

/// Writes the page of measurements over time, which were found by `name`.
pub(super) fn write_history<T: Serialize>(
    place: &OutputPlace,
    name: &str,
    schema: &str,
    shown: &T,
) -> Result<(), CliError> {
    let title = match name {
        "" => "Start-up times in the history".to_owned(),
        name => format!("Start-up times in the history: {name}"),
    };
    page::write(place, ReportKind::Measure, &title, schema, shown)
}

fn title(measurement: &Measurement) -> String {
    let first = measurement.commands.first().map_or("", |command| command.command_line.as_str());
    match measurement.commands.len() {
        0 | 1 => format!("Start-up times of {first}"),
        2 => format!("Start-up times of {first}, and of another command"),
        all => format!("Start-up times of {first}, and of {} other commands", all - 1),
    }
}
