//! `coldstart trace sql`: people's own questions to a trace.
//!
//! A question may take for ever. Ctrl-C ends it in the database's own way, by a thread that waits for the signal: no
//! handler of ours does more than to note it.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use anyhow::Context;
use coldstart_launch::Interrupt;
use coldstart_tracefile::{Answer, Interrupter, TraceFile, TraceFileError, Value};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

use crate::args::trace::SqlArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{cut, escaped};
use crate::output::{self, json};

/// The widest cell of the table, in columns; JSON and CSV have all of it.
const WIDEST: usize = 60;
/// Rows whose columns are aligned with each other: more would have to be kept until the last is there.
const ALIGNED: usize = 2000;
/// Characters that are printed at once.
const AT_ONCE: usize = 1 << 16;

/// How long after a signal the database is told once more: what it was told before it began has no effect.
const AGAIN: Duration = Duration::from_millis(20);

pub(super) fn run(args: &SqlArgs) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    let mut file = TraceFile::open(&args.file)?;
    if args.json {
        let mut answer = AnswerJson::default();
        let add = |part: Answer<'_>| {
            answer.add(part);
            Ok(())
        };
        if !ask(&mut file, &args.question, &interrupt, add)? {
            return Ok(Exit::Interrupted);
        }
        json::print("coldstart.trace-sql/1", &answer)?;
    } else if args.csv {
        let mut lines = Lines::default();
        if !ask(&mut file, &args.question, &interrupt, |part| lines.add(part))? {
            return Ok(Exit::Interrupted);
        }
        output::print(&lines.text)?;
    } else {
        let mut table = Rows::default();
        if !ask(&mut file, &args.question, &interrupt, |part| table.add(part))? {
            return Ok(Exit::Interrupted);
        }
        table.print()?;
    }
    Ok(Exit::Done)
}

/// Hands each part of the answer on, until one cannot be taken; `false` if a signal came before the last one.
fn ask(
    file: &mut TraceFile,
    question: &str,
    interrupt: &Interrupt,
    mut take: impl FnMut(Answer<'_>) -> Result<(), CliError>,
) -> Result<bool, CliError> {
    let mut failed = None;
    let interrupter = file.interrupter();
    let (over, is_over) = UnixStream::pair()?;
    let asked = std::thread::scope(|scope| {
        scope.spawn(move || interrupt_when_asked(interrupt, &interrupter, &is_over));
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

/// Waits for a signal and ends the question then, until it is over.
fn interrupt_when_asked(interrupt: &Interrupt, interrupter: &Interrupter, is_over: &UnixStream) {
    let mut patience: Option<Timespec> = None;
    loop {
        let mut waits = vec![PollFd::new(is_over, PollFlags::IN)];
        let descriptor = interrupt.as_fd();
        // It stays readable once a signal came.
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

fn in_words(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => escaped(text),
        Value::Bytes(bytes) => hexadecimal(bytes),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Columns and rows, as they are. Bytes that are no text: an object with `bytes`, hexadecimal.
#[derive(Default, Serialize)]
struct AnswerJson {
    columns: Vec<String>,
    rows: Vec<Vec<serde_json::Value>>,
}

impl AnswerJson {
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

/// Comma-separated values (RFC 4180), printed as they come.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn add(&mut self, part: Answer<'_>) -> Result<(), CliError> {
        let cells: Vec<String> = match part {
            Answer::Columns(names) => names.iter().map(|name| escaped(name)).collect(),
            Answer::Row(values) => values.iter().map(in_words).collect(),
        };
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(&cells).context("cannot write the answer as CSV")?;
        let line = writer.into_inner().map_err(|error| anyhow::anyhow!("cannot write the answer as CSV: {error}"))?;
        self.text.push_str(&String::from_utf8_lossy(&line));
        if self.text.len() >= AT_ONCE {
            output::print(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// A table for people, printed when enough rows are there to align them.
#[derive(Default)]
struct Rows {
    names: Vec<String>,
    rows: Vec<Vec<(String, bool)>>,
    /// How wide columns are at least: further rows stand below those that are printed already.
    widths: Vec<usize>,
    is_begun: bool,
}

impl Rows {
    fn add(&mut self, part: Answer<'_>) -> Result<(), CliError> {
        match part {
            Answer::Columns(names) => self.names = names.iter().map(|name| cut(&escaped(name), WIDEST)).collect(),
            Answer::Row(values) => {
                let is_number = |value: &Value<'_>| matches!(value, Value::Integer(_) | Value::Real(_));
                self.rows.push(values.iter().map(|value| (cut(&in_words(value), WIDEST), is_number(value))).collect());
            }
        }
        if self.rows.len() >= ALIGNED { self.print() } else { Ok(()) }
    }

    fn print(&mut self) -> Result<(), CliError> {
        output::print(&self.lines())
    }

    /// What was not printed yet.
    fn lines(&mut self) -> String {
        self.widths.resize(self.names.len(), 0);
        // A column of numbers leans to the right, its name too.
        let numbers: Vec<bool> = (0..self.names.len())
            .map(|column| self.rows.iter().filter_map(|row| row.get(column)).any(|(_, is_number)| *is_number))
            .collect();
        let mut lines: Vec<Vec<(String, bool)>> = std::mem::take(&mut self.rows);
        if !std::mem::replace(&mut self.is_begun, true) {
            lines.insert(0, self.names.iter().cloned().zip(numbers).collect());
        }
        for line in &lines {
            for ((cell, _), width) in line.iter().zip(&mut self.widths) {
                *width = cell.width().max(*width);
            }
        }
        let mut text = String::new();
        for line in &lines {
            let mut row = String::new();
            for ((cell, leans_right), width) in line.iter().zip(&self.widths) {
                let room = " ".repeat(width.saturating_sub(cell.width()));
                let (before, behind) = if *leans_right { (room.as_str(), "") } else { ("", room.as_str()) };
                row.push_str(&format!("{before}{cell}{behind}  "));
            }
            text.push_str(row.trim_end());
            text.push('\n');
        }
        text
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

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn tables_align_and_hostile_text_is_harmless() {
        let mut rows = Rows::default();
        rows.add(Answer::Columns(&names(&["name", "n"]))).unwrap();
        rows.add(Answer::Row(&[Value::Text("a\nb\u{1b}[31m"), Value::Integer(12_345)])).unwrap();
        rows.add(Answer::Row(&[Value::Null, Value::Real(0.5)])).unwrap();
        rows.add(Answer::Row(&[Value::Bytes(b"\xff\0"), Value::Text("x")])).unwrap();
        let expected = "name                n\na\\nb\\u{1b}[31m  12345\n                  0.5\nff00            x\n";
        assert_eq!(rows.lines(), expected);
        assert_eq!(rows.lines(), "");
    }

    #[test]
    fn values_are_separated_by_commas_and_quoted_where_they_must_be() {
        let mut lines = Lines::default();
        lines.add(Answer::Columns(&names(&["a", "b\"c"]))).unwrap();
        lines.add(Answer::Row(&[Value::Text("x,y"), Value::Null])).unwrap();
        assert_eq!(lines.text, "a,\"b\"\"c\"\n\"x,y\",\n");
    }

    #[test]
    fn json_has_all_as_it_is() {
        let mut answer = AnswerJson::default();
        answer.add(Answer::Columns(&names(&["a"])));
        let long = "\u{1b}".repeat(100);
        answer.add(Answer::Row(&[Value::Text(&long)]));
        answer.add(Answer::Row(&[Value::Bytes(&[0xff])]));
        let text = serde_json::to_string(&answer).unwrap();
        assert!(text.contains(&"\\u001b".repeat(100)) && text.contains(r#"{"bytes":"ff"}"#), "{text}");
    }
}
