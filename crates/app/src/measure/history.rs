//! The measured programs, and their times over time.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use anyhow::anyhow;
use coldstart_history::{History, KnownProgram, Search, Stored};
use coldstart_profile::measurement::{KeptMeasurement, Series, path_to_text};
use coldstart_profile::{escaped, printable};
use serde::Serialize;

use super::options::Keeping;
use super::store::open_to_read;
use super::trend;
use crate::error::{AppError, HintExt};

/// The schema of [`HistoryOutcome`] as JSON.
pub const SCHEMA: &str = "coldstart.measure-history/1";

/// The measured programs, or the measurements of some of them.
#[derive(Clone, Debug, Serialize)]
pub struct HistoryOutcome {
    /// The programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<Vec<Program>>,
    /// The measurements over time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<Vec<Series>>,
}

/// A measured program.
#[derive(Clone, Debug, Serialize)]
pub struct Program {
    /// Program and arguments.
    pub command_line: String,
    /// The program's path when it was last measured, where it is known.
    pub program: Option<String>,
    /// Number of measurements.
    pub measurements: u64,
    /// When it was last measured, seconds since 1970-01-01 UTC.
    pub last_measured_at: i64,
}

/// Opens the history of `keeping` for reading.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn open(keeping: &Keeping) -> Result<History, AppError> {
    open_to_read(keeping)
}

/// The measured programs, most recent first.
///
/// # Errors
/// When the history cannot be read.
pub fn programs(history: &History) -> Result<HistoryOutcome, AppError> {
    let program = |KnownProgram { command_line, program, measurements, last_measured_at }| Program {
        command_line,
        program,
        measurements,
        last_measured_at,
    };
    let programs = history.programs()?.into_iter().map(program).collect();
    Ok(HistoryOutcome { programs: Some(programs), series: None })
}

/// All measurements, the newest first.
///
/// # Errors
/// When the history cannot be read.
pub fn all(history: &History) -> Result<Vec<Stored>, AppError> {
    Ok(history.search(&Search::default())?)
}

/// Measurements of the requested programs.
#[derive(Clone, Debug)]
pub struct Found {
    /// The text by which they were found: a path, or a part of a command line.
    pub text: String,
    stored: Vec<Stored>,
}

/// The measurements of a program: its path, which may be relative, or a part of its command line.
///
/// # Errors
/// When there are none, or the history cannot be read.
pub fn find(history: &History, wanted: &[u8]) -> Result<Found, AppError> {
    let mut texts = vec![String::from_utf8_lossy(wanted).into_owned()];
    if let Ok(path) = fs::canonicalize(OsStr::from_bytes(wanted)) {
        // The history has absolute paths.
        texts.push(path_to_text(path.as_os_str().as_bytes()));
    }
    for text in texts {
        let stored = history.search(&Search { program: Some(text.clone()), ..Search::default() })?;
        if !stored.is_empty() {
            return Ok(Found { text, stored });
        }
    }
    let name = escaped(&String::from_utf8_lossy(wanted));
    Err(anyhow!("no measurement of `{name}` in `{}`", printable(history.path())))
        .hint(|| "`coldstart measure --history` lists the measured programs")
}

impl Found {
    /// The measurements over time.
    pub fn outcome(&self) -> HistoryOutcome {
        let series = trend::series(&self.stored, |line, path| self.is_of(line, path));
        HistoryOutcome { programs: None, series: Some(series) }
    }

    /// Each measurement with its number. It may have other commands, too: see [`Found::is_wanted`].
    pub fn measurements(&self) -> Vec<(Option<i64>, &KeptMeasurement)> {
        self.stored.iter().map(|stored| (Some(stored.number), &stored.kept)).collect()
    }

    /// Whether a command of a measurement matches.
    pub fn is_wanted(&self, kept: &KeptMeasurement, command: usize) -> bool {
        let line = kept.measurement.commands.get(command).map_or("", |command| command.command_line.as_str());
        self.is_of(line, kept.program(command).map(|program| program.path.as_str()))
    }

    fn is_of(&self, line: &str, path: Option<&str>) -> bool {
        line.contains(&self.text) || path == Some(self.text.as_str())
    }
}
