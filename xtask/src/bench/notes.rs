//! Caveats of a record's figures, as footnotes of the table.
//!
//! The tools' own terms are kept, so that they can be found in their documentation.

use std::collections::BTreeSet;

use serde_json::Value;

use super::plan::Plan;
use super::record::Record;

/// So many notes of one kind are shown; of the rest only the number.
const OF_ONE_KIND: usize = 3;

/// What stands against trusting a record's figures: the measurements' warnings, the recordings' notes, stale plans.
pub(super) fn notes(record: &Record) -> Vec<String> {
    let mut found = Vec::new();
    for part in record.parts() {
        gather(part, &mut found);
    }
    if let Some(plan) = record.part("plan").ok().and_then(|plan| Plan::from_json(plan).ok())
        && plan.stale_files > 0
    {
        let line = format!("{} files had changed when the plan was shown", plan.stale_files);
        found.push(("stale plan".to_owned(), line));
    }
    let mut lines = Vec::new();
    let kinds: BTreeSet<&String> = found.iter().map(|(kind, _)| kind).collect();
    for kind in kinds {
        let of_kind: Vec<&String> = found.iter().filter(|(other, _)| other == kind).map(|(_, line)| line).collect();
        let shown = of_kind.len().min(OF_ONE_KIND);
        lines.extend(of_kind.iter().take(shown).map(|line| format!("- `{}`: {line}\n", record.benchmark)));
        if of_kind.len() > shown {
            lines.push(format!("- `{}`: {kind}: {} more\n", record.benchmark, of_kind.len() - shown));
        }
    }
    lines
}

/// Finds `warnings` and `notes` in what a tool printed, or in a list of such: kind and line of each.
fn gather(part: &Value, found: &mut Vec<(String, String)>) {
    match part {
        Value::Array(list) => list.iter().for_each(|one| gather(one, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("warnings", Value::Array(warnings)) => found.extend(warnings.iter().map(warning_line)),
                    ("notes", Value::Array(notes)) => {
                        let notes = notes.iter().filter_map(Value::as_str);
                        found.extend(notes.map(|note| ("note".to_owned(), format!("recording: {note}"))));
                    }
                    // The rounds of a benchmark that compares tools.
                    ("coldstart", part) => gather(part, found),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// A warning's kind, and a line about it in the words of `coldstart measure`'s JSON.
fn warning_line(warning: &Value) -> (String, String) {
    let kind = warning.get("kind").and_then(Value::as_str).unwrap_or("warning").to_owned();
    let fields = warning.as_object().into_iter().flatten().filter(|(name, _)| *name != "kind");
    let details: Vec<String> = fields.map(|(name, value)| format!("{name} {}", plain(value))).collect();
    let line = if details.is_empty() { kind.clone() } else { format!("{kind}: {}", details.join("; ")) };
    (kind, line)
}

/// Text without quotes, fractions (which are seconds) to the microsecond, all else as JSON has it.
fn plain(value: &Value) -> String {
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) if value.is_f64() => format!("{number:.6}"),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;
    use serde_json::json;

    #[test]
    fn many_notes_of_one_kind_are_counted() {
        let mut record = Record::begin(Benchmark::Precision, "2025-01-02", 2).unwrap();
        let round = json!({"coldstart": sample("hot", &[&[0.0005, 0.0006]]), "hyperfine": {"results": []}});
        record.add("rounds", vec![round; 40].into());
        record.add("recording", json!({"notes": ["pages have no order"]}));
        let notes = notes(&record).concat();
        assert_eq!(notes.lines().count(), 1 + OF_ONE_KIND + 1, "{notes}");
        assert!(notes.contains("- `precision`: interference: 37 more\n"), "{notes}");
        assert!(notes.contains("- `precision`: recording: pages have no order\n"), "{notes}");
    }

    #[test]
    fn warnings_become_lines() {
        let json = sample("hot", &[&[1.0, 1.0]]);
        let expected = "interference: others_bytes 1048576; samples [3,5]";
        assert_eq!(warning_line(&json["warnings"][0]), ("interference".into(), expected.into()));
        let slow = json!({"kind": "first-run-slow", "command": "A", "seconds": 0.123_456_789, "sample": 1});
        assert_eq!(warning_line(&slow).1, "first-run-slow: command A; sample 1; seconds 0.123457");
        assert_eq!(warning_line(&json!("odd")).1, "warning");
    }
}
