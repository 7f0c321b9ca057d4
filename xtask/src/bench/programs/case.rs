//! One program on one disk: its plans, and one measurement of all ways to start it.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::bed::Bed;
use super::super::runner::words;
use super::super::start::{COLDSTART, SMALL_LAUNCHER};
use super::super::workshop::Workshop;
use super::list::Started;

/// Seconds after which a start counts as failed.
const TIME_LIMIT: &str = "60";

/// The plans of a program, on the bed.
pub(in crate::bench) struct Plans {
    /// Of the pages that came into the cache, seen from inside.
    pub(in crate::bench) cached: String,
    /// Of the pages that were used.
    pub(in crate::bench) exact: String,
    /// What the two recordings said, and what the device was taken for.
    pub(in crate::bench) recorded: Value,
}

/// Measures a program; `runs` starts of each kind.
pub(super) fn measure(workshop: &Workshop, bed: &Bed<'_>, program: &Started, runs: u32) -> Result<Value> {
    warm_up(workshop, bed, program)?;
    let plans = record_plans(workshop, bed, program)?;
    let compare = [&plans.cached, &plans.exact].map(|plan| planned(bed, program, plan));
    let measurement = compare_starts(workshop, bed, program, runs, &compare)?;
    Ok(json!({"recorded": plans.recorded, "measurement": measurement}))
}

/// Starts a program once: the first start on this very disk does work that later ones do not.
///
/// # Errors
/// When it does not become ready.
pub(super) fn warm_up(workshop: &Workshop, bed: &Bed<'_>, program: &Started) -> Result<()> {
    let first = ready(program, words(["--state", "hot", "--runs", "1"]));
    let warmed = workshop.measure(&first, &[], &bed.inside(program.words))?;
    ensure!(!counted_nothing(&warmed), "it did not become ready");
    Ok(())
}

/// The plain start against others, cold and hot, in alternating order.
pub(super) fn compare_starts(
    workshop: &Workshop,
    bed: &Bed<'_>,
    program: &Started,
    runs: u32,
    compare: &[Vec<String>],
) -> Result<Value> {
    let mut arguments = ready(program, words(["--state", "cold", "--state", "hot", "--runs"]));
    arguments.insert(5, runs.to_string());
    workshop.measure(&arguments, compare, &bed.inside(program.words))
}

/// Records both plans of a program.
///
/// # Errors
/// When a recording fails.
pub(in crate::bench) fn record_plans(workshop: &Workshop, bed: &Bed<'_>, program: &Started) -> Result<Plans> {
    let cached = format!("/var/lib/{}.prefetch", program.name);
    let of_cached = record_plan(workshop, bed, program, &cached, &[])?;
    let (exact, of_exact) = record_exact(workshop, bed, program)?;
    let device = device_of(workshop, bed, &cached)?;
    bed.flush()?;
    Ok(Plans { cached, exact, recorded: json!({"cached": of_cached, "exact": of_exact, "device": device}) })
}

/// Records the plan of the used pages: its place on the bed, and what the recording said.
pub(super) fn record_exact(workshop: &Workshop, bed: &Bed<'_>, program: &Started) -> Result<(String, Value)> {
    let exact = format!("/var/lib/{}.exact.prefetch", program.name);
    let recorded = record_plan(workshop, bed, program, &exact, &["--exact"])?;
    Ok((exact, recorded))
}

fn record_plan(workshop: &Workshop, bed: &Bed<'_>, program: &Started, plan: &str, more: &[&str]) -> Result<Value> {
    let command = ["prefetch", "record", "--json", "--force", "--output", plan, "--ready", program.ready];
    let recording = bed.inside(&[&[COLDSTART], &command[..], more, &["--"], program.words].concat());
    workshop.runner.json(&recording, &[0]).with_context(|| format!("cannot record {plan}"))
}

/// What the recording of a plan took the device for.
pub(super) fn device_of(workshop: &Workshop, bed: &Bed<'_>, plan: &str) -> Result<Value> {
    let show = bed.inside(&[COLDSTART, "prefetch", "show", "--json", plan]);
    Ok(workshop.runner.json(&show, &[0, 1])?["device"].take())
}

/// The start with a plan or an image by the small launcher.
pub(in crate::bench) fn planned(bed: &Bed<'_>, program: &Started, plan: &str) -> Vec<String> {
    bed.inside(&[&[SMALL_LAUNCHER, plan, "--"], program.words].concat())
}

fn ready(program: &Started, mut arguments: Vec<String>) -> Vec<String> {
    arguments.extend(words(["--ready", program.ready, "--time-limit", TIME_LIMIT]));
    arguments
}

fn counted_nothing(measurement: &Value) -> bool {
    measurement["summaries"].as_array().is_none_or(|summaries| summaries.iter().all(|summary| summary["counted"] == 0))
}
