//! What became of the files.

use coldstart_profile::JsonPath;
use coldstart_rewrite::Payload;
use serde::{Serialize, Serializer};

use super::{Done, Restored, Taking};
use crate::rewriting::{Destination, Outcome, Passage, Refused, StepSeconds, Task, Worked, link_warnings};

/// What became of all files. It is serialised with a record for each file.
#[derive(Debug)]
pub struct Report {
    /// Which edit was taken back.
    pub taking: Taking,
    /// Each file that was worked on and holds a note of ours, in the order in which they were named or found.
    pub done: Vec<(Task, Worked<Done>)>,
    /// All files together.
    pub total: Total,
    /// Whether a single file was named, and nothing else.
    pub is_one: bool,
    /// Where results went.
    pub place: Destination,
}

/// All files together.
#[derive(Debug, Default, Serialize)]
pub struct Total {
    /// Files that were worked on.
    pub files: u64,
    /// Files that were restored.
    pub restored: u64,
    /// Files that were left as they are.
    pub refused: u64,
    /// Files at which something broke.
    pub failed: u64,
    /// Files of directories without a note of ours.
    pub not_ours: u64,
    /// Files that were not begun because a signal asked us to stop.
    pub not_begun: u64,
}

impl Report {
    pub(super) fn new(taking: Taking, passage: Passage<Worked<Done>>, is_one: bool, place: Destination) -> Self {
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
    /// What was appended to the file, and is kept.
    payload: Option<JsonPayload>,
    /// The edits that were taken back.
    edits: Option<&'a [String]>,
    seconds: StepSeconds,
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

impl Worked<Done> {
    /// What was restored, if it was.
    pub fn restored(&self) -> Option<&Restored> {
        match self.done()? {
            Done::Restored(restored) => Some(restored),
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
        warnings: warnings(task, worked),
    }
}

/// What is to be said about a file besides its result.
pub fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    match worked.restored() {
        Some(restored) => link_warnings(task, worked.link_to.as_deref(), &restored.replacement),
        None => Vec::new(),
    }
}
