//! User queries.
//!
//! One read-only statement. SQLite itself reports whether a statement only reads; in addition, an authoriser checks
//! each action of a statement, so that no file but the trace is accessed.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, InterruptHandle};

use crate::error::TraceFileError;
use crate::open::TraceFile;

/// One value of a result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text.
    Text(&'a str),
    /// Bytes that are not text: a path, say, that is not UTF-8.
    Bytes(&'a [u8]),
}

/// A part of a result, in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer<'a> {
    /// First, and once: the names of the columns.
    Columns(&'a [String]),
    /// Then each row: as many values as there are columns.
    Row(&'a [Value<'a>]),
}

/// Interrupts a query from another thread.
pub struct Interrupter(InterruptHandle);

impl Interrupter {
    /// Ends the running query, if any, with [`TraceFileError::Interrupted`].
    pub fn interrupt(&self) {
        self.0.interrupt();
    }
}

impl TraceFile {
    /// Runs one SQL query, row by row. `limit` applies to the total time, including that of `take`; `take` may stop
    /// early.
    ///
    /// # Errors
    /// [`TraceFileError::Question`], [`TraceFileError::NotOneStatement`], [`TraceFileError::NotAQuestion`],
    /// [`TraceFileError::TooSlow`], [`TraceFileError::Interrupted`], [`TraceFileError::Damaged`].
    pub fn query(
        &mut self,
        sql: &str,
        limit: Option<Duration>,
        mut take: impl FnMut(Answer<'_>) -> ControlFlow<()>,
    ) -> Result<(), TraceFileError> {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        let is_late = move || end.is_some_and(|end| Instant::now() >= end);
        self.watch(is_late)?;
        let answered = self.answer(sql, &is_late, &mut take);
        self.watch_reading()?;
        match answered {
            Err(error) => Err(error),
            Ok(Broke::Late) => Err(TraceFileError::TooSlow { limit: limit.unwrap_or_default() }),
            Ok(Broke::No) => Ok(()),
        }
    }

    /// What interrupts questions to this file.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter(self.connection.get_interrupt_handle())
    }

    fn answer(
        &self,
        sql: &str,
        is_late: &dyn Fn() -> bool,
        take: &mut dyn FnMut(Answer<'_>) -> ControlFlow<()>,
    ) -> Result<Broke, TraceFileError> {
        let said = |error: rusqlite::Error| match error.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) if is_late() => Ok(Broke::Late),
            _ => Err(self.question_error(&error)),
        };
        let mut statement = match self.connection.prepare(sql) {
            Ok(statement) => statement,
            Err(error) => return said(error),
        };
        // Only a comment, or nothing.
        if statement.expanded_sql().is_none() {
            return Err(TraceFileError::NotOneStatement { found: "no statement" });
        }
        // `VACUUM INTO` changes nothing here, and writes a file all the same: it has no columns.
        if !statement.readonly() || statement.column_count() == 0 {
            return Err(TraceFileError::NotAQuestion { what: "do something other than read the trace".to_owned() });
        }
        let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
        if take(Answer::Columns(&names)).is_break() {
            return Ok(Broke::No);
        }
        let mut rows = match statement.query([]) {
            Ok(rows) => rows,
            Err(error) => return said(error),
        };
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(Broke::No),
                Err(error) => return said(error),
            };
            let values = (0..names.len()).map(|column| row.get_ref(column).map(value));
            let values: Vec<Value<'_>> =
                values.collect::<rusqlite::Result<_>>().map_err(|error| self.question_error(&error))?;
            if take(Answer::Row(&values)).is_break() {
                return Ok(Broke::No);
            }
            if is_late() {
                return Ok(Broke::Late);
            }
        }
    }

    fn question_error(&self, error: &rusqlite::Error) -> TraceFileError {
        if matches!(error, rusqlite::Error::MultipleStatement) {
            return TraceFileError::NotOneStatement { found: "several statements" };
        }
        let reason = match error {
            rusqlite::Error::SqliteFailure(_, Some(words)) => words.clone(),
            rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
            _ => error.to_string(),
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly) => {
                TraceFileError::NotAQuestion { what: "do something other than read the trace".to_owned() }
            }
            Some(ErrorCode::OperationInterrupted) => TraceFileError::Interrupted,
            Some(ErrorCode::DatabaseCorrupt) => TraceFileError::damaged(&self.path, reason),
            _ => TraceFileError::Question { reason },
        }
    }
}

/// Why an answer ended.
enum Broke {
    No,
    Late,
}

fn value(value: ValueRef<'_>) -> Value<'_> {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Integer(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => std::str::from_utf8(bytes).map_or(Value::Bytes(bytes), Value::Text),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    }
}

/// What statements may do: read tables, call functions, look at the shape of tables.
#[allow(clippy::needless_pass_by_value, reason = "SQLite's hook is called with it")]
pub(crate) fn allow(asked: AuthContext<'_>) -> Authorization {
    let allowed = match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        // None of them writes; extensions would be code.
        AuthAction::Function { function_name } => !function_name.eq_ignore_ascii_case("load_extension"),
        AuthAction::Pragma { pragma_name, .. } => {
            let shapes = ["table_info", "table_xinfo", "table_list", "index_list", "index_info"];
            shapes.iter().any(|known| pragma_name.eq_ignore_ascii_case(known))
        }
        _ => false,
    };
    if allowed { Authorization::Allow } else { Authorization::Deny }
}
