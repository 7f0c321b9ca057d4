//! Tables of values separated by commas (RFC 4180): the trace file's views, and what is computed from them.
//!
//! Values are as they are, quoted where they must be: a table is for programs, so nothing is cut or escaped. Bytes that are no
//! text (a path that is not UTF-8) are written as SQL writes them, x'2f746d70ff'.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::anyhow;
use coldstart_app::kinds;
use coldstart_output::OutputPlace;
use coldstart_tracefile::{Answer, TraceFile, Value};

use super::differences;
use super::report::{Report, Written};
use super::sources::Source;
use super::wanted::WantedFile;
use super::{View, of_one_trace_only};
use crate::args::view::OutputKind;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output;
use crate::output::destination::Destination;

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
/// Of one trace or two.
const FIGURES: &str = "figures";
/// Of two.
const CHANGES: &str = "changes";

/// Names of all tables that there are.
fn names(are_two: bool) -> Vec<&'static str> {
    VIEWS.into_iter().chain([INITIALISERS, FIGURES]).chain(are_two.then_some(CHANGES)).collect()
}

/// Prints the tables' names.
pub(super) fn list(are_two: bool) -> Result<Exit, CliError> {
    let lines: String = names(are_two).into_iter().map(|name| format!("{name}\n")).collect();
    output::print(&lines)?;
    Ok(Exit::Done)
}

/// Whether there is a table of that name, and one file can hold it.
pub(super) fn check(name: &str, are_two: bool) -> Result<(), CliError> {
    if !are_two && name == CHANGES {
        return Err(anyhow!("`{CHANGES}` are between two traces, and there is one"))
            .hint(|| "name the other one behind it");
    }
    if !names(are_two).contains(&name) {
        return Err(anyhow!("there is no table `{name}`")).hint(|| format!("there are {}", names(are_two).join(", ")));
    }
    if are_two && name != CHANGES && name != FIGURES {
        return of_one_trace_only(&format!("the table `{name}`"), "take each trace by itself, or the table `changes`");
    }
    Ok(())
}

/// A table in a file of its own.
pub(super) struct TableFile {
    name: &'static str,
    /// Of the second trace.
    of_other: bool,
    pub(super) destination: Destination,
}

/// The files of all tables, named after the one that was asked for.
///
/// # Errors
/// When one of them cannot be written.
pub(super) fn files(asked: &OutputPlace, are_two: bool) -> Result<Vec<TableFile>, CliError> {
    let mut files = Vec::new();
    for name in names(are_two) {
        let destination = Destination::File(beside(asked, &format!("-{name}"))?);
        files.push(TableFile { name, of_other: false, destination });
        if are_two && name != CHANGES && name != FIGURES {
            let destination = Destination::File(beside(asked, &format!("-other-{name}"))?);
            files.push(TableFile { name, of_other: true, destination });
        }
    }
    Ok(files)
}

/// The same place, with something put before the name's ending.
fn beside(asked: &OutputPlace, addition: &str) -> Result<OutputPlace, CliError> {
    let path = asked.path();
    let mut name = path.file_stem().unwrap_or_default().to_os_string();
    name.push(addition);
    if let Some(ending) = path.extension() {
        name.push(".");
        name.push(ending);
    }
    Ok(asked.renamed(&path.with_file_name(name))?)
}

/// A file of a table.
pub(super) const KIND: coldstart_output::OutputKind = coldstart_output::OutputKind {
    name: "a table that coldstart wrote",
    recognises: |file| {
        let start = kinds::start(file)?;
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        Ok(std::str::from_utf8(line).is_ok_and(is_header))
    },
    same_bytes: false,
};

/// Whether a line is the first of a table of ours, whichever.
fn is_header(line: &str) -> bool {
    let is_it = |columns: &[String]| columns.join(",") == line.trim_end_matches('\r');
    differences::headers().iter().any(|columns| is_it(columns))
        || VIEWS.iter().any(|view| is_it(&coldstart_tracefile::columns(view)))
}

/// Writes the table that was asked for, or each to a file of its own.
pub(super) fn write(view: &View<'_>, file: &WantedFile, report: &mut Report) -> Result<(), CliError> {
    if let Some(name) = &view.args.table {
        return one(view, view.first, name, &file.destination, report);
    }
    for table in &file.tables {
        let source = view.second.filter(|_| table.of_other).unwrap_or(view.first);
        one(view, source, table.name, &table.destination, report)?;
    }
    Ok(())
}

fn one(
    view: &View<'_>,
    source: &Source,
    name: &str,
    destination: &Destination,
    report: &mut Report,
) -> Result<(), CliError> {
    let mut written = Written::new(OutputKind::Csv, destination);
    let mut rows = 0;
    written.bytes = destination.write(Some(view.interrupt), |out| {
        let mut table = Rows { out: csv::Writer::from_writer(out), count: 0 };
        match (name, view.second) {
            (INITIALISERS, _) => differences::initialisers(source, &mut table)?,
            (FIGURES, None) => differences::figures(source, &mut table)?,
            (FIGURES, Some(second)) => differences::two_figures(source, second, &mut table)?,
            (CHANGES, Some(second)) => differences::changes(source, second, &mut table)?,
            _ => of_view(view, source, name, &mut table)?,
        }
        table.out.flush()?;
        rows = table.count;
        Ok(())
    })?;
    written.table = Some(name.to_owned());
    written.records = Some(rows);
    report.add(written);
    Ok(())
}

/// Rows on their way out. The first is that of the columns' names.
pub(super) struct Rows<'w> {
    out: csv::Writer<&'w mut dyn Write>,
    count: u64,
}

impl Rows<'_> {
    pub(super) fn columns(&mut self, names: &[&str]) -> Result<(), CliError> {
        Ok(self.out.write_record(names).map_err(in_plain)?)
    }

    pub(super) fn row<T: AsRef<[u8]>>(&mut self, cells: impl IntoIterator<Item = T>) -> Result<(), CliError> {
        self.count = self.count.saturating_add(1);
        Ok(self.out.write_record(cells).map_err(in_plain)?)
    }
}

/// What the writer below said; the library keeps it to itself.
fn in_plain(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

/// Row by row: a view of a million events has a row for each.
fn of_view(view: &View<'_>, source: &Source, name: &str, table: &mut Rows<'_>) -> Result<(), CliError> {
    let mut failed = None;
    let mut file = TraceFile::open(&source.path)?;
    file.query(&format!("SELECT * FROM {name}"), None, |part| {
        let taken = match part {
            _ if view.interrupt.signal().is_some() => Err(anyhow!("interrupted").into()),
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

/// As SQL writes bytes.
pub(super) fn bytes_in_words(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x'{digits}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_known_by_name() {
        assert!(check("touches", false).is_ok() && check("figures", true).is_ok() && check("changes", true).is_ok());
        for (name, are_two, words) in [
            ("changes", false, "between two traces"),
            ("touches", true, "made of one trace"),
            ("sqlite_schema", false, "there is no table"),
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
