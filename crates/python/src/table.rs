//! A table, handed over by the Arrow C stream interface: the columns are not copied.

use std::ffi::CStr;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use coldstart_tables::Row;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The name that the Arrow PyCapsule interface gives such capsules.
const STREAM: &CStr = c"arrow_array_stream";

/// A table of results: an Arrow stream for pyarrow, pandas, polars and DuckDB.
#[pyclass(frozen, module = "coldstart")]
#[derive(Debug)]
pub(crate) struct Table {
    batch: RecordBatch,
}

impl Table {
    pub(crate) fn of<R: Row>(rows: &[R]) -> PyResult<Self> {
        let batch = R::batch(rows).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { batch })
    }
}

#[pymethods]
impl Table {
    /// The table as a capsule of the Arrow C stream interface; other schemas are not offered.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer ignore it.
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), STREAM)
    }

    /// The names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// What each column means, by its name.
    #[getter]
    fn descriptions(&self) -> std::collections::BTreeMap<String, String> {
        let schema = self.batch.schema();
        let meaning = |field: &arrow_schema::Field| field.metadata().get(coldstart_tables::MEANING).cloned();
        schema.fields().iter().map(|field| (field.name().clone(), meaning(field).unwrap_or_default())).collect()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!("<coldstart.Table: {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }
}
