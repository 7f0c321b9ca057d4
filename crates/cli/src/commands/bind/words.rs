//! The text report of `bind`.

use coldstart_app::bind::Done;
use coldstart_app::command;
use coldstart_app::rewriting::{Destination, Task, Worked};
use coldstart_bind::{BindPlan, Mode, Predicted};
use coldstart_rewrite::{SearchRoom, SearchSummary};

use crate::commands::rewriting::{into_words, proof_words};
use crate::output::path::printable;
use crate::output::text::{counted, escaped, fact, list, number, prose, size};

/// The report on one program; empty after an error or a refusal.
pub(super) fn one(task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    let (head, plan, summary) = match worked.done() {
        None => return String::new(),
        Some(Done::WouldBind(would)) => {
            let name = printable(&task.path);
            (format!("would bind `{name}`; nothing was written or proven"), &would.0, &would.1)
        }
        Some(Done::Bound(bound)) => {
            (format!("bound {}", into_words(place, task, &bound.replacement.path)), &bound.plan, &bound.summary)
        }
    };
    let mut text = prose(&head, 0, 2);
    text.push_str(&fact("search", &probes(&plan.predicted, plan.binding.mode)));
    text.push_str(&fact("links", &links(plan)));
    text.push_str(&fact("file", &file(summary)));
    if let Some(Done::Bound(bound)) = worked.done() {
        let library = plan.audit_library.as_ref().map(|library| {
            let entries = counted(library.table.len() as u64, "entry");
            format!("`{}` with {entries}", printable(&library.path))
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
            Mode::Audit => format!("`{verify}` counts the probes of a start"),
            _ => format!("`{verify}` starts it and the original, and compares them"),
        };
        text.push_str(&list("next", &next));
    }
    text
}

/// Failed probes of a start, before and after.
fn probes(predicted: &Predicted, mode: Mode) -> String {
    let before = counted(predicted.failed_probes_before as u64, "failed probe");
    let after = number(predicted.failed_probes_after as u64);
    let rest = match (mode, predicted.failed_probes_after) {
        (_, 0) => "",
        (Mode::Audit, _) => ", for names outside the table",
        (Mode::Soname, _) => ", as predicted",
        _ => "",
    };
    let libraries = counted(predicted.objects as u64, "library");
    format!("{libraries}: {before} before, {after} after{rest}")
}

/// The link directory, or its replacement.
fn links(plan: &BindPlan) -> String {
    let Some(farm) = &plan.farm else { return String::new() };
    let links = counted(farm.links.len() as u64, "link");
    format!("{links} in `{}`, first on the search path as `{}`", printable(&farm.directory), escaped(&farm.text))
}

/// How the file was edited.
fn file(summary: &SearchSummary) -> String {
    let sizes = format!("{} before, {} after", size(summary.size_before), size(summary.size_after));
    let room = match summary.room {
        SearchRoom::SegmentGrown => "its last segment grew",
        SearchRoom::NewSegmentInstead | SearchRoom::NewSegment => "one more segment",
    };
    let moved = if summary.dynamic_moved { ", with the (writable) dynamic table" } else { "" };
    format!("{sizes}; {room}{moved}")
}
