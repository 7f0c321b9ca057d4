//! The report on the packed files.

use std::path::Path;

use coldstart_profile::JsonPath;
use coldstart_prove::Proof;
use coldstart_rewrite::{Caution, NothingToPack, PackSummary, Replacement};
use serde::{Serialize, Serializer};

use super::one::Done;
use crate::rewriting::{Destination, Outcome, Passage, Refused, StepSeconds, Task, Worked, link_warnings};

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.pack/1";

/// The results of all files. It is serialised with a record for each file.
#[derive(Debug)]
pub struct Report {
    /// Each processed file, in the order of arguments and walks.
    pub done: Vec<(Task, Worked<Done>)>,
    /// Totals of all files.
    pub total: Total,
    /// Whether nothing was to be written.
    pub dry_run: bool,
    /// Whether a single file was given, and nothing else.
    pub is_one: bool,
    /// The output.
    pub place: Destination,
    /// Number of separate debug files in directories, skipped by name.
    pub debug_files: u64,
}

/// Totals of all files.
#[derive(Debug, Default, Serialize)]
pub struct Total {
    /// Processed files.
    pub files: u64,
    /// Those that were packed; with `--dry-run`, that would be.
    pub packed: u64,
    /// Refused files.
    pub refused: u64,
    /// Files in which there was nothing to pack.
    pub nothing: u64,
    /// Files with errors.
    pub failed: u64,
    /// Files not started because of a signal.
    pub not_begun: u64,
    /// Size of the packed files before, in bytes.
    pub size_before: u64,
    /// Their size after.
    pub size_after: u64,
}

impl Report {
    pub(super) fn new(
        passage: Passage<Worked<Done>>,
        dry_run: bool,
        is_one: bool,
        place: Destination,
        debug_files: u64,
    ) -> Self {
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
        Self { done, total, dry_run, is_one, place, debug_files }
    }

    /// Those that were packed, or would be.
    pub fn packed(&self) -> impl Iterator<Item = (&Task, &PackSummary)> {
        self.done.iter().filter_map(|(task, worked)| Some((task, worked.summary()?)))
    }

    /// The cautions, each with its number of files.
    pub fn cautions(&self) -> Vec<(Caution, u64)> {
        let (mut unguarded, mut odd_words, mut odd_files) = (0_u64, 0_u64, 0_u64);
        for caution in self.packed().flat_map(|(_, summary)| &summary.cautions) {
            match caution {
                Caution::NoVersionGuard => unguarded += 1,
                Caution::InPlaceValues { count } => {
                    odd_words = odd_words.saturating_add(*count);
                    odd_files += 1;
                }
            }
        }
        let all = [(Caution::NoVersionGuard, unguarded), (Caution::InPlaceValues { count: odd_words }, odd_files)];
        all.into_iter().filter(|(_, files)| *files > 0).collect()
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        Body { dry_run: self.dry_run, files, total: &self.total }.serialize(serializer)
    }
}

impl Worked<Done> {
    /// The summary of packing, if it was or would be packed.
    pub fn summary(&self) -> Option<&PackSummary> {
        match self.done()? {
            Done::Packed(packed) => Some(&packed.0),
            Done::WouldPack(summary) => Some(summary),
            Done::Nothing(..) => None,
        }
    }

    /// The replacement, if written.
    pub fn replacement(&self) -> Option<&Replacement<Proof>> {
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
    seconds: StepSeconds,
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
        seconds: StepSeconds::of(worked.plan_seconds, replacement),
        kept_original: replacement.and_then(|replacement| Some(text(replacement.kept_original.as_deref()?))),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        warnings: warnings(task, worked),
    }
}

/// Warnings about a file in addition to its result.
pub fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match worked.replacement() {
        Some(replacement) => link_warnings(task, worked.link_to.as_deref(), replacement),
        None => Vec::new(),
    }
}
