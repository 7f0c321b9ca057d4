//! `--html`: the story as a page.

use std::path::Path;

use coldstart_view::page::ReportKind;

use super::SCHEMA;
use super::story::Story;
use crate::error::CliError;
use crate::output::page;

/// Writes the page of a program's story.
pub(super) fn write(path: &Path, program: &str, story: &Story) -> Result<(), CliError> {
    page::write(path, ReportKind::Speedup, &format!("Before and after: {program}"), SCHEMA, story)
}
