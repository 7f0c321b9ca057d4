//! Searching a history.

use coldstart_profile::measurement::{KeptMeasurement, Sample};
use rusqlite::{OptionalExtension, Row, params};

use crate::error::HistoryError;
use crate::open::History;

/// A stored measurement, and its number in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its number: what `#12` means. Numbers are per file.
    pub number: i64,
    /// The measurement.
    pub kept: KeptMeasurement,
}

/// Search criteria. `None` matches everything.
#[derive(Clone, Debug, Default)]
pub struct Search {
    /// Measurements with a command of exactly this command line.
    pub command_line: Option<String>,
    /// Measurements with a command whose program's path is this (in the form of
    /// [`coldstart_profile::measurement::path_to_text`]), or whose command line contains it.
    pub program: Option<String>,
    /// Measurements with this label.
    pub label: Option<String>,
    /// Only the newest of them, this many.
    pub newest: Option<u32>,
}

/// A command that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownProgram {
    /// Program and arguments.
    pub command_line: String,
    /// The program's path when it was last measured, if known.
    pub program: Option<String>,
    /// Number of measurements.
    pub measurements: u64,
    /// Time of the last measurement, seconds since 1970-01-01 UTC.
    pub last_measured_at: i64,
}

impl History {
    /// The measured commands, most recent first.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn programs(&self) -> Result<Vec<KnownProgram>, HistoryError> {
        let read = || {
            // With max(), SQLite takes the other columns from the same row.
            let mut statement = self.connection.prepare(
                "SELECT command_line, program, count(DISTINCT measurement.id), max(measured_at)
                 FROM command JOIN measurement ON measurement.id = command.measurement
                 GROUP BY command_line ORDER BY max(measured_at) DESC, command_line",
            )?;
            let program = |row: &Row<'_>| {
                Ok(KnownProgram {
                    command_line: row.get(0)?,
                    program: row.get(1)?,
                    measurements: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
                    last_measured_at: row.get(3)?,
                })
            };
            statement.query_map([], program)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read().map_err(|error: rusqlite::Error| self.error(&error))
    }

    /// The measurements that match a search, oldest first.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn search(&self, search: &Search) -> Result<Vec<Stored>, HistoryError> {
        let numbers = || {
            let mut statement = self.connection.prepare(
                "SELECT id FROM measurement
                 WHERE (?1 IS NULL OR label = ?1)
                 AND (?2 IS NULL OR id IN (SELECT measurement FROM command WHERE command_line = ?2))
                 AND (?3 IS NULL OR id IN
                      (SELECT measurement FROM command WHERE program = ?3 OR instr(command_line, ?3) > 0))
                 ORDER BY measured_at DESC, id DESC LIMIT ?4",
            )?;
            let newest = search.newest.map_or(-1, i64::from);
            let values = params![search.label, search.command_line, search.program, newest];
            statement.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>()
        };
        let numbers: Vec<i64> = numbers().map_err(|error: rusqlite::Error| self.error(&error))?;
        let mut found = Vec::new();
        for number in numbers.into_iter().rev() {
            found.extend(self.get(number)?);
        }
        Ok(found)
    }

    /// The measurement with a number; `None` if there is none.
    ///
    /// # Errors
    /// See [`HistoryError`].
    pub fn get(&self, number: i64) -> Result<Option<Stored>, HistoryError> {
        let said = |error: rusqlite::Error| self.error(&error);
        let row = self
            .connection
            .prepare_cached("SELECT label, json FROM measurement WHERE id = ?1")
            .and_then(|mut statement| {
                let pair = |row: &Row<'_>| Ok((row.get::<_, Option<String>>(0)?, row.get::<_, String>(1)?));
                statement.query_row([number], pair).optional()
            })
            .map_err(said)?;
        let Some((label, json)) = row else { return Ok(None) };
        let damaged = |error: serde_json::Error| HistoryError::Damaged {
            path: self.path.clone(),
            what: format!("measurement #{number} cannot be read: {error}"),
        };
        let mut kept: KeptMeasurement = serde_json::from_str(&json).map_err(damaged)?;
        // Users may correct a label in its column, where they see it.
        kept.label = label;
        kept.measurement.samples = self.samples(number, damaged)?;
        Ok(Some(Stored { number, kept }))
    }

    fn samples(
        &self,
        number: i64,
        damaged: impl Fn(serde_json::Error) -> HistoryError,
    ) -> Result<Vec<Sample>, HistoryError> {
        let read = || {
            let mut statement =
                self.connection.prepare_cached("SELECT json FROM sample WHERE measurement = ?1 ORDER BY position")?;
            statement.query_map([number], |row| row.get(0))?.collect::<rusqlite::Result<Vec<_>>>()
        };
        let documents: Vec<String> = read().map_err(|error: rusqlite::Error| self.error(&error))?;
        documents.iter().map(|json| serde_json::from_str(json).map_err(&damaged)).collect()
    }
}
