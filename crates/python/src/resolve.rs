//! `resolve`: how the dynamic loader finds each library of a program.

use std::path::PathBuf;

use coldstart_app::error::AppError;
use coldstart_app::observer::Silent;
use coldstart_app::starting;
use coldstart_startup::StartOptions;
use coldstart_tables::{FailedProbeRow, LoadedRow, MissingRow};
use pyo3::prelude::*;

use crate::error::raised;
use crate::table::Table;

/// What a program loads.
#[pyclass(frozen, module = "coldstart")]
#[derive(Debug)]
pub(crate) struct Resolution {
    objects: Vec<LoadedRow>,
    failed_probes: Vec<FailedProbeRow>,
    missing: Vec<MissingRow>,
}

#[pymethods]
impl Resolution {
    /// The program and all it loads, in the order of symbol lookup.
    #[getter]
    fn objects(&self) -> PyResult<Table> {
        Table::of(&self.objects)
    }

    /// Failed probes: files that the loader looks for and does not find, in order.
    #[getter]
    fn failed_probes(&self) -> PyResult<Table> {
        Table::of(&self.failed_probes)
    }

    /// Libraries that it does not find.
    #[getter]
    fn missing(&self) -> PyResult<Table> {
        Table::of(&self.missing)
    }

    fn __repr__(&self) -> String {
        let program = self.objects.first().map(|object| object.path.as_str()).unwrap_or_default();
        let (objects, probes) = (self.objects.len(), self.failed_probes.len());
        format!("<coldstart.Resolution of {program:?}: {objects} objects, {probes} failed probes>")
    }
}

/// Follows the dynamic loader's rules for a program: a path, or a name on PATH. The program is not run.
#[pyfunction]
#[pyo3(signature = (program, *, sysroot = None))]
pub(crate) fn resolve(py: Python<'_>, program: PathBuf, sysroot: Option<PathBuf>) -> PyResult<Resolution> {
    let resolved = py.detach(|| {
        let options = StartOptions { sysroot, ..StartOptions::default() };
        let start = starting::start(&program, &options, &Silent)?;
        let closure = starting::closure(&start)?;
        Ok(Resolution {
            objects: LoadedRow::of(&closure),
            failed_probes: FailedProbeRow::of(&closure),
            missing: MissingRow::of(&closure),
        })
    });
    resolved.map_err(|error: AppError| raised(py, error))
}
