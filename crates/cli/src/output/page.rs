//! `--html FILE`: a verb's result as a page, beside what is printed.
//!
//! The page holds what `--json` prints, whole, so that a reader who was sent the page alone can check each figure.

use anyhow::Context;
use coldstart_app::error::AppError;
use coldstart_app::writing::write_file;
use coldstart_output::OutputTarget;
use coldstart_view::page::{ReportKind, report_page};
use serde::Serialize;

use super::json::Envelope;
use super::path::printable;
use super::text::{cut, escaped};

/// Columns of a title.
const TITLE: usize = 120;

/// Writes the page of what `--json` would print with this schema.
///
/// # Errors
/// If it cannot be rendered or written; an existing file is then unchanged.
pub(crate) fn write<T: Serialize>(
    place: &OutputTarget,
    kind: ReportKind,
    title: &str,
    schema: &str,
    body: &T,
) -> Result<(), AppError> {
    let title = cut(&escaped(title), TITLE);
    let page = report_page(kind, &title, &Envelope::new(schema, body))
        .with_context(|| format!("cannot render the page `{}`", printable(place.path())))?;
    write_file(place, &page)
}
