//! A program with all it loads: the cost of the whole start, and the most worthwhile files.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;

use coldstart_app::inspect::{Inspected, ProgramClosure, Survey};
use coldstart_inspect::{Figures, Finding};

use super::several::{SOME, by_kind};
use super::text::{counted, fact, fit, heading, name, number, omitted, plain, size, table};
use super::{findings, words};
use crate::output::path::fitted;
use crate::output::size::{bytes, grouped};
use crate::output::style::HEADING;
use crate::output::table::{Align, MAX_WIDTH, Table};

/// Maximum number of listed findings without `--all`.
const SOME_FINDINGS: usize = 12;
/// Columns for an object's rule and its requester.
const FOUND: usize = 18;
/// Columns for the name of a file with a finding.
const FILE: usize = 26;

/// The report on one closure; `all` lists everything.
pub(in super::super) fn closure(survey: &Survey, closure: &ProgramClosure, all: bool) -> String {
    let inspected: HashMap<&Path, &Inspected> =
        survey.objects.iter().map(|object| (object.path.as_path(), object)).collect();
    let objects: Vec<&Inspected> =
        closure.objects.iter().filter_map(|loaded| inspected.get(loaded.path.as_path()).copied()).collect();
    let mut text = format!("{HEADING}{}{HEADING:#} and all it loads\n", fitted(&closure.path, MAX_WIDTH - 22));
    text.push_str(&cost(closure));
    text.push_str(&worthwhile(closure, &objects, all));
    let of_objects = objects.iter().flat_map(|object| &object.inspection.findings);
    text.push_str(&by_kind(of_objects.chain(&closure.findings), "times"));
    if !closure.findings.is_empty() {
        text.push_str(&heading("Findings on the whole program", ""));
        for finding in &closure.findings {
            text.push_str(&findings::detail_of_program(finding, &closure.path));
        }
    }
    text.push_str(&listed(closure, &inspected, all));
    text
}

fn cost(closure: &ProgramClosure) -> String {
    let totals = &closure.totals;
    let facts = [
        ("loads", format!("{}, {}", counted(closure.objects.len() as u64, "object"), size(totals.file_bytes))),
        (
            "relocates",
            format!(
                "{}, by tables of {}; {} are already packed",
                counted(totals.relocations, "word"),
                size(totals.relocation_bytes),
                number(totals.packed_relocations)
            ),
        ),
        (
            "memory",
            format!(
                "{} made private in each process, {}",
                counted(totals.private_pages, "page"),
                size(totals.private_pages.saturating_mul(4096))
            ),
        ),
        (
            "runs",
            format!(
                "{} and looks up {}",
                counted(totals.initialisers, "initialiser"),
                counted(totals.lookups, "symbol")
            ),
        ),
        (
            "reads",
            format!(
                "{} in {}, {} of them seeks, when nothing is cached (a model, not a measurement)",
                size(totals.read_bytes),
                counted(totals.read_requests, "request"),
                number(totals.seeks)
            ),
        ),
        ("searches", probes(closure)),
    ];
    facts.iter().map(|(label, content)| fact(label, content)).collect()
}

fn probes(closure: &ProgramClosure) -> String {
    if closure.objects.len() <= 1 {
        return "needs no library".to_owned();
    }
    if closure.failed_probes == 0 {
        return "no failed probes".to_owned();
    }
    let mut rules: Vec<(&String, &u64)> = closure.failed_probes_by_rule.iter().collect();
    rules.sort_by_key(|(rule, count)| (Reverse(**count), *rule));
    let rules: Vec<String> =
        rules.into_iter().map(|(rule, count)| format!("{} by {}", number(*count), name(rule, 40))).collect();
    let behind = if rules.is_empty() { String::new() } else { format!(": {}", rules.join(", ")) };
    format!("{}{behind}", counted(closure.failed_probes, "failed probe"))
}

/// The findings over all files together, each with its file.
fn worthwhile(closure: &ProgramClosure, objects: &[&Inspected], all: bool) -> String {
    let of_objects = objects
        .iter()
        .flat_map(|object| object.inspection.findings.iter().map(|finding| (object.path.as_path(), finding)));
    let of_whole = closure.findings.iter().map(|finding| (Path::new("all of it"), finding));
    let mut ranked: Vec<(&Path, &Finding)> = of_objects.chain(of_whole).collect();
    ranked.sort_by_key(|(path, finding)| (Reverse(finding.weight()), finding.kind, *path));
    if ranked.is_empty() {
        return String::new();
    }
    let shown = if all { ranked.len() } else { ranked.len().min(SOME_FINDINGS) };
    let mut rows = Table::new(&[
        ("object", Align::Left),
        ("finding", Align::Left),
        ("figures", Align::Left),
        ("a fix saves", Align::Left),
    ]);
    for (path, finding) in ranked.iter().take(shown) {
        rows.row(vec![
            fitted(file_name(path), FILE),
            finding.kind.name().to_owned(),
            words::certainty(finding.certainty).to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| {
        let Some((_, finding)) = ranked.get(row) else { return String::new() };
        match words::saving(&finding.saves) {
            saving if saving.is_empty() => name(&finding.what, room),
            saving => name(&plain(&saving), room),
        }
    });
    let mut text = heading("Where to begin", &counted(ranked.len() as u64, "finding"));
    text.push_str(&table(&rows));
    text.push_str(&omitted(shown, ranked.len(), "them"));
    text
}

fn file_name<P: AsRef<Path> + ?Sized>(path: &P) -> &Path {
    let path = path.as_ref();
    path.file_name().map_or(path, Path::new)
}

/// The objects in load order.
fn listed(closure: &ProgramClosure, inspected: &HashMap<&Path, &Inspected>, all: bool) -> String {
    let shown = if all { closure.objects.len() } else { closure.objects.len().min(SOME) };
    let mut rows = Table::new(&[
        ("", Align::Right),
        ("size", Align::Right),
        ("words", Align::Right),
        ("private", Align::Right),
        ("found by", Align::Left),
        ("needed by", Align::Left),
        ("object", Align::Left),
    ]);
    for (index, loaded) in closure.objects.iter().take(shown).enumerate() {
        let figures = inspected.get(loaded.path.as_path()).map(|object| Figures::of(&object.inspection));
        let cell = |text: fn(&Figures) -> String| figures.as_ref().map_or_else(|| "unknown".to_owned(), text);
        rows.row(vec![
            (index + 1).to_string(),
            cell(|figures| bytes(figures.file_bytes)),
            cell(|figures| grouped(figures.relocations)),
            cell(|figures| grouped(figures.private_pages)),
            name(&loaded.found_by, FOUND),
            fitted(file_name(loaded.needed_by.as_deref().unwrap_or_default()), FOUND),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| closure.objects.get(row).map_or_else(String::new, |loaded| fitted(&loaded.path, room)));
    let mut text = heading("In load order", &counted(closure.objects.len() as u64, "object"));
    text.push_str(&table(&rows));
    text.push_str(&omitted(shown, closure.objects.len(), "them"));
    text
}
