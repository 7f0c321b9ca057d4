//! The text report: details of one file, a table of many.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::Path;

use coldstart_app::command;
use coldstart_app::pack::{Done, Report};
use coldstart_app::rewriting::{Destination, Task, Worked};
use coldstart_rewrite::{NothingToPack, PackSummary, Pass, PassOutcome};

use super::words;
use crate::commands::rewriting::{into_words, proof_words, refused_part};
use crate::output::path::{fitted, printable};
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::{counted, fact, fit, heading, list, number, omitted, plain, prose, share, size, table};

/// Maximum number of listed files without `--all`.
const SOME: usize = 20;

/// The report on the only file; empty after an error or a refusal.
pub(super) fn one(task: &Task, worked: &Worked<Done>, place: &Destination) -> String {
    let name = format!("`{}`", printable(&task.path));
    let Some(done) = worked.done() else { return String::new() };
    match done {
        Done::Packed(packed) => {
            let (summary, replacement) = packed.as_ref();
            let sizes = words::sizes(summary.size_before, summary.size_after);
            let mut text = prose(&format!("packed {}: {sizes}", into_words(place, task, &replacement.path)), 0, 2);
            text.push_str(&facts_of(summary));
            text.push_str(&fact("proof", &proof_words(&replacement.proof)));
            text.push_str(&list("undo", &undo(summary, &replacement.path, replacement.kept_original.as_deref())));
            text.push_str(&fact("time", &words::time(worked.plan_seconds, replacement)));
            text
        }
        Done::WouldPack(summary) => {
            let sizes = words::sizes(summary.size_before, summary.size_after);
            let text = format!("would pack {name}: {sizes}; nothing was written or proven");
            let undo = words::no_way_back(summary.way_back).map(|words| fact("undo", words)).unwrap_or_default();
            prose(&text, 0, 2) + &facts_of(summary) + &undo
        }
        Done::Nothing(nothing, copied) => {
            let done = match copied {
                Some(replacement) => format!("; copied unchanged into `{}`", printable(&replacement.path)),
                None => String::new(),
            };
            prose(&format!("nothing to pack in {name}: {}{done}", words::nothing(*nothing)), 0, 2)
        }
    }
}

fn facts_of(summary: &PackSummary) -> String {
    let mut text = String::new();
    if summary.relr_bytes > 0 {
        text.push_str(&fact("tables", &words::tables(summary)));
        text.push_str(&fact("room", &words::room(summary)));
        text.push_str(&fact("edits", &words::edits(summary)));
    }
    for pass in &summary.passes {
        // The facts above say what RELR did.
        if pass.pass != Pass::Relr || !matches!(pass.outcome, PassOutcome::Done { .. }) {
            text.push_str(&fact(pass.pass.name(), &words::pass(pass, summary)));
        }
    }
    text
}

fn undo(summary: &PackSummary, path: &Path, kept: Option<&Path>) -> String {
    let kept = kept.map(|kept| format!("the original is kept as `{}`", printable(kept)));
    let unpack = format!("`{}` restores the original", command::of_ours_in_prose("unpack", path));
    let unpack = words::no_way_back(summary.way_back).map_or(unpack, str::to_owned);
    [Some(unpack), kept].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The report on many files.
pub(super) fn many(report: &Report, all: bool) -> String {
    let total = &report.total;
    let verb = if report.dry_run { "would pack" } else { "packed" };
    let sizes = if total.packed > 0 {
        format!(": {}", words::sizes(total.size_before, total.size_after))
    } else {
        String::new()
    };
    let proven = if report.dry_run { "; nothing was written or proven" } else { "" };
    let summary = format!("{verb} {} of {}{sizes}{proven}", number(total.packed), counted(total.files, "file"));
    let mut text = prose(&summary, 0, 2);
    text.push_str(&packed(report, all));
    text.push_str(&nothing(report, all));
    text.push_str(&refused_part(&report.done, all));
    text
}

fn packed(report: &Report, all: bool) -> String {
    let mut rows: Vec<(&Path, &PackSummary)> =
        report.packed().map(|(task, summary)| (task.path.as_path(), summary)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let saved = |summary: &PackSummary| summary.size_before.saturating_sub(summary.size_after);
    rows.sort_by_key(|(path, summary)| (Reverse(saved(summary)), *path));
    let shown = if all { rows.len() } else { rows.len().min(SOME) };
    let mut table_of_files = Table::new(&[
        ("saved", Align::Right),
        ("of", Align::Right),
        ("share", Align::Right),
        ("words", Align::Right),
        ("file, the most saved first", Align::Left),
    ]);
    let mut row = |saved: u64, before: u64, words: u64| {
        let share = plain(&share(saved, before));
        table_of_files.row(vec![bytes(saved), bytes(before), share, grouped(words), String::new()]);
    };
    for (_, summary) in rows.iter().take(shown) {
        row(saved(summary), summary.size_before, summary.packed);
    }
    let total = &report.total;
    let words = rows.iter().map(|(_, summary)| summary.packed).fold(0, u64::saturating_add);
    row(total.size_before.saturating_sub(total.size_after), total.size_before, words);
    let label = plain(&format!("total of {}", counted(total.packed, "file")));
    fit(&mut table_of_files, |row, room| match rows.get(row).filter(|_| row < shown) {
        Some((path, _)) => fitted(path, room),
        None => label.clone(),
    });
    table(&table_of_files) + &omitted(shown, rows.len(), "all files")
}

fn nothing(report: &Report, all: bool) -> String {
    let mut reasons: BTreeMap<&str, (NothingToPack, Vec<&Path>, u64)> = BTreeMap::new();
    for (task, worked) in &report.done {
        if let Some(Done::Nothing(nothing, _)) = worked.done() {
            let of_reason = reasons.entry(words::nothing_in_short(*nothing)).or_insert((*nothing, Vec::new(), 0));
            of_reason.1.push(&task.path);
            if let NothingToPack::NoGain { table_bytes, stuck: Some(_) } = nothing {
                of_reason.2 = of_reason.2.saturating_add(*table_bytes);
            }
        }
    }
    if reasons.is_empty() {
        return String::new();
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(words, (_, files, _))| (Reverse(files.len()), *words));
    let mut text = heading("Nothing to pack", "");
    for (words, (_, files, stuck_bytes)) in reasons {
        let saving = if stuck_bytes > 0 { format!(" of {}", size(stuck_bytes)) } else { String::new() };
        text.push_str(&prose(&format!("{}: {words}{saving}", counted(files.len() as u64, "file")), 2, 4));
        for file in files.iter().filter(|_| all) {
            text.push_str(&format!("    {}\n", fitted(file, MAX_WIDTH - 4)));
        }
    }
    text
}
