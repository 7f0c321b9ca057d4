//! `coldstart trace sql`: SQL queries on a trace.

use coldstart_app::trace::sql::{SCHEMA, answer, ask, csv_line, value_text};
use coldstart_launch::Interrupt;
use coldstart_tracefile::{Answer, TraceFile, Value};
use unicode_width::UnicodeWidthStr;

use crate::args::trace::SqlArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::text::{cut, escaped};
use crate::output::{self, json};

/// The widest cell of the table, in columns; JSON and CSV have all of it.
const WIDEST: usize = 60;
/// Number of buffered rows with aligned columns.
const ALIGNED: usize = 2000;
/// Characters that are printed at once.
const AT_ONCE: usize = 1 << 16;

pub(super) fn run(args: &SqlArgs) -> Result<Exit, CliError> {
    let interrupt = Interrupt::listen()?;
    if args.json {
        let Some(answer) = answer(&args.file, &args.question, &interrupt)? else { return Ok(Exit::Interrupted) };
        json::print(SCHEMA, &answer)?;
        return Ok(Exit::Done);
    }
    let mut file = TraceFile::open(&args.file)?;
    if args.csv {
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

/// Comma-separated values, printed as they come.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    fn add(&mut self, part: Answer<'_>) -> Result<(), CliError> {
        self.text.push_str(&csv_line(part)?);
        if self.text.len() >= AT_ONCE {
            output::print(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}

/// A text table, printed in blocks of aligned rows.
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
                self.rows
                    .push(values.iter().map(|value| (cut(&value_text(value), WIDEST), is_number(value))).collect());
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
    use super::*;

    #[test]
    fn tables_align_and_hostile_text_is_harmless() {
        let mut rows = Rows::default();
        rows.add(Answer::Columns(&["name".to_owned(), "n".to_owned()])).unwrap();
        rows.add(Answer::Row(&[Value::Text("a\nb\u{1b}[31m"), Value::Integer(12_345)])).unwrap();
        rows.add(Answer::Row(&[Value::Null, Value::Real(0.5)])).unwrap();
        rows.add(Answer::Row(&[Value::Bytes(b"\xff\0"), Value::Text("x")])).unwrap();
        let expected = "name                n\na\\nb\\u{1b}[31m  12345\n                  0.5\nff00            x\n";
        assert_eq!(rows.lines(), expected);
        assert_eq!(rows.lines(), "");
    }
}
