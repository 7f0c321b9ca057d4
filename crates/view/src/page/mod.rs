//! Self-contained HTML pages: of one trace, of two, or of a verb's results.
//!
//! A page holds the viewer, and its data beside it as `docs/formats/page-data.md` says. What a newcomer would not
//! guess: names in traces are hostile input, and the page is opened from disks and mails, so it forbids itself all
//! network and every script but the viewer.

mod columns;
mod error;
mod head;
mod payload;
mod shell;
mod viewer;
mod words;

use coldstart_profile::trace::Trace;
use coldstart_profile::trace::figures::Figures;
use serde::Serialize;

pub use error::PageError;
pub use viewer::Viewer;

/// A trace to be shown.
#[derive(Clone, Copy, Debug)]
pub struct TraceSource<'a> {
    /// The path of the trace file, as given.
    pub source: &'a str,
    /// The trace.
    pub trace: &'a Trace,
    /// Its figures.
    pub figures: &'a Figures,
}

/// A verb whose results have a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportKind {
    /// `coldstart measure`.
    Measure,
    /// `coldstart inspect`.
    Inspect,
    /// `coldstart speedup`.
    Speedup,
    /// `coldstart survey report`.
    Survey,
}

/// One self-contained HTML file for one or two traces.
///
/// # Errors
///
/// When the viewer is one that cannot be in a page, which a test keeps from happening to the one that is built in.
pub fn trace_page(first: &TraceSource<'_>, second: Option<&TraceSource<'_>>) -> Result<Vec<u8>, PageError> {
    Viewer::built_in().trace_page(first, second)
}

/// A page of a verb's own `--json` object.
///
/// # Errors
///
/// When the report is not JSON, or as for [`trace_page`].
pub fn report_page(kind: ReportKind, title: &str, report: &impl Serialize) -> Result<Vec<u8>, PageError> {
    Viewer::built_in().report_page(kind, title, report)
}
