//! What is in the tables of a survey, as text.

use std::fs;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

/// The shards of a survey, sorted.
pub(crate) fn shards(survey: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(survey).unwrap().map(|entry| entry.unwrap().path());
    let mut shards: Vec<PathBuf> =
        entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("shard=")).collect();
    shards.sort();
    shards
}

fn batches(survey: &Path, table: &str) -> Vec<RecordBatch> {
    let files = shards(survey).into_iter().map(|shard| shard.join(format!("{table}.parquet")));
    let read = |path: PathBuf| {
        ParquetRecordBatchReaderBuilder::try_new(fs::File::open(path).unwrap()).unwrap().build().unwrap()
    };
    files.flat_map(|path| read(path).map(Result::unwrap)).collect()
}

/// These columns of all rows of a table, sorted; absent values are `-`.
pub(crate) fn rows(survey: &Path, table: &str, columns: &[&str]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for batch in batches(survey, table) {
        for row in 0..batch.num_rows() {
            rows.push(columns.iter().map(|name| value(&batch, name, row)).collect());
        }
    }
    rows.sort();
    rows
}

fn value(batch: &RecordBatch, column: &str, row: usize) -> String {
    let column = batch.column_by_name(column).unwrap_or_else(|| panic!("no column {column}"));
    if column.is_null(row) {
        return "-".to_owned();
    }
    match column.data_type() {
        arrow_schema::DataType::Utf8 => column.as_string::<i32>().value(row).to_owned(),
        arrow_schema::DataType::Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        arrow_schema::DataType::Boolean => column.as_boolean().value(row).to_string(),
        other => panic!("{other}"),
    }
}

/// The only column of all rows.
pub(crate) fn column(survey: &Path, table: &str, name: &str) -> Vec<String> {
    rows(survey, table, &[name]).into_iter().flatten().collect()
}
