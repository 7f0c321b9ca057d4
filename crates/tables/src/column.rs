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

/// Implements [`Column`] for a type whose builder takes one value at a time.
macro_rules! column {
    ($type:ty, $data_type:ident, optional: $is_optional:literal, $builder:ident, |$to:ident, $value:ident| $append:expr) => {
        impl Column for $type {
            fn data_type() -> DataType {
                DataType::$data_type
            }

            const IS_OPTIONAL: bool = $is_optional;

            fn array<'value>(values: impl Iterator<Item = &'value Self>) -> ArrayRef {
                let mut $to = $builder::new();
                values.for_each(|$value| $append);
                Arc::new($to.finish())
            }
        }
    };
}

column!(String, Utf8, optional: false, StringBuilder, |to, value| to.append_value(value));
column!(Option<String>, Utf8, optional: true, StringBuilder, |to, value| to.append_option(value.as_deref()));
column!(&'static str, Utf8, optional: false, StringBuilder, |to, value| to.append_value(value));
column!(Option<&'static str>, Utf8, optional: true, StringBuilder, |to, value| to.append_option(*value));
column!(u64, Int64, optional: false, Int64Builder, |to, value| to.append_value(signed(*value)));
column!(Option<u64>, Int64, optional: true, Int64Builder, |to, value| to.append_option(value.map(signed)));
column!(Option<i64>, Int64, optional: true, Int64Builder, |to, value| to.append_option(*value));
column!(Option<f64>, Float64, optional: true, Float64Builder, |to, value| to.append_option(*value));
column!(bool, Boolean, optional: false, BooleanBuilder, |to, value| to.append_value(*value));

/// Signed, because Spark has no unsigned integers and reads them from Parquet as decimals.
fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
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
