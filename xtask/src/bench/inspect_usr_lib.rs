//! `coldstart inspect` on everything below /usr/lib, in memory as far as it fits: whether one can survey a system while
//! waiting.
//!
//! What lies there differs from machine to machine. So the number and size of the objects stand beside the time, and the
//! time per GB. hyperfine measures here: the files are tens of thousands, and `coldstart measure` would check
//! the residency of each before every run.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::hyperfine;
use super::record::Record;
use super::runner::shown;
use super::statistics::median;
use super::surroundings::read_from_disk;
use super::workshop::Workshop;
use crate::tools::Tool;

const DIRECTORY: &str = "/usr/lib";

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[crate::tools::tool("hyperfine", "hyperfine")];

/// Asked for on two processors, where there are about 1,000 objects of 0.9 GB together.
const SECONDS: f64 = 3.0;
/// Runs before the counted ones, besides two that read all as well.
const WARM_UPS: u32 = 2;
/// So many complaints are recorded in full.
const COMPLAINTS_KEPT: usize = 20;

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let command = workshop.coldstart(["inspect", DIRECTORY]);
    let mut inspected = workshop.runner.json(&workshop.coldstart(["inspect", "--json", DIRECTORY]), &[0, 2])?;
    // The objects one by one would be tens of MB.
    for (name, list) in inspected.as_object_mut().into_iter().flatten() {
        if matches!(name.as_str(), "objects" | "passed_over") {
            *list = list.as_array().map_or(0, Vec::len).into();
        }
    }
    record.add("survey", inspected);

    let said = workshop.runner.said(&command)?;
    ensure!(!is_crash(said.status.code()), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
    let complaints: Vec<&str> = said.stderr.lines().filter(|line| is_complaint(line)).collect();
    let first: Vec<&&str> = complaints.iter().take(COMPLAINTS_KEPT).collect();
    record.add("complaints", json!({"count": complaints.len(), "first": first, "exit_code": said.status.code()}));

    let before = read_from_disk()?;
    record.add("hyperfine", workshop.hyperfine_any_end(record.runs, WARM_UPS, &[command])?);
    record.add("read_from_disk", read_from_disk()?.saturating_sub(before).into());
    Ok(())
}

/// Whether a line of stderr says that something is wrong; others are hints.
fn is_complaint(line: &str) -> bool {
    ["error:", "warning:"].iter().any(|start| line.starts_with(start))
}

/// Whether a run ended otherwise than `coldstart` ends by itself: by a signal, or by a panic, which gives 101.
fn is_crash(code: Option<i32>) -> bool {
    !matches!(code, Some(0..=2))
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let survey = record.part("survey")?;
    let total = |name: &str| number(survey, &format!("/totals/{name}"));
    let (objects, bytes) = (total("objects")?, total("file_bytes")?);
    let exported = record.part("hyperfine")?;
    let [times] = hyperfine::times::<1>(exported)?;
    let per_gigabyte: Vec<f64> = times.iter().map(|seconds| seconds / (bytes / 1e9)).collect();
    let codes = hyperfine::exit_codes(exported)?;
    let crashes = codes.iter().filter(|code| is_crash(**code)).count();
    let complaints = number(record.part("complaints")?, "/count")?;
    let from_disk = number(record.part("read_from_disk")?, "")?;
    let count = |what, asked, value| Figure::new(what, Unit::Count, asked, Some(value));
    let mut ends = count("runs that crashed", Asked::AtMost(0.0), crashes as f64);
    ends.count = codes.len();
    Ok(vec![
        Figure::of_times("`coldstart inspect /usr/lib`, hot", Unit::Seconds, Asked::AtMost(SECONDS), &times),
        Figure::of_spread("the same: distance of the quartiles", &times),
        count("objects (the limit is meant for about 1,000)", Asked::Nothing, objects),
        Figure::new("size of them (the limit is meant for about 900 MB)", Unit::Megabytes, Asked::Nothing, Some(bytes)),
        Figure::new("time per GB of objects", Unit::Seconds, Asked::Nothing, median(&per_gigabyte)),
        ends,
        count("complaints on stderr", Asked::Nothing, complaints),
        Figure::new("read from disk in all runs together", Unit::Megabytes, Asked::Nothing, Some(from_disk)),
    ])
}

fn number(part: &Value, pointer: &str) -> Result<f64> {
    part.pointer(pointer).and_then(Value::as_f64).with_context(|| format!("the record has no number `{pointer}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    fn record(exit_codes: &Value) -> Record {
        let mut record = Record::begin(Benchmark::InspectUsrLib, "2025-01-02", 3).unwrap();
        record.add("survey", json!({"objects": 1742, "totals": {"objects": 1742, "file_bytes": 2_000_000_000_u64}}));
        record.add("complaints", json!({"count": 3, "first": ["error: a"], "exit_code": 2}));
        record.add("hyperfine", json!({"results": [{"times": [2.0, 3.0, 2.5], "exit_codes": exit_codes}]}));
        record.add("read_from_disk", json!(4096));
        record
    }

    #[test]
    fn time_stands_beside_what_was_inspected() {
        let figures = figures(&record(&json!([2, 2, 2]))).unwrap();
        let find = |what: &str| figures.iter().find(|figure| figure.what.starts_with(what)).unwrap();
        let time = find("`coldstart inspect /usr/lib`");
        assert_eq!((time.value, time.is_met()), (Some(2.5), Some(true)));
        assert_eq!(find("objects").value, Some(1742.0));
        assert_eq!(find("size").value, Some(2e9));
        assert_eq!(find("time per GB").value, Some(1.25));
        assert_eq!(find("complaints").value, Some(3.0));
        let crashed = find("runs that crashed");
        assert_eq!((crashed.value, crashed.count, crashed.is_met()), (Some(0.0), 3, Some(true)));
    }

    #[test]
    fn panics_and_signals_are_crashes() {
        let figures = figures(&record(&json!([0, 101, 139, null]))).unwrap();
        let crashed = figures.iter().find(|figure| figure.what.contains("crashed")).unwrap();
        assert_eq!((crashed.value, crashed.is_met()), (Some(3.0), Some(false)));
    }

    #[test]
    fn hints_are_no_complaints() {
        assert!(is_complaint("error: cannot read `a`: Input/output error (os error 5)"));
        assert!(!is_complaint("hint: try as root"));
    }
}
