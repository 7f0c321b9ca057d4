//! The heads of a page and of each trace in it: everything but events, symbols and phases, as JSON.
//!
//! Their definition is `web/src/data/payload.ts`; the types here are the same in Rust, and a number here may be greater than
//! what JavaScript holds exactly.

mod files;
mod initialisers;
mod missing;
mod run;

use coldstart_profile::trace::{FileId, Known, PhaseKind};
use serde::Serialize;

use super::TraceSource;
use super::columns::{ColumnHead, EventGroups, Symbols};
use crate::comparison::Comparison;
use crate::figures::{FigureGroup, figure_groups};

/// What the page is.
#[derive(Serialize)]
pub(super) struct PageHead<'a, R> {
    pub(super) kind: &'a str,
    pub(super) title: String,
    pub(super) version: &'a str,
    pub(super) traces: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) comparison: Option<ComparisonHead>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) report: Option<R>,
}

/// How two traces belong together.
#[derive(Serialize)]
pub(super) struct ComparisonHead {
    partners: Vec<Option<FileId>>,
    caveats: Vec<String>,
}

impl From<Comparison> for ComparisonHead {
    fn from(comparison: Comparison) -> Self {
        Self { partners: comparison.partners, caveats: comparison.caveats }
    }
}

/// All of a trace but its columns.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TraceHead<'a> {
    format: u32,
    source: &'a str,
    run: run::RunHead<'a>,
    processes: Vec<run::ProcessHead>,
    threads: Vec<run::ThreadHead>,
    files: Vec<files::FileHead<'a>>,
    /// The meaning of the numbers in the columns `phase.kind` and `phase.known`.
    phase_kinds: &'a [PhaseKind],
    phase_ends: &'a [Known],
    initialisers: Vec<initialisers::InitialiserOrderHead<'a>>,
    figures: Vec<FigureGroup>,
    missing: Vec<missing::MissingHead>,
    columns: Vec<ColumnHead>,
}

impl<'a> TraceHead<'a> {
    /// Of a trace whose columns stand so.
    pub(super) fn of(
        source: &TraceSource<'a>,
        groups: &EventGroups,
        symbols: &Symbols<'a>,
        columns: Vec<ColumnHead>,
    ) -> Self {
        let (trace, figures) = (source.trace, source.figures);
        Self {
            format: 2,
            source: source.source,
            run: run::run(trace),
            processes: trace.processes.iter().map(run::process).collect(),
            threads: trace.threads.iter().map(run::thread).collect(),
            files: files::files(trace, figures, groups, symbols),
            phase_kinds: &PhaseKind::ALL,
            phase_ends: &Known::ALL,
            initialisers: initialisers::orders(trace, figures),
            figures: figure_groups(trace, figures),
            missing: missing::directories(trace),
            columns,
        }
    }
}
