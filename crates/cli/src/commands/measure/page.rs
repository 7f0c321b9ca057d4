//! `--html`: a measurement, or several from the history, as a page.

use coldstart_app::measure::history::{self, HistoryOutcome};
use coldstart_app::measure::{MeasureOutcome, SCHEMA};
use coldstart_output::OutputTarget;
use coldstart_profile::measurement::Measurement;
use coldstart_view::page::ReportKind;

use crate::error::CliError;
use crate::output::page;

/// Writes the page of a measurement.
pub(super) fn write(place: &OutputTarget, outcome: &MeasureOutcome) -> Result<(), CliError> {
    page::write(place, ReportKind::Measure, &title(&outcome.kept.measurement), SCHEMA, outcome)
}

/// Writes the page of measurements over time; `name` is the search text.
pub(super) fn write_history(place: &OutputTarget, name: &str, outcome: &HistoryOutcome) -> Result<(), CliError> {
    let title = match name {
        "" => "Start-up times in the history".to_owned(),
        name => format!("Start-up times in the history: {name}"),
    };
    page::write(place, ReportKind::Measure, &title, history::SCHEMA, outcome)
}

fn title(measurement: &Measurement) -> String {
    let first = measurement.commands.first().map_or("", |command| command.command_line.as_str());
    match measurement.commands.len() {
        0 | 1 => format!("Start-up times of {first}"),
        2 => format!("Start-up times of {first}, and of another command"),
        all => format!("Start-up times of {first}, and of {} other commands", all - 1),
    }
}
