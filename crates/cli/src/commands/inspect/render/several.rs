//! Many objects: the most worthwhile ones, total costs, and skipped files.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use coldstart_app::inspect::{Inspected, PassedOver, Survey};
use coldstart_inspect::{Figures, Finding, FindingKind, Saving};

use super::findings::first_fix;
use super::text::{counted, fact, fit, heading, name, number, plain, size, table};
use super::words;
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::table::{Align, MAX_WIDTH, Table};

/// Maximum number of listed objects without `--all`.
pub(super) const SOME: usize = 40;

/// All objects in a table, their findings and skipped files; `all` lists everything.
pub(in super::super) fn several(survey: &Survey, all: bool) -> String {
    let mut text = summary(survey);
    if !survey.objects.is_empty() {
        text.push_str(&objects(survey, all));
        text.push_str(&by_kind(survey.objects.iter().flat_map(|object| &object.inspection.findings), "objects"));
    }
    text.push_str(&passed_over(survey, all));
    text
}

fn summary(survey: &Survey) -> String {
    let objects = survey.objects.len() as u64;
    let summary = format!(
        "{}, {}; {} relocated, {} made private, {} looked up, {} run",
        counted(objects, "object"),
        size(survey.totals.file_bytes),
        counted(survey.totals.relocations, "word"),
        counted(survey.totals.private_pages, "page"),
        counted(survey.totals.lookups, "symbol"),
        counted(survey.totals.initialisers, "initialiser")
    );
    heading("Inspected", &summary).trim_start_matches('\n').to_owned()
}

/// Sorted by saving, then by path.
fn ranked(objects: &[Inspected]) -> Vec<&Inspected> {
    let mut ranked: Vec<&Inspected> = objects.iter().collect();
    ranked.sort_by_cached_key(|object| (Reverse(worth(&object.inspection.findings)), object.path.clone()));
    ranked
}

fn worth(findings: &[Finding]) -> u64 {
    findings.iter().map(|finding| finding.weight()).fold(0, u64::saturating_add)
}

fn objects(survey: &Survey, all: bool) -> String {
    let ranked = ranked(&survey.objects);
    let shown = if all { ranked.len() } else { ranked.len().min(SOME) };
    let mut rows = Table::new(&[
        ("words", Align::Right),
        ("tables", Align::Right),
        ("RELR saves", Align::Right),
        ("private", Align::Right),
        ("init", Align::Right),
        ("seeks", Align::Right),
        ("findings", Align::Right),
        ("object, the most to gain first", Align::Left),
    ]);
    let mut row = |figures: &Figures, findings: u64| {
        let or_dash = |count: u64, text: String| if count == 0 { "-".to_owned() } else { text };
        rows.row(vec![
            grouped(figures.relocations),
            bytes(figures.relocation_bytes),
            or_dash(figures.packing_saves_bytes, bytes(figures.packing_saves_bytes)),
            grouped(figures.private_pages),
            grouped(figures.initialisers),
            grouped(figures.seeks),
            or_dash(findings, grouped(findings)),
            String::new(),
        ]);
    };
    for object in ranked.iter().take(shown) {
        row(&Figures::of(&object.inspection), object.inspection.findings.len() as u64);
    }
    let findings = ranked.iter().map(|object| object.inspection.findings.len() as u64).sum();
    row(&survey.totals, findings);
    let listed = if shown < ranked.len() { format!(", {} listed", number(shown as u64)) } else { String::new() };
    let total = plain(&format!("total of {}{listed}", counted(ranked.len() as u64, "object")));
    fit(&mut rows, |row, room| match ranked.get(row).filter(|_| row < shown) {
        Some(object) => fitted(&object.path, room),
        None => total.clone(),
    });
    table(&rows)
}

/// Each kind of finding: its count, the total saving, and the fix.
pub(super) fn by_kind<'a>(findings: impl Iterator<Item = &'a Finding>, of: &'static str) -> String {
    let mut kinds: BTreeMap<FindingKind, (u64, Saving, &Finding)> = BTreeMap::new();
    for finding in findings {
        let (count, saves, _) = kinds.entry(finding.kind).or_insert((0, Saving::default(), finding));
        *count += 1;
        *saves = saves.plus(&finding.saves);
    }
    if kinds.is_empty() {
        return heading("No findings", "no known avoidable start-up cost");
    }
    let mut kinds: Vec<(u64, Saving, &Finding)> = kinds.into_values().collect();
    kinds.sort_by_key(|(_, saves, finding)| (Reverse(finding.kind.weight(saves)), finding.kind));
    let mut rows = Table::new(&[
        ("finding", Align::Left),
        (of, Align::Right),
        ("fixes save together", Align::Left),
        ("figures", Align::Left),
    ]);
    for (count, saves, finding) in &kinds {
        let saving = words::saving(saves);
        rows.row(vec![
            finding.kind.name().to_owned(),
            grouped(*count),
            if saving.is_empty() { "-".to_owned() } else { plain(&saving) },
            words::certainty(finding.certainty).to_owned(),
        ]);
    }
    let mut fixes =
        Table::new(&[("finding", Align::Left), ("first fix; a report on one object has them all", Align::Left)]);
    for (.., finding) in &kinds {
        fixes.row(vec![finding.kind.name().to_owned(), String::new()]);
    }
    fit(&mut fixes, |row, room| kinds.get(row).map_or_else(String::new, |(.., finding)| first_fix(finding, room)));
    heading("What could be better", "each kind of finding, the most worthwhile first") + &table(&rows) + &table(&fixes)
}

fn passed_over(survey: &Survey, all: bool) -> String {
    let mut reasons: BTreeMap<&str, Vec<&PassedOver>> = BTreeMap::new();
    for passed in &survey.passed_over {
        reasons.entry(passed.reason.as_str()).or_default().push(passed);
    }
    let others: u64 = survey.other_files.values().fold(0, |sum, count| sum.saturating_add(*count));
    if reasons.is_empty() && others == 0 {
        return String::new();
    }
    let mut text = String::new();
    if !reasons.is_empty() {
        text.push_str(&heading("Skipped", "ELF files that are not loadable"));
    }
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(reason, files)| (Reverse(files.len()), *reason));
    for (reason, files) in reasons {
        text.push_str(&fact(&grouped(files.len() as u64), &name(reason, 4 * MAX_WIDTH)));
        for file in files.iter().filter(|_| all) {
            text.push_str(&format!("    {}\n", fitted(&file.path, MAX_WIDTH - 4)));
        }
    }
    if others > 0 {
        let mut kinds: Vec<(&String, &u64)> = survey.other_files.iter().collect();
        kinds.sort_by_key(|(kind, count)| (Reverse(**count), *kind));
        text.push_str(&heading("Other files", &format!("{} without ELF content", number(others))));
        for (kind, count) in kinds {
            text.push_str(&fact(&grouped(*count), &name(kind, MAX_WIDTH)));
        }
    }
    text
}
