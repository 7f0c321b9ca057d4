//! Columns of a portion of a table, by name.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::DataType;

enum Column<'batch> {
    Text(&'batch StringArray),
    Number(&'batch Int64Array),
}

/// Some columns of a portion.
pub(crate) struct Columns<'batch> {
    columns: Vec<(&'static str, Column<'batch>)>,
    rows: usize,
}

impl<'batch> Columns<'batch> {
    /// `None` if one of them is missing, or of a type that no table of ours has.
    pub(crate) fn of(batch: &'batch RecordBatch, names: &[&'static str]) -> Option<Self> {
        let column = |name: &&'static str| {
            let array = batch.column_by_name(name)?;
            let column = match array.data_type() {
                DataType::Utf8 => Column::Text(array.as_string_opt::<i32>()?),
                DataType::Int64 => Column::Number(array.as_primitive_opt::<Int64Type>()?),
                _ => return None,
            };
            Some((*name, column))
        };
        Some(Self { columns: names.iter().map(column).collect::<Option<_>>()?, rows: batch.num_rows() })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The text in a row; none if it is absent.
    pub(crate) fn text(&self, name: &str, row: usize) -> Option<&'batch str> {
        match self.find(name)? {
            Column::Text(array) if !array.is_null(row) => Some(array.value(row)),
            _ => None,
        }
    }

    /// The number in a row; 0 if it is absent.
    pub(crate) fn number(&self, name: &str, row: usize) -> u64 {
        match self.find(name) {
            Some(Column::Number(array)) if !array.is_null(row) => u64::try_from(array.value(row)).unwrap_or(0),
            _ => 0,
        }
    }

    fn find(&self, name: &str) -> Option<&Column<'batch>> {
        self.columns.iter().find(|(of, _)| *of == name).map(|(_, column)| column)
    }
}
