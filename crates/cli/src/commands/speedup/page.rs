//! `--html`: the result as a page.

use coldstart_app::speedup::{SCHEMA, Story};
use coldstart_output::OutputTarget;
use coldstart_view::page::ReportKind;

use crate::error::CliError;
use crate::output::page;

/// Writes the page of a program's result.
pub(super) fn write(place: &OutputTarget, program: &str, story: &Story) -> Result<(), CliError> {
    page::write(place, ReportKind::Speedup, &format!("Before and after: {program}"), SCHEMA, story)
}
