//! `read_trace`: what one start touched, as tables.

use std::path::{Path, PathBuf};

use coldstart_app::error::AppError;
use coldstart_app::trace::read;
use coldstart_profile::printable;
use coldstart_tables::{NotTouched, Touched};
use pyo3::prelude::*;

use crate::error::raised;
use crate::table::Table;

/// The tables of one trace.
#[pyclass(frozen, module = "coldstart")]
#[derive(Debug)]
pub(crate) struct TraceTables {
    tables: Touched,
}

#[pymethods]
impl TraceTables {
    /// The pages that the start touched, each once.
    #[getter]
    fn touches(&self) -> PyResult<Table> {
        Table::of(&self.tables.touches)
    }

    /// The files that it used.
    #[getter]
    fn files(&self) -> PyResult<Table> {
        Table::of(&self.tables.files)
    }

    fn __repr__(&self) -> String {
        let host = self.tables.files.first().map(|file| file.host.as_str()).unwrap_or_default();
        let (pages, files) = (self.tables.touches.len(), self.tables.files.len());
        format!("<coldstart.TraceTables of {host:?}: {pages} pages, {files} files>").replace(": 1 pages", ": 1 page")
    }
}

/// Reads a trace that `coldstart trace` recorded with pages.
///
/// `host` is the host's name in the tables; without it, the name of the file. `program` is the file whose build id tells versions of the
/// program apart; without it, the program that the first process became.
#[pyfunction]
#[pyo3(signature = (trace, *, host = None, program = None))]
pub(crate) fn read_trace(
    py: Python<'_>,
    trace: PathBuf,
    host: Option<String>,
    program: Option<PathBuf>,
) -> PyResult<TraceTables> {
    let host = host.unwrap_or_else(|| trace.file_stem().map(|stem| printable(Path::new(stem))).unwrap_or_default());
    let tables = py.detach(|| {
        let recorded = read(&trace)?;
        Touched::of(&recorded, &host, program.as_deref()).map_err(|reason| refused(&trace, program.as_deref(), &reason))
    });
    tables.map(|tables| TraceTables { tables }).map_err(|error: AppError| raised(py, error))
}

fn refused(trace: &Path, program: Option<&Path>, reason: &NotTouched) -> AppError {
    let path = printable(trace);
    match reason {
        NotTouched::NoPages => AppError::hinted(
            AppError::new(format!("the trace `{path}` was recorded without pages")),
            "record it with `coldstart trace --cold --layers pages,files -- PROGRAM`",
        ),
        NotTouched::NoProgram => AppError::hinted(
            AppError::new(format!("the trace `{path}` has no file `{}`", program.map(printable).unwrap_or_default())),
            "`.files` without `program` lists those that it has, without symbolic links",
        ),
        NotTouched::TooManyPages => AppError::new(format!("the trace `{path}` touches more than 64 GiB of files")),
    }
}
