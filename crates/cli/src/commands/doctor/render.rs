//! The text report: verbs first, then each missing feature with a paragraph, then the rest.

use coldstart_app::doctor::Report;
use coldstart_doctor::{Check, Grant, Standing, Status, Where};
use unicode_width::UnicodeWidthStr;

use crate::output::style::HEADING;
use crate::output::table::MAX_WIDTH;
use crate::output::text::{INDENT, cut, escaped, fact, heading, prose};
use crate::output::wrap::filled;

/// Indentation of the text of facts.
const BEHIND_LABEL: usize = 13;
/// Columns of a verb's name with what it does.
const TITLE: usize = 38;

pub(super) fn in_words(report: &Report, all: bool) -> String {
    let mut text = format!("{HEADING}What works here{HEADING:#}\n");
    for standing in &report.abilities {
        text.push_str(&line_of(standing));
    }
    let (missed, rest): (Vec<&Check>, Vec<&Check>) = report.checks.iter().partition(|check| check.is_missed());
    if !missed.is_empty() {
        text.push_str(&heading("What is missing", ""));
        for check in sorted(missed) {
            text.push_str(&paragraph(check));
        }
    }
    let (fine, unused): (Vec<&Check>, Vec<&Check>) = rest.into_iter().partition(|check| check.status == Status::Yes);
    if all {
        if !unused.is_empty() {
            text.push_str(&heading("What is missing and changes no verb", ""));
            for check in sorted(unused) {
                text.push_str(&paragraph(check));
            }
        }
        if !fine.is_empty() {
            text.push_str(&heading("What is fine", ""));
            for check in fine {
                text.push_str(&paragraph(check));
            }
        }
    } else if !(fine.is_empty() && unused.is_empty()) {
        text.push_str(&format!(
            "\n{} fine, {} missing that changes no verb; --all lists them\n",
            fine.len(),
            unused.len()
        ));
    }
    text
}

/// The worst first.
fn sorted(mut checks: Vec<&Check>) -> Vec<&Check> {
    checks.sort_by_key(|check| std::cmp::Reverse(check.status));
    checks
}

/// `measure --state cold    no: the machine's caches may not be dropped here`
fn line_of(standing: &Standing) -> String {
    let mut words = standing.status.word().to_owned();
    if !standing.because.is_empty() {
        words.push_str(": ");
        words.push_str(&escaped(&standing.because.join("; ")));
    }
    let title = format!("{}{:<TITLE$}", " ".repeat(INDENT), standing.ability.title());
    hung(&title, &words)
}

/// A title with aligned lines of text.
fn hung(title: &str, words: &str) -> String {
    let indent = title.width();
    let words = words.split_whitespace().map(|word| cut(word, MAX_WIDTH.saturating_sub(indent)));
    let lines = filled(words, indent, indent);
    format!("{title}{}", lines.get(indent..).unwrap_or_default())
}

/// Below an empty line.
fn paragraph(check: &Check) -> String {
    let plain =
        prose(&format!("{}: {}, {}", check.name, check.status.word(), escaped(&check.now)), INDENT, BEHIND_LABEL);
    let mut text = format!("\n{}", plain.replacen(&check.name, &format!("{HEADING}{}{HEADING:#}", check.name), 1));
    text.push_str(&fact("needed", &escaped(&check.needed)));
    text.push_str(&fact("cost", &check.cost));
    for grant in &check.grants {
        text.push_str(&command(grant));
    }
    text
}

/// Not wrapped, so that it can be copied.
fn command(grant: &Grant) -> String {
    let label = match grant.run {
        Where::Here => "get it",
        Where::Host => "outside",
    };
    format!("{}{label:<10} {}\n", " ".repeat(INDENT), escaped(&grant.command))
}
