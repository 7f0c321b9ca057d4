//! CSV tables (RFC 4180): the trace file's views, and tables computed from them.
//!
//! Values are quoted where necessary, but neither cut nor escaped, because a table is for programs. Bytes that are not UTF-8
//! (in a path) are written as SQL BLOB literals, x'2f746d70ff'.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::anyhow;
use coldstart_launch::Interrupt;
use coldstart_output::OutputTarget;
use coldstart_tracefile::{Answer, TraceFile, Value};

use super::differences;
use super::source::Source;
use crate::error::{AppError, HintExt};

/// Views of a trace file, each a table (docs/formats/trace.md).
const VIEWS: [&str; 12] = [
    "touches",
    "functions",
    "reads",
    "fills",
    "lookups",
    "phases",
    "files",
    "sections",
    "symbols",
    "relocations",
    "processes",
    "events",
];
/// Initialisers in order, with their jumps.
const INITIALISERS: &str = "initialisers";
/// For one trace or two.
const FIGURES: &str = "figures";
/// For two traces.
const CHANGES: &str = "changes";

/// Names of all tables, for one trace or two.
pub fn names(are_two: bool) -> Vec<&'static str> {
    VIEWS.into_iter().chain([INITIALISERS, FIGURES]).chain(are_two.then_some(CHANGES)).collect()
}

/// Checks the name of a table.
///
/// # Errors
/// If there is no such table, or it requires another number of traces.
pub fn check(name: &str, are_two: bool) -> Result<(), AppError> {
    if !are_two && name == CHANGES {
        return Err(anyhow!("the table `{CHANGES}` requires two traces")).hint(|| "name a second trace");
    }
    if !names(are_two).contains(&name) {
        return Err(anyhow!("no table `{name}`")).hint(|| format!("the tables are {}", names(are_two).join(", ")));
    }
    if are_two && name != CHANGES && name != FIGURES {
        return of_one_trace_only(&format!("the table `{name}`"), "use one trace at a time, or the table `changes`");
    }
    Ok(())
}

/// A table in a file of its own.
#[derive(Clone, Debug)]
pub struct TableFile {
    /// The table.
    pub name: &'static str,
    /// Of the second trace.
    pub of_other: bool,
    /// Its place.
    pub place: OutputTarget,
}

/// The files of all tables, named after the given output.
///
/// # Errors
/// If one of them cannot be written.
pub fn files(asked: &OutputTarget, are_two: bool) -> Result<Vec<TableFile>, AppError> {
    let mut files = Vec::new();
    for name in names(are_two) {
        files.push(TableFile { name, of_other: false, place: beside(asked, &format!("-{name}"))? });
        if are_two && name != CHANGES && name != FIGURES {
            files.push(TableFile { name, of_other: true, place: beside(asked, &format!("-other-{name}"))? });
        }
    }
    Ok(files)
}

/// The same path, with a suffix before the extension.
fn beside(asked: &OutputTarget, addition: &str) -> Result<OutputTarget, AppError> {
    let path = asked.path();
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(addition);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    Ok(asked.renamed(&path.with_file_name(name))?)
}

/// Whether a line is the header of any table by coldstart.
pub fn is_header(line: &str) -> bool {
    let is_it = |columns: &[String]| columns.join(",") == line.trim_end_matches('\r');
    differences::headers().iter().any(|columns| is_it(columns))
        || VIEWS.iter().any(|view| is_it(&coldstart_tracefile::columns(view)))
}

/// Writes a table of one or two traces, and returns the number of its rows.
///
/// # Errors
/// If the trace can no longer be read, `out` fails, or a signal arrived.
pub(super) fn write(
    name: &str,
    source: &Source,
    second: Option<&Source>,
    interrupt: Option<&Interrupt>,
    out: &mut dyn Write,
) -> Result<u64, AppError> {
    let mut table = Rows { out: csv::Writer::from_writer(out), count: 0 };
    match (name, second) {
        (INITIALISERS, _) => differences::initialisers(source, &mut table)?,
        (FIGURES, None) => differences::figures(source, &mut table)?,
        (FIGURES, Some(second)) => differences::two_figures(source, second, &mut table)?,
        (CHANGES, Some(second)) => differences::changes(source, second, &mut table)?,
        _ => of_view(interrupt, source, name, &mut table)?,
    }
    table.out.flush()?;
    Ok(table.count)
}

/// A CSV writer. The first row has the column names.
pub(super) struct Rows<'w> {
    out: csv::Writer<&'w mut dyn Write>,
    count: u64,
}

impl Rows<'_> {
    pub(super) fn columns(&mut self, names: &[&str]) -> Result<(), AppError> {
        Ok(self.out.write_record(names).map_err(in_plain)?)
    }

    pub(super) fn row<T: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = T>) -> Result<(), AppError> {
        self.count = self.count.saturating_add(1);
        Ok(self.out.write_record(cells).map_err(in_plain)?)
    }
}

/// The error of the underlying writer, which the CSV library hides.
fn in_plain(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

/// Writes row by row, because a view may have millions of rows.
fn of_view(interrupt: Option<&Interrupt>, source: &Source, name: &str, table: &mut Rows<'_>) -> Result<(), AppError> {
    let mut failed = None;
    let mut file = TraceFile::open(&source.path)?;
    file.query(&format!("SELECT * FROM {name}"), None, |part| {
        let taken = match part {
            _ if interrupt.is_some_and(|interrupt| interrupt.signal().is_some()) => Err(anyhow!("interrupted").into()),
            Answer::Columns(names) => table.columns(&names.iter().map(String::as_str).collect::<Vec<_>>()),
            Answer::Row(values) => table.row(values.iter().map(cell)),
        };
        match taken {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(()), Err)
}

fn cell(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => (*text).to_owned(),
        Value::Bytes(bytes) => bytes_in_words(bytes),
    }
}

/// As an SQL BLOB literal.
pub(super) fn bytes_in_words(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

/// The error for an output of one trace if two were given.
///
/// # Errors
/// Always.
pub fn of_one_trace_only(what: &str, hint: &str) -> Result<(), AppError> {
    Err(anyhow!("{what} takes one trace, but two were given")).hint(|| hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_name() {
        assert!(check("touches", false).is_ok() && check("figures", true).is_ok() && check("changes", true).is_ok());
        for (name, are_two, words) in [
            ("changes", false, "requires two traces"),
            ("touches", true, "takes one trace"),
            ("sqlite_schema", false, "no table"),
        ] {
            let sentence = check(name, are_two).unwrap_err().sentence();
            assert!(sentence.contains(words), "{sentence}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_are_told_apart_from_text() {
        assert_eq!(cell(&Value::Bytes(b"/tmp/\xff")), "x'2f746d702fff'");
        assert_eq!(cell(&Value::Text("a,\"b\"\n")), "a,\"b\"\n");
        assert_eq!(cell(&Value::Null), "");
    }
}
