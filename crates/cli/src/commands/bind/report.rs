//! What became of the programs, in text and in JSON.

use coldstart_bind::{Binding, Caution, Mode, Predicted};
use coldstart_rewrite::{Proof, Replacement, SearchSummary};
use serde::Serialize;

use super::one::Done;
use super::words;
use crate::commands::rewriting::{
    Destination, JsonSeconds, Outcome, Refused, Task, Worked, link_warnings, proof_words,
};
use crate::error::CliError;
use crate::output::path::{JsonPath, printable};
use crate::output::text::{counted, fact, list, prose};
use crate::output::{command, json};

/// The schema of `--json`.
const SCHEMA: &str = "coldstart.bind/1";

pub(super) struct Report<'a> {
    pub(super) done: Vec<(Task, Worked<Done>)>,
    pub(super) place: &'a Destination,
}

#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    path: JsonPath,
    output: Option<String>,
    outcome: &'static str,
    refusal: Option<&'a Refused>,
    error: Option<String>,
    summary: Option<&'a SearchSummary>,
    predicted: Option<Predicted>,
    /// What the note in the bound program says.
    binding: Option<&'a Binding>,
    cautions: &'a [Caution],
    audit_library: Option<String>,
    proof: Option<&'a Proof>,
    seconds: JsonSeconds,
    other_links: u64,
    warnings: Vec<String>,
}

impl Report<'_> {
    pub(super) fn print_json(&self) -> Result<(), CliError> {
        #[derive(Serialize)]
        struct Body<'a> {
            programs: Vec<Record<'a>>,
        }
        let programs = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        json::print(SCHEMA, &Body { programs })
    }

    pub(super) fn text(&self) -> String {
        self.done.iter().map(|(task, worked)| one(task, worked, self.place)).collect()
    }
}

fn record<'a>(task: &Task, worked: &'a Worked<Done>) -> Record<'a> {
    let (plan, summary) = match worked.done() {
        Some(Done::Bound(bound)) => (Some(&bound.plan), Some(&bound.summary)),
        Some(Done::WouldBind(would)) => (Some(&would.0), Some(&would.1)),
        None => (None, None),
    };
    let replacement = replacement(worked);
    let audit_library = match worked.done() {
        Some(Done::Bound(bound)) => bound.plan.audit_library.as_ref(),
        _ => None,
    };
    Record {
        path: JsonPath::new(&task.path),
        output: replacement.map(|replacement| replacement.path.to_string_lossy().into_owned()),
        outcome: match &worked.outcome {
            Outcome::Done(Done::Bound(_)) => "bound",
            Outcome::Done(Done::WouldBind(_)) => "would-bind",
            Outcome::Refused(_) => "refused",
            Outcome::Failed(_) | Outcome::Gone => "failed",
        },
        refusal: worked.refused(),
        error: worked.error(),
        summary,
        predicted: plan.map(|plan| plan.predicted),
        binding: plan.map(|plan| &plan.binding),
        cautions: plan.map_or(&[], |plan| plan.cautions.as_slice()),
        audit_library: audit_library.map(|library| library.path.to_string_lossy().into_owned()),
        proof: replacement.map(|replacement| &replacement.proof),
        seconds: JsonSeconds::of(worked.plan_seconds, replacement),
        other_links: replacement.map_or(0, |replacement| replacement.other_links),
        warnings: warnings(task, worked),
    }
}

fn replacement(worked: &Worked<Done>) -> Option<&Replacement<Proof>> {
    match worked.done()? {
        Done::Bound(bound) => Some(&bound.replacement),
        Done::WouldBind(_) => None,
    }
}

/// What became of a program; nothing where an error or a refusal says all.
fn one(task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    let (head, plan, summary) = match worked.done() {
        None => return String::new(),
        Some(Done::WouldBind(would)) => {
            let name = printable(&task.path);
            (format!("would bind `{name}`; nothing was written, and nothing proven"), &would.0, &would.1)
        }
        Some(Done::Bound(bound)) => {
            (format!("bound {}", place.words(task, &bound.replacement.path)), &bound.plan, &bound.summary)
        }
    };
    let mut text = prose(&head, 0, 2);
    text.push_str(&fact("search", &words::probes(&plan.predicted, plan.binding.mode)));
    text.push_str(&fact("links", &words::links(plan)));
    text.push_str(&fact("file", &words::file(summary)));
    if let Some(Done::Bound(bound)) = worked.done() {
        let library = plan.audit_library.as_ref().map(|library| {
            let entries = counted(library.table.len() as u64, "entry");
            format!("`{}` answers the loader, with {entries}", printable(&library.path))
        });
        text.push_str(&fact("audit", &library.unwrap_or_default()));
        text.push_str(&fact("proof", &proof_words(&bound.replacement.proof)));
        let path = &bound.replacement.path;
        let kept = bound.replacement.kept_original.as_ref();
        let kept = kept.map(|kept| format!("; the original is kept as `{}`", printable(kept))).unwrap_or_default();
        let unbind = command::of_ours_in_prose("unbind --in-place", path);
        text.push_str(&list("undo", &format!("`{unbind}` restores the original{kept}")));
        let verify = command::of_ours_in_prose("verify --run", path);
        let next = match bound.plan.binding.mode {
            Mode::Audit => format!("`{verify}` counts what a start tries"),
            _ => format!("`{verify}` starts it and the original, and compares"),
        };
        text.push_str(&list("next", &next));
    }
    text
}

/// What is to be said about a program besides its result.
pub(super) fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    let (plan, mut warnings) = match worked.done() {
        None => return Vec::new(),
        Some(Done::WouldBind(would)) => (&would.0, Vec::new()),
        Some(Done::Bound(bound)) => (&bound.plan, link_warnings(task, worked.link_to.as_deref(), &bound.replacement)),
    };
    warnings.extend(plan.cautions.iter().map(words::caution));
    warnings
}
