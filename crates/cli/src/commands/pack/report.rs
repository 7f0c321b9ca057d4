//! What became of all files: the data that text and JSON show.

use std::path::Path;

use coldstart_rewrite::{NothingToPack, PackSummary, Proof, Replacement};
use serde::Serialize;

use super::one::Done;
use crate::commands::rewriting::{JsonSeconds, Outcome, Passage, Refused, Task, Worked, link_warnings};
use crate::error::CliError;
use crate::output::json;
use crate::output::path::JsonPath;

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.pack/1";

/// What became of all files.
pub(super) struct Report {
    pub(super) done: Vec<(Task, Worked<Done>)>,
    pub(super) total: Total,
    pub(super) dry_run: bool,
}

/// All files together.
#[derive(Debug, Default, Serialize)]
pub(super) struct Total {
    /// Files that were worked on.
    pub(super) files: u64,
    /// Those that were packed; with `--dry-run`, that would be.
    pub(super) packed: u64,
    pub(super) refused: u64,
    pub(super) nothing: u64,
    pub(super) failed: u64,
    /// Files that were not begun because a signal asked us to stop.
    pub(super) not_begun: u64,
    /// Size of the packed files before, in bytes.
    pub(super) size_before: u64,
    /// Their size after.
    pub(super) size_after: u64,
}

impl Report {
    pub(super) fn new(passage: Passage<Worked<Done>>, dry_run: bool) -> Self {
        let mut total = Total { not_begun: passage.not_begun, ..Total::default() };
        let mut done = passage.done;
        done.retain(|(_, worked)| !matches!(worked.outcome, Outcome::Gone));
        for (_, worked) in &done {
            total.files += 1;
            match &worked.outcome {
                Outcome::Done(Done::Packed(_) | Done::WouldPack(_)) => total.packed += 1,
                Outcome::Done(Done::Nothing(..)) => total.nothing += 1,
                Outcome::Refused(_) => total.refused += 1,
                Outcome::Failed(_) => total.failed += 1,
                Outcome::Gone => {}
            }
            if let Some(summary) = worked.summary() {
                total.size_before = total.size_before.saturating_add(summary.size_before);
                total.size_after = total.size_after.saturating_add(summary.size_after);
            }
        }
        Self { done, total, dry_run }
    }

    /// Those that were packed, or would be.
    pub(super) fn packed(&self) -> impl Iterator<Item = (&Task, &PackSummary)> {
        self.done.iter().filter_map(|(task, worked)| Some((task, worked.summary()?)))
    }

    /// Prints it as one object.
    pub(super) fn print_json(&self) -> Result<(), CliError> {
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        json::print(SCHEMA, &Body { dry_run: self.dry_run, files, total: &self.total })
    }
}

impl Worked<Done> {
    /// What packing does to it, if it does.
    pub(super) fn summary(&self) -> Option<&PackSummary> {
        match self.done()? {
            Done::Packed(packed) => Some(&packed.0),
            Done::WouldPack(summary) => Some(summary),
            Done::Nothing(..) => None,
        }
    }

    /// What was written, if anything was.
    pub(super) fn replacement(&self) -> Option<&Replacement<Proof>> {
        match self.done()? {
            Done::Packed(packed) => Some(&packed.1),
            Done::Nothing(_, copied) => copied.as_deref(),
            Done::WouldPack(_) => None,
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    dry_run: bool,
    files: Vec<Record<'a>>,
    total: &'a Total,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    path: JsonPath,
    output: Option<String>,
    outcome: &'static str,
    summary: Option<&'a PackSummary>,
    nothing: Option<NothingToPack>,
    refusal: Option<&'a Refused>,
    error: Option<String>,
    proof: Option<&'a Proof>,
    seconds: JsonSeconds,
    kept_original: Option<String>,
    /// Further names of the file, which keep the old content.
    other_links: u64,
    warnings: Vec<String>,
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let replacement = worked.replacement();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| text(&replacement.path)),
        outcome: match &worked.outcome {
            Outcome::Done(Done::Packed(_)) => "packed",
            Outcome::Done(Done::WouldPack(_)) => "would-pack",
            Outcome::Done(Done::Nothing(..)) => "nothing",
            Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        summary: worked.summary(),
        nothing: match worked.done() {
            Some(Done::Nothing(nothing, _)) => Some(*nothing),
            _ => None,
        },
        refusal: worked.refused(),
        error: worked.error(),
        proof: replacement.map(|replacement| &replacement.proof),
        seconds: JsonSeconds::of(worked.plan_seconds, replacement),
        kept_original: replacement.and_then(|replacement| Some(text(replacement.kept_original.as_deref()?))),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        warnings: warnings(task, worked),
    }
}

/// What is to be said about a file besides its result.
pub(super) fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match worked.replacement() {
        Some(replacement) => link_warnings(task, worked.link_to.as_deref(), replacement),
        None => Vec::new(),
    }
}
