//! Storing a measurement: one transaction, so that it is stored completely or not at all.

use coldstart_profile::measurement::{End, KeptMeasurement, Machine, Measurement, Sample, Summary, Use, Warning};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};
use serde_json::Value;

use crate::error::HistoryError;
use crate::open::History;

/// The result of adding a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// Stored now, under this number.
    New(i64),
    /// Already stored, under this number.
    Known(i64),
}

impl Added {
    /// Its number.
    pub fn number(self) -> i64 {
        match self {
            Self::New(number) | Self::Known(number) => number,
        }
    }
}

impl History {
    /// Stores a measurement. One with the same `id` is stored once.
    ///
    /// # Errors
    /// [`HistoryError::Contradictory`] where a run or figure refers to a missing command; else see
    /// [`HistoryError`]. Nothing is stored then.
    pub fn add(&mut self, kept: &KeptMeasurement) -> Result<Added, HistoryError> {
        check(kept)?;
        let documents = Documents::of(kept).map_err(|error| HistoryError::Contradictory { what: error.to_string() })?;
        let add = |connection: &mut rusqlite::Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let known =
                transaction.query_row("SELECT id FROM measurement WHERE uid = ?1", [&kept.id], |row| row.get(0));
            if let Some(number) = known.optional()? {
                return Ok(Added::Known(number));
            }
            let number = insert(&transaction, kept, &documents)?;
            transaction.commit()?;
            Ok(Added::New(number))
        };
        add(&mut self.connection).map_err(|error: rusqlite::Error| self.error(&error))
    }
}

fn check(kept: &KeptMeasurement) -> Result<(), HistoryError> {
    let Measurement { commands, samples, summaries, .. } = &kept.measurement;
    let absent = |command: usize| command >= commands.len();
    let what = if kept.id.is_empty() {
        "it has no id"
    } else if commands.is_empty() {
        "it has no command"
    } else if samples.iter().any(|sample| absent(sample.command)) {
        "a run refers to a missing command"
    } else if summaries.iter().any(|summary| absent(summary.command)) {
        "a figure refers to a missing command"
    } else {
        return Ok(());
    };
    Err(HistoryError::Contradictory { what: what.to_owned() })
}

/// Everything, as JSON: the measurement without its samples, and each sample.
struct Documents {
    measurement: String,
    samples: Vec<String>,
    /// Of each warning.
    kinds: Vec<String>,
}

impl Documents {
    fn of(kept: &KeptMeasurement) -> serde_json::Result<Self> {
        let mut rest = kept.clone();
        let samples = std::mem::take(&mut rest.measurement.samples);
        let kind = |warning: &Warning| {
            let json = serde_json::to_value(warning)?;
            Ok(json.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned())
        };
        Ok(Self {
            measurement: serde_json::to_string(&rest)?,
            samples: samples.iter().map(serde_json::to_string).collect::<serde_json::Result<_>>()?,
            kinds: kept.measurement.warnings.iter().map(kind).collect::<serde_json::Result<_>>()?,
        })
    }
}

fn insert(to: &Transaction<'_>, kept: &KeptMeasurement, documents: &Documents) -> rusqlite::Result<i64> {
    let measurement = &kept.measurement;
    to.execute(
        "INSERT INTO measurement (uid, measured_at, label, coldstart_version, machine, json)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            kept.id,
            kept.measured_at,
            kept.label,
            kept.coldstart_version,
            machine(to, &measurement.machine)?,
            documents.measurement,
        ],
    )?;
    let number = to.last_insert_rowid();
    commands(to, number, kept)?;
    for summary in &measurement.summaries {
        insert_summary(to, number, summary)?;
    }
    for (position, (sample, json)) in measurement.samples.iter().zip(&documents.samples).enumerate() {
        insert_sample(to, number, position, sample, json)?;
    }
    let mut statement = to.prepare("INSERT INTO warning VALUES (?1, ?2, ?3, ?4)")?;
    for (position, (warning, kind)) in measurement.warnings.iter().zip(&documents.kinds).enumerate() {
        statement.execute(params![number, small(position), kind, warning.to_string()])?;
    }
    Ok(number)
}

/// The machine's number; machines are stored once.
fn machine(to: &Transaction<'_>, machine: &Machine) -> rusqlite::Result<i64> {
    let devices: Vec<String> = machine
        .devices
        .iter()
        .map(|device| {
            device.model.as_ref().map_or_else(|| device.name.clone(), |model| format!("{} ({model})", device.name))
        })
        .collect();
    let values = params![
        machine.kernel,
        machine.processor,
        machine.processor_count,
        clamped(machine.memory),
        machine.governor,
        devices.join(", "),
    ];
    let known = to.query_row(
        "SELECT id FROM machine WHERE kernel IS ?1 AND processor IS ?2 AND processor_count IS ?3 AND memory IS ?4
         AND governor IS ?5 AND devices IS ?6",
        values,
        |row| row.get(0),
    );
    if let Some(number) = known.optional()? {
        return Ok(number);
    }
    to.execute(
        "INSERT INTO machine (kernel, processor, processor_count, memory, governor, devices)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        values,
    )?;
    Ok(to.last_insert_rowid())
}

fn commands(to: &Transaction<'_>, number: i64, kept: &KeptMeasurement) -> rusqlite::Result<()> {
    let mut statement = to.prepare("INSERT INTO command VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?;
    for (position, command) in kept.measurement.commands.iter().enumerate() {
        let program = kept.program(position);
        statement.execute(params![
            number,
            small(position),
            command.label,
            command.command_line,
            command.readiness,
            program.map(|program| &program.path),
            program.map(|program| clamped(program.file.size)),
            program.map(|program| program.file.modified),
            program.and_then(|program| program.build_id.as_ref()),
            program.and_then(|program| program.content_hash.as_ref()),
        ])?;
    }
    Ok(())
}

fn insert_summary(to: &Transaction<'_>, number: i64, summary: &Summary) -> rusqlite::Result<()> {
    to.prepare_cached("INSERT INTO summary VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)")?.execute(
        params![
            number,
            small(summary.command),
            summary.state.name(),
            summary.counted,
            summary.failed,
            summary.contradicting,
            summary.median,
            summary.mean,
            summary.mean_interval.map(|interval| interval.low),
            summary.mean_interval.map(|interval| interval.high),
            summary.min,
            summary.max,
            summary.standard_deviation,
        ],
    )?;
    Ok(())
}

fn insert_sample(
    to: &Transaction<'_>,
    number: i64,
    position: usize,
    sample: &Sample,
    json: &str,
) -> rusqlite::Result<()> {
    let (used, reason) = match &sample.used {
        Use::Counted => ("counted", None),
        Use::WarmUp => ("warm-up", None),
        Use::Failed { reason } => ("failed", Some(reason)),
        Use::Contradicts { reason } => ("contradicts", Some(reason)),
    };
    let end = match sample.end {
        End::Exited(code) => format!("exited {code}"),
        End::Signalled(signal) => format!("signalled {signal}"),
        End::Ended => "ended".to_owned(),
        End::TimedOut => "timed out".to_owned(),
    };
    to.prepare_cached(
        "INSERT INTO sample VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
    )?
    .execute(params![
        number,
        small(position),
        sample.number,
        small(sample.command),
        sample.state.name(),
        sample.round,
        sample.attempt,
        used,
        reason,
        sample.seconds,
        end,
        sample.bytes_read.map(clamped),
        sample.major_faults.map(clamped),
        sample.minor_faults.map(clamped),
        sample.user_seconds,
        sample.system_seconds,
        sample.residency.map(|residency| clamped(residency.file_pages)),
        sample.residency.map(|residency| clamped(residency.resident_pages)),
        json,
    ])?;
    Ok(())
}

/// SQLite's integers end at 2^63 - 1; the JSON has the exact number.
fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn small(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
