//! Findings: first a summary table, then each with place, reason and fix.

use std::path::Path;

use coldstart_app::command;
use coldstart_inspect::{Certainty, Finding, Fix};

use super::text::{counted, cut_end, escaped, fact, fit, heading, plain, prose, table};
use super::words;
use crate::output::style::HEADING;
use crate::output::table::{Align, Table};

/// The ranked table of findings, most worthwhile first.
pub(super) fn overview(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return heading("No findings", "no known avoidable start-up cost in this file");
    }
    let summary = format!("{}, the most worthwhile fix first", counted(findings.len() as u64, "finding"));
    let mut text = heading("What could be better", &summary);
    let mut rows = Table::new(&[
        ("finding", Align::Left),
        ("a fix saves", Align::Left),
        ("figures", Align::Left),
        ("fix", Align::Left),
    ]);
    for finding in findings {
        rows.row(vec![
            finding.kind.name().to_owned(),
            plain(&saves(finding)),
            words::certainty(finding.certainty).to_owned(),
            String::new(),
        ]);
    }
    fit(&mut rows, |row, room| findings.get(row).map_or_else(String::new, |finding| first_fix(finding, room)));
    text.push_str(&table(&rows));
    text
}

/// Each finding in full.
pub(super) fn details(findings: &[Finding]) -> String {
    if findings.is_empty() {
        return String::new();
    }
    let mut text = heading("The findings in full", "");
    for finding in findings {
        text.push_str(&detail(finding));
    }
    text
}

/// One finding in full: what, where, why, the fixes, what they save, and what has to hold.
pub(super) fn detail(finding: &Finding) -> String {
    detail_with(finding, words::fix)
}

/// The same for a program with all it loads: the fix is the command for this program.
pub(super) fn detail_of_program(finding: &Finding, program: &Path) -> String {
    let of_ours = |verb| command::of_ours_in_prose(verb, program);
    detail_with(finding, |fix| match fix {
        Fix::Verb("bind") => format!("`{}`; `{}` lists each probe", of_ours("bind --in-place"), of_ours("resolve")),
        Fix::Verb("ldcache") => format!("`{}`", of_ours("ldcache write --closure")),
        fix => words::fix(fix),
    })
}

fn detail_with(finding: &Finding, command: impl Fn(&Fix) -> String) -> String {
    let fixes: Vec<String> = finding.fixes.iter().map(command).collect();
    let mut text = format!("\n  {HEADING}{}{HEADING:#}\n", finding.kind.name());
    text.push_str(&prose(&readable_numbers(&escaped(&finding.what)), 4, 4));
    for (label, content) in [
        ("where", readable_numbers(&escaped(&finding.place))),
        ("why", finding.why.to_owned()),
        ("fix", fixes.join("; or ")),
        ("saves", full_saving(finding)),
        ("note", finding.condition.to_owned()),
    ] {
        text.push_str(&fact(label, &content));
    }
    text
}

/// For a narrow column.
fn saves(finding: &Finding) -> String {
    let saving = words::saving(&finding.saves);
    if saving.is_empty() { "-".to_owned() } else { saving }
}

fn full_saving(finding: &Finding) -> String {
    let saving = words::saving(&finding.saves);
    if saving.is_empty() {
        return "unknown from the file alone".to_owned();
    }
    match finding.certainty {
        Certainty::Counted => format!("{saving} (counted in the file)"),
        Certainty::Followed => format!("{saving} (by the loader's rules)"),
        Certainty::Modelled => format!("{saving} (by a model of the loader and the kernel, not measured)"),
        Certainty::UpperBound => format!("at most {saving}"),
    }
}

/// The first fix, in short form.
pub(super) fn first_fix(finding: &Finding, columns: usize) -> String {
    finding.fixes.first().map_or_else(String::new, |fix| cut_end(&words::short_fix(fix), columns))
}

/// Large numbers in groups of three digits, except inside of names between backticks.
fn readable_numbers(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(index, part)| {
        let is_name = index % 2 == 1;
        if is_name { part.to_owned() } else { grouped_numbers(part) }
    });
    parts.collect::<Vec<_>>().join("`")
}

fn grouped_numbers(text: &str) -> String {
    let word = |word: &str| {
        let digits = word.trim_matches(['(', ')', ',', ':', ';']);
        match digits.parse::<u64>() {
            Ok(value) if digits.len() > 3 && !digits.starts_with('0') => {
                word.replacen(digits, &super::text::number(value), 1)
            }
            _ => word.to_owned(),
        }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_names_are_not() {
        assert_eq!(
            plain(&readable_numbers("381204 words (9148896 bytes) of `table 123456`, at 0x123456, 12")),
            "381 204 words (9 148 896 bytes) of `table 123456`, at 0x123456, 12"
        );
    }
}
