//! The report on the bound programs.

use coldstart_bind::{Binding, Caution, Predicted};
use coldstart_profile::JsonPath;
use coldstart_prove::Proof;
use coldstart_rewrite::{Replacement, SearchSummary};
use serde::{Serialize, Serializer};

use super::caution_sentence;
use super::one::Done;
use crate::rewriting::{Destination, Outcome, Refused, StepSeconds, Task, Worked, link_warnings};

/// The name and version of the JSON schema.
pub const SCHEMA: &str = "coldstart.bind/1";

/// The results of all programs. It is serialised with a record for each.
#[derive(Debug)]
pub struct Report {
    /// Each processed program, in argument order.
    pub done: Vec<(Task, Worked<Done>)>,
    /// The output.
    pub place: Destination,
    /// Programs not started because of a signal.
    pub not_begun: u64,
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
    /// The content of the bound program's note.
    binding: Option<&'a Binding>,
    cautions: &'a [Caution],
    audit_library: Option<String>,
    proof: Option<&'a Proof>,
    seconds: StepSeconds,
    other_links: u64,
    warnings: Vec<String>,
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Body<'a> {
            programs: Vec<Record<'a>>,
        }
        let programs = self.done.iter().map(|(task, worked)| record(task, worked)).collect();
        Body { programs }.serialize(serializer)
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
        seconds: StepSeconds::of(worked.plan_seconds, replacement),
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

/// Warnings about a program in addition to its result.
pub fn warnings(task: &Task, worked: &Worked<Done>) -> Vec<String> {
    let (plan, mut warnings) = match worked.done() {
        None => return Vec::new(),
        Some(Done::WouldBind(would)) => (&would.0, Vec::new()),
        Some(Done::Bound(bound)) => (&bound.plan, link_warnings(task, worked.link_to.as_deref(), &bound.replacement)),
    };
    warnings.extend(plan.cautions.iter().map(caution_sentence));
    warnings
}
