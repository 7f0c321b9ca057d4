//! `inspect`: what an ELF file costs at start-up.

use std::path::PathBuf;

use coldstart_app::error::AppError;
use coldstart_app::inspect::{inspect_bytes, inspect_file};
use coldstart_profile::printable;
use coldstart_tables::{Inspected, Place};
use pyo3::prelude::*;

use crate::error::raised;
use crate::table::Table;

/// The tables of one inspected object.
#[pyclass(frozen, module = "coldstart")]
#[derive(Debug)]
pub(crate) struct Inspection {
    tables: Inspected,
}

#[pymethods]
impl Inspection {
    /// The tables without rows: their columns.
    #[new]
    fn new() -> Self {
        Self { tables: Inspected::default() }
    }

    /// The object with its costs: one row.
    #[getter]
    fn objects(&self) -> PyResult<Table> {
        Table::of(&self.tables.objects)
    }

    /// Possible improvements, each with its fix and what that saves.
    #[getter]
    fn findings(&self) -> PyResult<Table> {
        Table::of(&self.tables.findings)
    }

    /// The libraries that it needs.
    #[getter]
    fn needed(&self) -> PyResult<Table> {
        Table::of(&self.tables.needed)
    }

    /// Functions that run before `main`, by how they are called.
    #[getter]
    fn initialisers(&self) -> PyResult<Table> {
        Table::of(&self.tables.initialisers)
    }

    /// What the relocated words belong to.
    #[getter]
    fn owners(&self) -> PyResult<Table> {
        Table::of(&self.tables.owners)
    }

    fn __repr__(&self) -> String {
        let path = self.tables.objects.first().map(|object| object.path.as_str()).unwrap_or_default();
        format!("<coldstart.Inspection of {path:?}: {} findings>", self.tables.findings.len())
    }
}

/// What is inspected.
#[derive(FromPyObject)]
pub(crate) enum Input {
    /// The bytes of a file.
    Bytes(Vec<u8>),
    /// Its path.
    Path(PathBuf),
}

/// Inspects an ELF file: its path, or its bytes. The file is read and never executed. In the tables it has its path, or `name`.
#[pyfunction]
#[pyo3(signature = (file, *, name = None))]
pub(crate) fn inspect(py: Python<'_>, file: Input, name: Option<String>) -> PyResult<Inspection> {
    let inspected = py.detach(|| {
        let mut tables = Inspected::default();
        let (inspection, path) = match &file {
            Input::Path(path) => (inspect_file(path).map_err(AppError::from)?, printable(path)),
            Input::Bytes(bytes) => (inspect_bytes(bytes).map_err(AppError::from)?, String::new()),
        };
        let path = name.unwrap_or(path);
        let place = Place { source: path.clone(), path, ..Place::default() };
        tables.add(&place, &inspection, None);
        Ok(tables)
    });
    inspected.map(|tables| Inspection { tables }).map_err(|error: AppError| raised(py, error))
}
