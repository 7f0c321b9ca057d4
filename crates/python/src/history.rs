//! `history`: the runs of kept measurements.

use std::path::PathBuf;

use coldstart_app::error::AppError;
use coldstart_app::measure::{Keeping, history};
use coldstart_tables::RunRow;
use pyo3::prelude::*;

use crate::error::raised;
use crate::table::Table;

/// The runs of all measurements of a history, the newest measurement first; `path` is its file, the usual one if it is None.
#[pyfunction]
#[pyo3(name = "history", signature = (path = None))]
pub(crate) fn read(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Table> {
    let rows = py.detach(|| {
        let history = history::open(&Keeping { file: path, nothing: false })?;
        Ok(history::all(&history)?
            .iter()
            .flat_map(|stored| RunRow::of(stored.number, &stored.kept))
            .collect::<Vec<_>>())
    });
    Table::of(&rows.map_err(|error: AppError| raised(py, error))?)
}
