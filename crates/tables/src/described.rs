//! All tables and columns in words, for the documentation.

use std::fmt::Write;

use arrow_schema::{DataType, Field};

use crate::column::{MEANING, Row};
use crate::{
    FailedProbeRow, FindingRow, InitialiserRow, LoadedRow, MissingRow, ModuleRow, NeededRow, ObjectRow, OwnerRow,
    PackingRow, ProblemRow, RunRow, TouchRow, TracedFileRow,
};

/// The tables of a survey in Markdown: for each a heading, what one row is, and its columns.
pub fn described() -> String {
    let tables = [
        table::<ObjectRow>(),
        table::<FindingRow>(),
        table::<NeededRow>(),
        table::<InitialiserRow>(),
        table::<OwnerRow>(),
        table::<ModuleRow>(),
        table::<ProblemRow>(),
    ];
    tables.join("\n")
}

/// The tables that only the Python package gives, likewise.
pub fn described_results() -> String {
    let tables = [
        table::<LoadedRow>(),
        table::<FailedProbeRow>(),
        table::<MissingRow>(),
        table::<PackingRow>(),
        table::<RunRow>(),
    ];
    tables.join("\n")
}

/// The tables of a trace in Markdown, as [`described`].
pub fn described_traces() -> String {
    [table::<TouchRow>(), table::<TracedFileRow>()].join("\n")
}

fn table<R: Row>() -> String {
    let mut text =
        format!("### `{}`\n\n{}\n\n| column | type | meaning |\n|---|---|---|\n", R::TABLE, R::MEANING.trim());
    for field in R::fields() {
        let meaning = field.metadata().get(MEANING).map(String::as_str).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| `{}` | {} | {meaning} |", field.name(), kind(&field));
    }
    text
}

fn kind(field: &Field) -> String {
    let name = match field.data_type() {
        DataType::Utf8 => "text".to_owned(),
        DataType::Int64 => "number".to_owned(),
        DataType::Float64 => "fraction".to_owned(),
        DataType::Boolean => "yes or no".to_owned(),
        DataType::List(_) => "list of texts".to_owned(),
        other => other.to_string(),
    };
    if field.is_nullable() { format!("{name}, may be absent") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_every_column() {
        let page = include_str!("../../../docs/formats/survey.md");
        let described = described();
        assert!(page.contains(&described), "docs/formats/survey.md must contain:\n\n{described}");
        assert!(page.contains(&format!("schema {}", crate::VERSION)), "docs/formats/survey.md names another schema");
        let page = include_str!("../../../docs/python.md");
        let described = described_results();
        assert!(page.contains(&described), "docs/python.md must contain:\n\n{described}");
        let page = include_str!("../../../docs/formats/fleet.md");
        let described = described_traces();
        assert!(page.contains(&described), "docs/formats/fleet.md must contain:\n\n{described}");
    }
}
