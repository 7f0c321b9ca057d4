//! What became of the files, in text and in JSON.

use coldstart_rewrite::Payload;
use serde::Serialize;

use super::{Done, Restored, Taking};
use crate::commands::rewriting::{
    Destination, JsonSeconds, Outcome, Passage, Refused, Task, Worked, link_warnings, refused_part,
};
use crate::error::CliError;
use crate::output::json;
use crate::output::path::{JsonPath, fitted};
use crate::output::table::MAX_WIDTH;
use crate::output::text::{counted, escaped, fact, omitted, plain, prose, size};

/// Files listed, unless all are asked for.
const SOME: usize = 20;

pub(super) struct Report {
    taking: Taking,
    pub(super) done: Vec<(Task, Worked<Done>)>,
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
    pub(super) fn new(taking: Taking, passage: Passage<Worked<Done>>) -> Self {
        let mut total = Total { not_begun: passage.not_begun, ..Total::default() };
        let mut done = passage.done;
        for (_, worked) in &done {
            match worked.outcome {
                Outcome::Done(Done::Restored(_)) => total.restored += 1,
                Outcome::Refused(_) => total.refused += 1,
                Outcome::Failed(_) => total.failed += 1,
                Outcome::Done(Done::NotOurs) => total.not_ours += 1,
                Outcome::Gone => {}
            }
        }
        total.files = total.restored + total.refused + total.failed;
        done.retain(|(_, worked)| !matches!(worked.outcome, Outcome::Gone | Outcome::Done(Done::NotOurs)));
        Self { taking, done, total }
    }

    pub(super) fn print_json(&self) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Body<'a> {
            files: Vec<Record<'a>>,
            total: &'a Total,
        }
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        json::print(self.taking.schema, &Body { files, total: &self.total })
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
    /// The version that made the edit.
    packed_by: Option<&'a str>,
    /// What was appended to the file, and is kept.
    payload: Option<JsonPayload>,
    /// The edits that were taken back.
    edits: Option<&'a [String]>,
    seconds: JsonSeconds,
    other_links: u64,
    warnings: Vec<String>,
}

/// Appended bytes that are kept: where they were, where they are, and how many.
#[derive(Serialize)]
struct JsonPayload {
    from: u64,
    to: u64,
    size: u64,
}

/// A file that was restored.
fn restored(worked: &Worked<Done>) -> Option<&Restored> {
    match worked.done()? {
        Done::Restored(restored) => Some(restored),
        Done::NotOurs => None,
    }
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let restored = restored(worked);
    let replacement = restored.map(|restored| &restored.replacement);
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| replacement.path.to_string_lossy().into_owned()),
        outcome: match worked.outcome {
            Outcome::Done(Done::Restored(_)) => "restored",
            Outcome::Done(Done::NotOurs) | Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        refusal: worked.refused(),
        error: worked.error(),
        size_before: restored.map(|restored| restored.size_before),
        size_after: replacement.map(|replacement| replacement.size),
        digest: replacement.map(|replacement| replacement.proof.as_str()),
        packed_by: restored.map(|restored| restored.packed_by.as_str()),
        payload: restored.and_then(|restored| restored.payload.as_ref()).map(|payload| {
            let Payload { from, to, size, .. } = *payload;
            JsonPayload { from, to, size }
        }),
        edits: restored.map(|restored| restored.edits.as_slice()),
        seconds: JsonSeconds::of(worked.plan_seconds, replacement),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        warnings: warnings(task, worked),
    }
}

/// What became of the only file; nothing where an error or a refusal has said all.
pub(super) fn one(taking: Taking, task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    let Some(restored) = restored(worked) else { return String::new() };
    let into = place.words(task, &restored.replacement.path);
    let size = size(restored.replacement.size);
    let packed_by = escaped(&restored.packed_by);
    let was = taking.was;
    let mut text = prose(&format!("restored {into}: {size}, {was} by version {packed_by}"), 0, 2);
    let digest = &restored.replacement.proof;
    text.push_str(&fact("digest", &format!("BLAKE3 {digest}, as before {}", taking.doing)));
    if let Some(payload) = &restored.payload {
        let bytes = counted(payload.size, "appended byte");
        let place = match payload.from == payload.to {
            true => format!("at file offset {}, where they were", payload.to),
            false => format!("at file offset {}, and were at {}", payload.to, payload.from),
        };
        text.push_str(&fact("payload", &format!("{bytes} {place}")));
    }
    for note in &restored.notes {
        text.push_str(&fact("with it", note));
    }
    text
}

/// What became of many files.
pub(super) fn many(report: &Report, all: bool) -> String {
    let total = &report.total;
    let without = match total.not_ours {
        0 => String::new(),
        count => format!("; passed over {} without a note of ours", counted(count, "file")),
    };
    let mut text = prose(&format!("restored {}{without}", counted(total.restored, "file")), 0, 2);
    let done = report.done.iter().filter(|(_, worked)| restored(worked).is_some());
    let restored: Vec<&Task> = done.map(|(task, _)| task).collect();
    let shown = if all { restored.len() } else { restored.len().min(SOME) };
    for task in restored.iter().take(shown) {
        text.push_str(&format!("  {}\n", fitted(&task.path, MAX_WIDTH - 2)));
    }
    text.push_str(&omitted(shown, restored.len(), "all files"));
    text.push_str(&refused_part(&report.done, all));
    plain(&text)
}

/// What is to be said about a file besides its result.
pub(super) fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match restored(worked) {
        Some(restored) => link_warnings(task, worked.link_to.as_deref(), &restored.replacement),
        None => Vec::new(),
    }
}
