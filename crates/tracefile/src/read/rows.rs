//! Reads rows of an untrusted file.
//!
//! Rows are numbered, and each number is checked. This is more than an order check: a hostile database can show the
//! same row a million times, with the same long text in each.

use std::ffi::{OsStr, OsString};
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;

use coldstart_profile::trace::Moment;
use rusqlite::Row;
use rusqlite::types::{Type, ValueRef};

use crate::error::TraceFileError;
use crate::open::TraceFile;
use crate::values::unsigned;
use crate::words::Word;

/// Why a row cannot be read.
pub(super) enum Wrong {
    /// SQLite says so.
    Sqlite(rusqlite::Error),
    /// A column holds what does not belong there.
    Value(String),
}

impl From<rusqlite::Error> for Wrong {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// A row, its first column left out: the number.
pub(super) struct Cells<'a> {
    row: &'a Row<'a>,
    text_left: &'a mut u64,
}

/// Reads the rows of `sql`, whose first column numbers them from `first` on.
pub(super) fn numbered(
    file: &TraceFile,
    table: &str,
    first: i64,
    sql: &str,
    mut take: impl FnMut(&mut Cells<'_>) -> Result<ControlFlow<()>, Wrong>,
) -> Result<(), TraceFileError> {
    let mut expected = first;
    rows(file, table, sql, |cells| {
        let number = cells.integer(0)?;
        if number != expected {
            return Err(Wrong::Value(format!("unexpected number {number}")));
        }
        expected += 1;
        take(cells)
    })
}

/// Reads the rows of `sql`; the caller rejects duplicates.
pub(super) fn rows(
    file: &TraceFile,
    table: &str,
    sql: &str,
    mut take: impl FnMut(&mut Cells<'_>) -> Result<ControlFlow<()>, Wrong>,
) -> Result<(), TraceFileError> {
    file.begin_reading();
    // Each text is in the file once.
    let mut text_left = file.bytes;
    let mut count = 0_u64;
    let mut read = || -> Result<(), Wrong> {
        let mut statement = file.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if take(&mut Cells { row, text_left: &mut text_left })?.is_break() {
                break;
            }
            count += 1;
        }
        Ok(())
    };
    match read() {
        Ok(()) => Ok(()),
        Err(Wrong::Sqlite(error)) => match file.error(&error) {
            TraceFileError::Damaged { path, what } => {
                Err(TraceFileError::Damaged { path, what: format!("row {count} of table `{table}`: {what}") })
            }
            other => Err(other),
        },
        Err(Wrong::Value(what)) => {
            Err(TraceFileError::damaged(file.path(), format!("row {count} of table `{table}`: {what}")))
        }
    }
}

impl Cells<'_> {
    /// A number; the only one that may be asked of column 0.
    pub(super) fn integer(&self, column: usize) -> Result<i64, Wrong> {
        match self.row.get_ref(column)? {
            ValueRef::Integer(number) => Ok(number),
            other => Err(self.not("a number", column, other.data_type())),
        }
    }

    pub(super) fn u64(&self, column: usize) -> Result<u64, Wrong> {
        self.integer(column).map(unsigned)
    }

    /// A number of a smaller type.
    pub(super) fn small<N: TryFrom<i64>>(&self, column: usize) -> Result<N, Wrong> {
        let number = self.integer(column)?;
        N::try_from(number)
            .map_err(|_| Wrong::Value(format!("column `{}`: {number} is out of range", self.name(column))))
    }

    pub(super) fn flag(&self, column: usize) -> Result<bool, Wrong> {
        Ok(self.small::<u8>(column)? != 0)
    }

    pub(super) fn moment(&self, column: usize) -> Result<Moment, Wrong> {
        self.u64(column).map(Moment)
    }

    /// What a column holds, unless that is nothing.
    pub(super) fn optional<T>(
        &mut self,
        column: usize,
        read: impl FnOnce(&mut Self, usize) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        match self.row.get_ref(column)? {
            ValueRef::Null => Ok(None),
            _ => read(self, column).map(Some),
        }
    }

    pub(super) fn text(&mut self, column: usize) -> Result<String, Wrong> {
        match self.row.get_ref(column)? {
            ValueRef::Text(bytes) => {
                self.count(bytes.len())?;
                let text = std::str::from_utf8(bytes);
                text.map(str::to_owned)
                    .map_err(|_| Wrong::Value(format!("column `{}` is not UTF-8", self.name(column))))
            }
            other => Err(self.not("text", column, other.data_type())),
        }
    }

    /// Text or bytes.
    pub(super) fn bytes(&mut self, column: usize) -> Result<OsString, Wrong> {
        match self.row.get_ref(column)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                self.count(bytes.len())?;
                Ok(OsStr::from_bytes(bytes).to_owned())
            }
            other => Err(self.not("text", column, other.data_type())),
        }
    }

    /// A choice, by its word.
    pub(super) fn word<W: Word>(&mut self, column: usize) -> Result<W, Wrong> {
        let word = self.text(column)?;
        W::of(&word).ok_or_else(|| self.unknown(column, &word))
    }

    pub(super) fn unknown(&self, column: usize, word: &str) -> Wrong {
        Wrong::Value(format!("column `{}`: unknown value {word:?}", self.name(column)))
    }

    fn count(&mut self, length: usize) -> Result<(), Wrong> {
        let left = u64::try_from(length).ok().and_then(|length| self.text_left.checked_sub(length));
        *self.text_left = left.ok_or_else(|| Wrong::Value("its texts are larger than the file".to_owned()))?;
        Ok(())
    }

    fn not(&self, wanted: &str, column: usize, found: Type) -> Wrong {
        Wrong::Value(format!("column `{}` is {found}, not {wanted}", self.name(column)))
    }

    fn name(&self, column: usize) -> String {
        self.row.as_ref().column_name(column).map_or_else(|_| column.to_string(), str::to_owned)
    }
}
