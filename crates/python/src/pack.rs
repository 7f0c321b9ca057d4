//! `pack.plan`: what packing would do, file by file.

use std::path::PathBuf;

use coldstart_app::error::AppError;
use coldstart_app::observer::Silent;
use coldstart_app::pack::{Done, Options, pack};
use coldstart_app::rewriting::{Outcome, PlaceOptions, Task, Worked};
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_rewrite::Passes;
use coldstart_tables::PackingRow;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raised;
use crate::table::Table;

/// Plans to pack files, and the ELF files in directories, and returns a table with one row for each. Nothing is written.
///
/// `passes` is a list as for `coldstart pack --passes`; `closed_world` are all programs that load the files.
#[pyfunction]
#[pyo3(signature = (targets, *, passes = "relr", closed_world = Vec::new(), one_file_system = false, undo = false))]
pub(crate) fn plan_pack(
    py: Python<'_>,
    targets: Vec<PathBuf>,
    passes: &str,
    closed_world: Vec<PathBuf>,
    one_file_system: bool,
    undo: bool,
) -> PyResult<Table> {
    let passes: Passes = passes.parse().map_err(|error| PyValueError::new_err(format!("passes: {error}")))?;
    let options = Options {
        targets,
        one_file_system,
        place: PlaceOptions::default(),
        dry_run: true,
        keep_original: None,
        passes,
        closed_world,
        libc_floor: None,
        sparse: false,
        drop_syment: false,
        undo,
        allow_set_id: false,
        allow_signed: false,
    };
    let rows = py.detach(|| {
        let report = pack(&options, &Interrupt::never().map_err(AppError::from)?, &Silent)?;
        Ok(report.done.iter().map(|(task, worked)| row(task, worked)).collect::<Vec<_>>())
    });
    Table::of(&rows.map_err(|error: AppError| raised(py, error))?)
}

fn row(task: &Task, worked: &Worked<Done>) -> PackingRow {
    let summary = worked.summary();
    let refused = worked.refused();
    let nothing = match worked.done() {
        Some(Done::Nothing(nothing, _)) => serde_json::to_value(nothing).ok(),
        _ => None,
    };
    let nothing = nothing.and_then(|nothing| Some(nothing.get("reason")?.as_str()?.to_owned()));
    PackingRow {
        path: printable(&task.path),
        outcome: match &worked.outcome {
            Outcome::Done(Done::Nothing(..)) => "nothing",
            Outcome::Done(_) => "would-pack",
            Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        size_before: summary.map(|summary| summary.size_before),
        size_after: summary.map(|summary| summary.size_after),
        packed: summary.map(|summary| summary.packed),
        bound: summary.map(|summary| summary.bound),
        record_bytes_before: summary.map(|summary| summary.record_bytes_before),
        record_bytes_after: summary.map(|summary| summary.record_bytes_after),
        relr_bytes: summary.map(|summary| summary.relr_bytes),
        code: refused.map(|refused| refused.code.to_owned()).or(nothing),
        reason: refused.map(|refused| refused.reason.clone()).or_else(|| worked.error()),
        hint: refused.and_then(|refused| refused.hint.clone()),
    }
}
