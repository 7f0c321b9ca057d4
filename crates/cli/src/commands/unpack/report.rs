//! What became of the files, in text and in JSON.

use serde::Serialize;

use super::{Outcome, Worked};
use crate::commands::rewriting::{Destination, JsonSeconds, Passage, Refused, Task, link_warnings, refused_reasons};
use crate::error::CliError;
use crate::output::json;
use crate::output::path::{JsonPath, fitted, printable};
use crate::output::table::MAX_WIDTH;
use crate::output::text::{counted, escaped, fact, heading, omitted, plain, prose, size};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.unpack/1";
/// Files listed, unless all are asked for.
const SOME: usize = 20;

pub(super) struct Report {
    pub(super) done: Vec<(Task, Worked)>,
    pub(super) total: Total,
}

/// All files together.
#[derive(Debug, Default, Serialize)]
pub(super) struct Total {
    /// Files that were worked on.
    pub(super) files: u64,
    restored: u64,
    refused: u64,
    failed: u64,
    /// Files of directories without a note of ours.
    not_ours: u64,
    /// Files that were not begun because a signal asked us to stop.
    pub(super) not_begun: u64,
}

impl Report {
    pub(super) fn new(passage: Passage<Worked>) -> Self {
        let mut total = Total { not_begun: passage.not_begun, ..Total::default() };
        let mut done = passage.done;
        for (_, worked) in &done {
            match worked.outcome {
                Outcome::Restored(_) => total.restored += 1,
                Outcome::Refused(_) => total.refused += 1,
                Outcome::Failed(_) => total.failed += 1,
                Outcome::NotOurs => total.not_ours += 1,
                Outcome::Gone => {}
            }
        }
        total.files = total.restored + total.refused + total.failed;
        done.retain(|(_, worked)| !matches!(worked.outcome, Outcome::Gone | Outcome::NotOurs));
        Self { done, total }
    }

    pub(super) fn print_json(&self) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Body<'a> {
            files: Vec<Record<'a>>,
            total: &'a Total,
        }
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        json::print(SCHEMA, &Body { files, total: &self.total })
    }
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    path: JsonPath,
    output: Option<String>,
    outcome: &'static str,
    refusal: Option<&'a Refused>,
    error: Option<String>,
    size_before: Option<u64>,
    size_after: Option<u64>,
    /// BLAKE3 of the restored file, hexadecimal.
    digest: Option<&'a str>,
    /// The version that packed it.
    packed_by: Option<&'a str>,
    /// The edits that were taken back.
    edits: Option<&'a [String]>,
    seconds: JsonSeconds,
    other_links: u64,
    warnings: Vec<String>,
}

fn record<'a>(task: &Task, worked: &'a Worked) -> Record<'a> {
    let restored = match &worked.outcome {
        Outcome::Restored(restored) => Some(restored),
        _ => None,
    };
    let replacement = restored.map(|restored| &restored.replacement);
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| replacement.path.to_string_lossy().into_owned()),
        outcome: match worked.outcome {
            Outcome::Restored(_) => "restored",
            Outcome::Refused(_) | Outcome::NotOurs => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        refusal: match &worked.outcome {
            Outcome::Refused(refused) => Some(refused),
            _ => None,
        },
        error: match &worked.outcome {
            Outcome::Failed(error) => Some(error.sentence()),
            _ => None,
        },
        size_before: restored.map(|restored| restored.size_before),
        size_after: replacement.map(|replacement| replacement.size),
        digest: replacement.map(|replacement| replacement.proof.as_str()),
        packed_by: restored.map(|restored| restored.packed_by.as_str()),
        edits: restored.map(|restored| restored.edits.as_slice()),
        seconds: JsonSeconds::of(worked.plan_seconds, replacement),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        warnings: warnings(task, worked),
    }
}

/// What became of the only file; nothing where an error or a refusal has said all.
pub(super) fn one(task: &Task, worked: &Worked, place: &Destination) -> String {
    let Outcome::Restored(restored) = &worked.outcome else { return String::new() };
    let name = printable(&task.path);
    let into = match place {
        Destination::InPlace => format!("`{name}` in place"),
        _ => format!("`{name}` into `{}`", printable(&restored.replacement.path)),
    };
    let size = size(restored.replacement.size);
    let packed_by = escaped(&restored.packed_by);
    prose(&format!("restored {into}: {size}, packed by version {packed_by}"), 0, 2)
        + &fact("digest", &format!("BLAKE3 {}, as before packing", restored.replacement.proof))
}

/// What became of many files.
pub(super) fn many(report: &Report, all: bool) -> String {
    let total = &report.total;
    let without = match total.not_ours {
        0 => String::new(),
        count => format!("; passed over {} without a note of ours", counted(count, "file")),
    };
    let mut text = prose(&format!("restored {}{without}", counted(total.restored, "file")), 0, 2);
    let restored: Vec<&Task> = report
        .done
        .iter()
        .filter(|(_, worked)| matches!(worked.outcome, Outcome::Restored(_)))
        .map(|(task, _)| task)
        .collect();
    let shown = if all { restored.len() } else { restored.len().min(SOME) };
    for task in restored.iter().take(shown) {
        text.push_str(&format!("  {}\n", fitted(&task.path, MAX_WIDTH - 2)));
    }
    text.push_str(&omitted(shown, restored.len(), "all files"));
    let refused = report.done.iter().filter_map(|(task, worked)| match &worked.outcome {
        Outcome::Refused(refused) => Some((task.path.as_path(), refused)),
        _ => None,
    });
    let reasons = refused_reasons(refused, all);
    if !reasons.is_empty() {
        text.push_str(&heading("Refused", "left as they are"));
        text.push_str(&reasons);
    }
    plain(&text)
}

/// What is to be said about a file besides its result.
pub(super) fn warnings(task: &Task, worked: &Worked) -> Vec<String> {
    match &worked.outcome {
        Outcome::Restored(restored) => link_warnings(task, worked.link_to.as_deref(), &restored.replacement),
        _ => Vec::new(),
    }
}
