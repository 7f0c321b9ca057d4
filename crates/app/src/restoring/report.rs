//! The report on the restored files.

use coldstart_profile::JsonPath;
use coldstart_rewrite::Payload;
use serde::{Serialize, Serializer};

use super::{Done, Related, Restored, Taking};
use crate::error::AppError;
use crate::rewriting::{Destination, Outcome, Passage, Refused, StepSeconds, Task, Worked, link_warnings};

/// The results of all files. It is serialised with a record for each file.
#[derive(Debug)]
pub struct Report {
    /// The undone edit.
    pub taking: Taking,
    /// Each processed file with a coldstart note, in the order of arguments and walks.
    pub done: Vec<(Task, Worked<Done>)>,
    /// Totals of all files.
    pub total: Total,
    /// Whether a single file was given, and nothing else.
    pub is_one: bool,
    /// The output.
    pub place: Destination,
}

/// Totals of all files.
#[derive(Debug, Default, Serialize)]
pub struct Total {
    /// Processed files.
    pub files: u64,
    /// Files that were restored.
    pub restored: u64,
    /// Files without the edit of which only leftovers were removed.
    pub cleared: u64,
    /// Refused files.
    pub refused: u64,
    /// Files with errors.
    pub failed: u64,
    /// Files in directories without a coldstart note.
    pub not_ours: u64,
    /// Files not started because of a signal.
    pub not_begun: u64,
}

impl Report {
    pub(super) fn new(taking: Taking, passage: Passage<Worked<Done>>, is_one: bool, place: Destination) -> Self {
        let mut total = Total { not_begun: passage.not_begun, ..Total::default() };
        let mut done = passage.done;
        for (_, worked) in &done {
            match worked.outcome {
                Outcome::Done(Done::Restored(_)) => total.restored += 1,
                Outcome::Done(Done::Cleared(_)) => total.cleared += 1,
                Outcome::Refused(_) => total.refused += 1,
                Outcome::Failed(_) => total.failed += 1,
                Outcome::Done(Done::NotOurs) => total.not_ours += 1,
                Outcome::Gone => {}
            }
        }
        total.files = total.restored + total.cleared + total.refused + total.failed;
        done.retain(|(_, worked)| !matches!(worked.outcome, Outcome::Gone | Outcome::Done(Done::NotOurs)));
        Self { taking, done, total, is_one, place }
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            files: Vec<Record<'a>>,
            total: &'a Total,
        }
        let files = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        Body { files, total: &self.total }.serialize(serializer)
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
    /// The appended payload that is kept.
    payload: Option<JsonPayload>,
    /// The undone edits.
    edits: Option<&'a [String]>,
    seconds: StepSeconds,
    other_links: u64,
    /// Related files that could not be removed.
    left: Vec<String>,
    warnings: Vec<String>,
}

/// The kept payload: old offset, new offset and size.
#[derive(Serialize)]
struct JsonPayload {
    from: u64,
    to: u64,
    size: u64,
}

impl Worked<Done> {
    /// The restored file, if it was restored.
    pub fn restored(&self) -> Option<&Restored> {
        match self.done()? {
            Done::Restored(restored) => Some(restored),
            Done::Cleared(_) | Done::NotOurs => None,
        }
    }

    /// Takes the errors about files that belong to it.
    pub fn take_failed(&mut self) -> Vec<AppError> {
        match &mut self.outcome {
            Outcome::Done(Done::Restored(restored)) => std::mem::take(&mut restored.related.failed),
            Outcome::Done(Done::Cleared(related)) => std::mem::take(&mut related.failed),
            _ => Vec::new(),
        }
    }

    /// What became of the files that belong to it.
    pub fn related(&self) -> Option<&Related> {
        match self.done()? {
            Done::Restored(restored) => Some(&restored.related),
            Done::Cleared(related) => Some(related),
            Done::NotOurs => None,
        }
    }
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let restored = worked.restored();
    let replacement = restored.map(|restored| &restored.replacement);
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| replacement.path.to_string_lossy().into_owned()),
        outcome: match worked.outcome {
            Outcome::Done(Done::Restored(_)) => "restored",
            Outcome::Done(Done::Cleared(_)) => "cleared",
            Outcome::Done(Done::NotOurs) | Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        refusal: worked.refused(),
        error: worked.error(),
        size_before: restored.map(|restored| restored.size_before),
        size_after: replacement.map(|replacement| replacement.size),
        digest: replacement.map(|replacement| replacement.proof.blake3.as_str()),
        packed_by: restored.map(|restored| restored.packed_by.as_str()),
        payload: restored.and_then(|restored| restored.payload.as_ref()).map(|payload| {
            let Payload { from, to, size, .. } = *payload;
            JsonPayload { from: from.0, to: to.0, size }
        }),
        edits: restored.map(|restored| restored.edits.as_slice()),
        seconds: StepSeconds::of(worked.plan_seconds, replacement),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        left: worked.related().map_or_else(Vec::new, |related| related.failed.iter().map(AppError::sentence).collect()),
        warnings: warnings(task, worked),
    }
}

/// Warnings about a file in addition to its result.
pub fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    let restored = worked.restored();
    let links = restored.map(|restored| link_warnings(task, worked.link_to.as_deref(), &restored.replacement));
    let kept = worked.related().map(|related| related.kept.clone());
    links.into_iter().chain(kept).flatten().collect()
}
