//! What was made: for people on stderr, for scripts as JSON on stdout.

use serde::Serialize;

use super::sources::Source;
use crate::args::view::OutputKind;
use crate::error::CliError;
use crate::output::destination::Destination;
use crate::output::path::{JsonPath, printable};
use crate::output::size::bytes;
use crate::output::{self, json};

const SCHEMA: &str = "coldstart.view/1";

/// A file that was written.
#[derive(Serialize)]
pub(super) struct Written {
    #[serde(flatten)]
    path: Option<JsonPath>,
    #[serde(skip)]
    shown: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) table: Option<String>,
    pub(super) bytes: u64,
    /// Of JSON: the viewer's records; of tables: rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) records: Option<u64>,
}

impl Written {
    pub(super) fn new(kind: OutputKind, destination: &Destination) -> Self {
        Self {
            path: destination.path().map(JsonPath::new),
            shown: destination.path().map(printable),
            kind: kind.name(),
            format: None,
            table: None,
            bytes: 0,
            records: None,
        }
    }
}

/// All that was made.
#[derive(Serialize)]
pub(super) struct Report {
    traces: Vec<JsonPath>,
    written: Vec<Written>,
    /// The object whose map was drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) object: Option<String>,
    /// Of two traces: why they must not be compared, or with care.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) caveats: Vec<String>,
    /// Where the page is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) address: Option<String>,
}

impl Report {
    pub(super) fn of(first: &Source, second: Option<&Source>) -> Self {
        let traces = std::iter::once(first).chain(second).map(|source| JsonPath::new(&source.path)).collect();
        Self { traces, written: Vec::new(), object: None, caveats: Vec::new(), address: None }
    }

    /// Notes a file, and says so at once.
    pub(super) fn add(&mut self, written: Written) {
        if let Some(path) = &written.shown {
            output::report(&format!("wrote {path} ({})\n", bytes(written.bytes)));
        }
        self.written.push(written);
    }

    /// Says what is left to say.
    pub(super) fn finish(&self, is_json: bool) -> Result<(), CliError> {
        for caveat in &self.caveats {
            output::note(&output::text::escaped(caveat));
        }
        if is_json { json::print(SCHEMA, self) } else { Ok(()) }
    }
}
