//! From the fields of a row to the columns of a table.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};

/// The key of a column's meaning in the metadata of its field.
pub const MEANING: &str = "description";

/// The type of a field that can be a column.
pub trait Column: Sized {
    /// The type in Arrow.
    fn data_type() -> DataType;

    /// Whether it may be absent.
    const IS_OPTIONAL: bool = false;

    /// The column of these values.
    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef
    where
        Self: 'value;
}

impl Column for String {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_value(value));
        Arc::new(builder.finish())
    }
}

impl Column for Option<String> {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    const IS_OPTIONAL: bool = true;

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_option(value.as_deref()));
        Arc::new(builder.finish())
    }
}

impl Column for &'static str {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_value(value));
        Arc::new(builder.finish())
    }
}

impl Column for Option<&'static str> {
    fn data_type() -> DataType {
        DataType::Utf8
    }

    const IS_OPTIONAL: bool = true;

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = StringBuilder::new();
        values.for_each(|value| builder.append_option(*value));
        Arc::new(builder.finish())
    }
}

/// Signed, because Spark has no unsigned integers and reads them from Parquet as decimals.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Column for u64 {
    fn data_type() -> DataType {
        DataType::Int64
    }

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = Int64Builder::new();
        values.for_each(|value| builder.append_value(signed(*value)));
        Arc::new(builder.finish())
    }
}

impl Column for Option<u64> {
    fn data_type() -> DataType {
        DataType::Int64
    }

    const IS_OPTIONAL: bool = true;

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = Int64Builder::new();
        values.for_each(|value| builder.append_option(value.map(signed)));
        Arc::new(builder.finish())
    }
}

impl Column for Option<f64> {
    fn data_type() -> DataType {
        DataType::Float64
    }

    const IS_OPTIONAL: bool = true;

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = Float64Builder::new();
        values.for_each(|value| builder.append_option(*value));
        Arc::new(builder.finish())
    }
}

impl Column for bool {
    fn data_type() -> DataType {
        DataType::Boolean
    }

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = BooleanBuilder::new();
        values.for_each(|value| builder.append_value(*value));
        Arc::new(builder.finish())
    }
}

impl Column for Vec<String> {
    fn data_type() -> DataType {
        DataType::List(Arc::new(element()))
    }

    fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new()).with_field(element());
        for value in values {
            value.iter().for_each(|text| builder.values().append_value(text));
            builder.append(true);
        }
        Arc::new(builder.finish())
    }
}

/// The elements of a list, by the name that Parquet gives them.
fn element() -> Field {
    Field::new("element", DataType::Utf8, false)
}

/// A row of a table.
pub trait Row: Sized {
    /// The name of the table.
    const TABLE: &'static str;
    /// What one row is.
    const MEANING: &'static str;

    /// The columns.
    fn fields() -> Vec<Field>;

    /// The rows as columns.
    fn arrays(rows: &[Self]) -> Vec<ArrayRef>;

    /// The columns with the version of the schema.
    fn schema() -> SchemaRef {
        let version = (crate::VERSION_KEY.to_owned(), crate::VERSION.to_string());
        Arc::new(Schema::new_with_metadata(Self::fields(), HashMap::from([version])))
    }

    /// The rows as a table.
    ///
    /// # Errors
    /// Arrow's, if a column does not fit the schema; a defect.
    fn batch(rows: &[Self]) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Self::schema(), Self::arrays(rows))
    }
}

/// A column with its meaning.
pub(crate) fn field<T: Column>(name: &str, meaning: &[&str]) -> Field {
    let meaning = meaning.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    Field::new(name, T::data_type(), T::IS_OPTIONAL).with_metadata(HashMap::from([(MEANING.to_owned(), meaning)]))
}

/// Declares a row: its fields become columns, their documentation the columns' meaning.
macro_rules! row {
    ($(#[doc = $row_doc:literal])+ $name:ident in $table:literal { $($(#[doc = $doc:literal])+ $field:ident: $type:ty,)+ }) => {
        $(#[doc = $row_doc])+
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)+
        }

        impl $crate::column::Row for $name {
            const TABLE: &'static str = $table;
            const MEANING: &'static str = concat!($($row_doc),+);

            fn fields() -> Vec<arrow_schema::Field> {
                vec![$($crate::column::field::<$type>(stringify!($field), &[$($doc),+]),)+]
            }

            fn arrays(rows: &[Self]) -> Vec<arrow_array::ArrayRef> {
                vec![$(<$type as $crate::column::Column>::array(rows.iter().map(|row| &row.$field)),)+]
            }
        }
    };
}
pub(crate) use row;
