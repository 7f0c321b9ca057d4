//! Values of the data model without a SQLite type.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};

/// Bytes of the system's (a path, an argument): TEXT where they are UTF-8, so that people can compare them; else BLOB.
pub(crate) struct Bytes<'a>(pub(crate) &'a OsStr);

impl ToSql for Bytes<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let bytes = self.0.as_bytes();
        let value = if std::str::from_utf8(bytes).is_ok() { ValueRef::Text(bytes) } else { ValueRef::Blob(bytes) };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

/// SQLite's integers have a sign: numbers from 2^63 on become negative (two's complement). No page, moment or
/// user-space address gets there; what does (the kernel's `[vsyscall]`) comes back as it was.
pub(crate) fn signed(number: u64) -> i64 {
    number.cast_signed()
}

/// The other way round.
pub(crate) fn unsigned(number: i64) -> u64 {
    number.cast_unsigned()
}

/// A place in a list.
pub(crate) fn place(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}
