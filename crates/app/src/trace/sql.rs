//! `trace sql`: SQL queries on a trace.
//!
//! A query may run forever. A thread waits for a signal and then interrupts the query through SQLite, because a signal handler
//! must not call SQLite.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread::Builder;
use std::time::Duration;

use anyhow::{Context, anyhow};
use coldstart_launch::Interrupt;
use coldstart_profile::escaped;
use coldstart_tracefile::{Answer, Interrupter, TraceFile, TraceFileError, Value};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::error::AppError;

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.trace-sql/1";
/// Interval between repeated interrupts after a signal: an interrupt before the query has begun has no effect.
const AGAIN: Duration = Duration::from_millis(20);

/// Runs a query and keeps the complete result; `None` if a signal interrupted it.
///
/// # Errors
/// If the file is not a trace, or the query is not read-only.
pub fn answer(path: &Path, question: &str, interrupt: &Interrupt) -> Result<Option<SqlAnswer>, AppError> {
    let mut file = TraceFile::open(path)?;
    let mut answer = SqlAnswer::default();
    let add = |part: Answer<'_>| {
        answer.add(part);
        Ok(())
    };
    Ok(ask(&mut file, question, interrupt, add)?.then_some(answer))
}

/// Runs a query and passes each part of the result to `take`, until one fails; `false` if a signal interrupted it.
///
/// # Errors
/// If `take` fails, or the query is not read-only.
pub fn ask(
    file: &mut TraceFile,
    question: &str,
    interrupt: &Interrupt,
    mut take: impl FnMut(Answer<'_>) -> Result<(), AppError>,
) -> Result<bool, AppError> {
    let mut failed = None;
    let interrupter = file.interrupter();
    let (over, is_over) = UnixStream::pair()?;
    let asked = std::thread::scope(|scope| {
        // Without it, a signal ends the query at the next part of the result.
        let _ = Builder::new().spawn_scoped(scope, move || interrupt_when_asked(interrupt, &interrupter, &is_over));
        let asked = file.query(question, None, |part| {
            if interrupt.signal().is_some() {
                return ControlFlow::Break(());
            }
            match take(part) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        drop(over);
        asked
    });
    match (asked, failed) {
        (_, Some(error)) => Err(error),
        (Err(TraceFileError::Interrupted), None) => Ok(false),
        (Err(error), None) => Err(error.into()),
        (Ok(()), None) => Ok(interrupt.signal().is_none()),
    }
}

/// Waits for a signal and then interrupts the query, repeatedly until it has ended.
fn interrupt_when_asked(interrupt: &Interrupt, interrupter: &Interrupter, is_over: &UnixStream) {
    let mut patience: Option<Timespec> = None;
    loop {
        let mut waits = vec![PollFd::new(is_over, PollFlags::IN)];
        let descriptor = interrupt.as_fd();
        // The descriptor stays readable after a signal.
        if patience.is_none() {
            waits.push(PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
        }
        match poll(&mut waits, patience.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
        if waits.first().is_none_or(|over| !over.revents().is_empty()) {
            return;
        }
        if interrupt.signal().is_some() {
            interrupter.interrupt();
            patience = AGAIN.try_into().ok();
        }
    }
}

/// A value as text with control characters escaped; bytes as hexadecimal digits.
pub fn value_text(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => escaped(text),
        Value::Bytes(bytes) => hexadecimal(bytes),
    }
}

/// A part of a result as a CSV line (RFC 4180), each value as of [`value_text`].
///
/// # Errors
/// If the CSV writer fails.
pub fn csv_line(part: Answer<'_>) -> Result<String, AppError> {
    let cells: Vec<String> = match part {
        Answer::Columns(names) => names.iter().map(|name| escaped(name)).collect(),
        Answer::Row(values) => values.iter().map(value_text).collect(),
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&cells).context("cannot write the result as CSV")?;
    let line = writer.into_inner().map_err(|error| anyhow!("cannot write the result as CSV: {error}"))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Two digits for each byte.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The columns and rows of a result. A BLOB is an object with hexadecimal `bytes`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SqlAnswer {
    /// Column names.
    pub columns: Vec<String>,
    /// Each with one value per column.
    pub rows: Vec<Vec<serde_json::Value>>,
}

impl SqlAnswer {
    fn add(&mut self, part: Answer<'_>) {
        match part {
            Answer::Columns(names) => self.columns = names.to_vec(),
            Answer::Row(values) => self.rows.push(values.iter().map(in_json).collect()),
        }
    }
}

fn in_json(value: &Value<'_>) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => (*text).into(),
        Value::Bytes(bytes) => serde_json::json!({ "bytes": hexadecimal(bytes) }),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// Set in the process that asks: signals are for whole processes, and other tests have theirs.
    const ASKS: &str = "COLDSTART_TEST_ASKS";

    #[test]
    fn a_signal_ends_a_question_without_end() {
        if std::env::var_os(ASKS).is_some() {
            return ask_for_ever();
        }
        let name = std::thread::current().name().unwrap().to_owned();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", &name, "--nocapture"]).env(ASKS, "1").stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.any(|line| line.contains("asking")));
        let pid = rustix::process::Pid::from_child(&child);
        // Not SIGINT, which is ignored, and stays so, where tests run in the background of a shell.
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        let end = lines.find(|line| line.contains("answered"));
        assert_eq!(end.as_deref(), Some("answered: false"));
        assert!(child.wait().unwrap().success());
    }

    fn ask_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.coldtrace");
        coldstart_tracefile::write_trace(&path, &coldstart_profile::trace::Trace::default()).unwrap();
        let mut file = TraceFile::open(&path).unwrap();
        let question = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n";
        let interrupt = Interrupt::listen().unwrap();
        let mut out = std::io::stdout();
        writeln!(out, "\nasking").unwrap();
        let answered = ask(&mut file, question, &interrupt, |_| Ok(())).unwrap();
        writeln!(out, "\nanswered: {answered}").unwrap();
    }

    #[test]
    fn a_question_is_answered_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.coldtrace");
        coldstart_tracefile::write_trace(&path, &coldstart_profile::trace::Trace::default()).unwrap();
        let interrupt = Interrupt::listen().unwrap();
        let answer = answer(&path, "SELECT 1 AS one, x'ff' AS bytes", &interrupt).unwrap().unwrap();
        assert_eq!(answer.columns, ["one", "bytes"]);
        assert_eq!(answer.rows, [[serde_json::json!(1), serde_json::json!({"bytes": "ff"})]]);
        assert!(super::answer(&path, "DELETE FROM event", &interrupt).is_err());
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn values_are_separated_by_commas_and_quoted_where_they_must_be() {
        assert_eq!(csv_line(Answer::Columns(&names(&["a", "b\"c"]))).unwrap(), "a,\"b\"\"c\"\n");
        assert_eq!(csv_line(Answer::Row(&[Value::Text("x,y"), Value::Null])).unwrap(), "\"x,y\",\n");
    }

    #[test]
    fn json_has_all_as_it_is() {
        let mut answer = SqlAnswer::default();
        answer.add(Answer::Columns(&names(&["a"])));
        let long = "\u{1b}".repeat(100);
        answer.add(Answer::Row(&[Value::Text(&long)]));
        answer.add(Answer::Row(&[Value::Bytes(&[0xff])]));
        let text = serde_json::to_string(&answer).unwrap();
        assert!(text.contains(&"\\u001b".repeat(100)) && text.contains(r#"{"bytes":"ff"}"#), "{text}");
    }
}
