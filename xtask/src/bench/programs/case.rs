//! One program on one disk: two plans, and one measurement of three ways to start it.

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
    // The first start on this very disk does work that later ones do not.
    let first = ready(program, words(["--state", "hot", "--runs", "1"]));
    let warmed = workshop.measure(&first, &[], &bed.inside(program.words))?;
    ensure!(!counted_nothing(&warmed), "it did not become ready");
    let plans = record_plans(workshop, bed, program)?;
    let mut arguments = ready(program, words(["--state", "cold", "--state", "hot", "--runs"]));
    arguments.insert(5, runs.to_string());
    let compare = [&plans.cached, &plans.exact].map(|plan| planned(bed, program, plan));
    let measurement = workshop.measure(&arguments, &compare, &bed.inside(program.words))?;
    Ok(json!({"recorded": plans.recorded, "measurement": measurement}))
}

/// Records both plans of a program.
///
/// # Errors
/// When a recording fails.
pub(in crate::bench) fn record_plans(workshop: &Workshop, bed: &Bed<'_>, program: &Started) -> Result<Plans> {
    let cached = format!("/var/lib/{}.prefetch", program.name);
    let exact = format!("/var/lib/{}.exact.prefetch", program.name);
    let record = |plan: &str, more: &[&str]| {
        let command = ["prefetch", "record", "--json", "--force", "--output", plan, "--ready", program.ready];
        let recording = bed.inside(&[&[COLDSTART], &command[..], more, &["--"], program.words].concat());
        workshop.runner.json(&recording, &[0]).with_context(|| format!("cannot record {plan}"))
    };
    let recorded = json!({"cached": record(&cached, &[])?, "exact": record(&exact, &["--exact"])?});
    let show = bed.inside(&[COLDSTART, "prefetch", "show", "--json", &cached]);
    let device = workshop.runner.json(&show, &[0, 1])?["device"].take();
    let mut plans = Plans { cached, exact, recorded };
    plans.recorded["device"] = device;
    bed.flush()?;
    Ok(plans)
}

/// The start with a plan by the small launcher.
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
