//! `coldstart prefetch show`: what a plan reads, and what of it no longer holds.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use coldstart_app::reading::read;
use coldstart_prefetch::{TargetOutcome, check_targets};
use coldstart_profile::plan::{MOST_BYTES, PlanSummary, PlanView, Step, TargetKind};
use serde::Serialize;

use crate::args::prefetch::ShowArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::charset::either;
use crate::output::path::{JsonPath, fitted, printable};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

/// Reads a plan's file.
pub(crate) fn read_plan(path: &Path) -> Result<Vec<u8>, CliError> {
    read("the plan ", path, MOST_BYTES)
}

/// Checks a plan's bytes.
pub(crate) fn view_plan<'bytes>(path: &Path, bytes: &'bytes [u8]) -> Result<PlanView<'bytes>, CliError> {
    PlanView::read(bytes)
        .with_context(|| format!("cannot use `{}`", printable(path)))
        .hint(|| "record it again with `coldstart prefetch record -- PROGRAM`")
}

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let bytes = read_plan(&args.plan)?;
    let plan = view_plan(&args.plan, &bytes)?;
    let contents = PlanContents::gather(&plan);
    if args.json {
        json::print("coldstart.prefetch/1", &contents.to_json(&plan))?;
    } else {
        output::print(&describe(&plan, &contents))?;
        let table = if args.steps { steps_table(&plan) } else { files_table(&plan, &contents, args.limit) };
        output::print(&table)?;
        for (number, outcome) in &contents.stale {
            let path = plan.target(*number).map(|(path, _)| printable(path)).unwrap_or_default();
            output::complain(&output::style::NOTE, "stale", &format!("{path}: {}", stale_reason(*outcome)));
        }
    }
    Ok(if contents.stale.is_empty() { Exit::Done } else { Exit::No })
}

/// What a plan amounts to.
struct PlanContents {
    /// By target: pages and steps.
    files: HashMap<u32, (u64, u64)>,
    /// Targets with pages in order of their first step.
    order: Vec<u32>,
    names: u64,
    bytes: u64,
    stale: Vec<(u32, TargetOutcome)>,
    unreadable: u64,
}

impl PlanContents {
    fn gather(plan: &PlanView<'_>) -> Self {
        let mut contents =
            Self { files: HashMap::new(), order: Vec::new(), names: 0, bytes: 0, stale: Vec::new(), unreadable: 0 };
        for step in plan.steps() {
            let Some(pages) = step.pages else {
                contents.names += 1;
                continue;
            };
            contents.bytes += pages.length();
            let entry = contents.files.entry(step.target).or_insert_with(|| {
                contents.order.push(step.target);
                (0, 0)
            });
            *entry = (entry.0 + pages.count, entry.1 + 1);
        }
        for (number, outcome) in (0u32..).zip(check_targets(plan)) {
            match outcome {
                TargetOutcome::Changed { .. } | TargetOutcome::Missing => contents.stale.push((number, outcome)),
                TargetOutcome::Unreadable => contents.unreadable += 1,
                TargetOutcome::Current | TargetOutcome::NotChecked => {}
            }
        }
        contents
    }

    fn to_json(&self, plan: &PlanView<'_>) -> PlanJson {
        let summary = plan.summary();
        let file = |&number: &u32| {
            let (path, kind) = plan.target(number)?;
            let (pages, steps) = self.files.get(&number).copied()?;
            let stale =
                self.stale.iter().find(|(stale, _)| *stale == number).map(|(_, outcome)| stale_reason(*outcome));
            Some(FileJson { path: JsonPath::new(path), kind: kind_name(kind), pages, reads: steps, stale })
        };
        PlanJson {
            command: plan.command().iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            recorded_at: summary.recorded_at,
            strategy: if summary.is_blocking() { "blocking" } else { "concurrent" },
            threads: summary.threads,
            device: DeviceJson {
                latency_seconds: summary.device.latency.as_secs_f64(),
                bytes_per_second: summary.device.bandwidth,
                parallel: summary.device.parallel,
                seeks: summary.device.seeks,
            },
            bytes: self.bytes,
            reads: self.files.values().map(|(_, steps)| steps).sum(),
            names: self.names,
            recorded_start_seconds: summary.recorded_start.as_secs_f64(),
            hot_start_seconds: known(summary.hot_start),
            predicted_replay_seconds: summary.predicted_replay.as_secs_f64(),
            predicted_start_seconds: known(summary.predicted_start),
            files: self.order.iter().filter_map(file).collect(),
            stale_files: self.stale.len(),
            unreadable_files: self.unreadable,
        }
    }
}

#[derive(Serialize)]
struct PlanJson {
    command: Vec<String>,
    recorded_at: i64,
    strategy: &'static str,
    threads: u32,
    device: DeviceJson,
    bytes: u64,
    reads: u64,
    names: u64,
    recorded_start_seconds: f64,
    hot_start_seconds: Option<f64>,
    predicted_replay_seconds: f64,
    predicted_start_seconds: Option<f64>,
    files: Vec<FileJson>,
    stale_files: usize,
    unreadable_files: u64,
}

#[derive(Serialize)]
struct DeviceJson {
    latency_seconds: f64,
    bytes_per_second: u64,
    parallel: u32,
    seeks: bool,
}

#[derive(Serialize)]
struct FileJson {
    #[serde(flatten)]
    path: JsonPath,
    kind: &'static str,
    pages: u64,
    reads: u64,
    stale: Option<String>,
}

fn known(duration: Duration) -> Option<f64> {
    (!duration.is_zero()).then_some(duration.as_secs_f64())
}

fn kind_name(kind: TargetKind) -> &'static str {
    match kind {
        TargetKind::File(_) => "file",
        TargetKind::RewrittenFile(_) => "rewritten file",
        TargetKind::BlockDevice => "metadata",
        TargetKind::Name => "name",
        TargetKind::Directory => "directory",
    }
}

fn stale_reason(outcome: TargetOutcome) -> String {
    match outcome {
        TargetOutcome::Changed { now } => {
            format!("changed since it was recorded (now {}): not prefetched", size::bytes(now.size))
        }
        _ => "gone, or not a file of the kind that was recorded: not prefetched".to_owned(),
    }
}

/// The plan in a few lines.
fn describe(plan: &PlanView<'_>, contents: &PlanContents) -> String {
    let summary = plan.summary();
    let command: Vec<String> = plan.command().iter().map(|word| printable(Path::new(word))).collect();
    let reads: u64 = contents.files.values().map(|(_, steps)| steps).sum();
    let mut text = format!(
        "program     {}\nreads       {} in {} of {}, {}\nreplay      {}\ndevice      {}\n",
        command.join(" "),
        size::bytes(contents.bytes),
        plain(&counted(reads, "read")),
        plain(&counted(contents.files.len() as u64, "file")),
        plain(&counted(contents.names, "name")),
        strategy_line(&summary),
        device_line(&summary),
    );
    text.push_str(&format!("recorded    a start of {:.3} s", summary.recorded_start.as_secs_f64()));
    if !summary.hot_start.is_zero() {
        text.push_str(&format!("; {:.3} s hot", summary.hot_start.as_secs_f64()));
    }
    text.push_str(&format!("\npredicted   {:.3} s for the replay", summary.predicted_replay.as_secs_f64()));
    if !summary.predicted_start.is_zero() {
        text.push_str(&format!(", {:.3} s for a cold start with it", summary.predicted_start.as_secs_f64()));
    }
    text.push('\n');
    if contents.unreadable > 0 {
        text.push_str(&format!(
            "left out    {} that this user may not read\n",
            plain(&counted(contents.unreadable, "file"))
        ));
    }
    if !contents.stale.is_empty() {
        let stale = plain(&counted(contents.stale.len() as u64, "file"));
        text.push_str(&format!("STALE       {stale} changed or gone since; record again\n"));
    }
    text.push('\n');
    text
}

fn strategy_line(summary: &PlanSummary) -> String {
    let threads = plain(&counted(if summary.device.seeks { 1 } else { u64::from(summary.threads) }, "thread"));
    if summary.is_blocking() {
        format!("before the program starts, in order of place on the disk, {threads}")
    } else {
        format!("beside the program, in order of first use, {threads}")
    }
}

pub(super) fn device_line(summary: &PlanSummary) -> String {
    let device = &summary.device;
    format!(
        "{:.2} ms a read, {} MB/s, {} at once{}",
        device.latency.as_secs_f64() * 1e3,
        device.bandwidth / 1_000_000,
        plain(&counted(u64::from(device.parallel), "read")),
        if device.seeks { ", one head that seeks" } else { "" },
    )
}

fn files_table(plan: &PlanView<'_>, contents: &PlanContents, limit: usize) -> String {
    let mut table = Table::new(&[
        ("pages", Align::Right),
        ("size", Align::Right),
        ("reads", Align::Right),
        ("kind", Align::Left),
        ("file, in order of replay", Align::Left),
    ]);
    let limit = if limit == 0 { usize::MAX } else { limit };
    for number in contents.order.iter().take(limit) {
        let (Some((path, kind)), Some((pages, steps))) = (plan.target(*number), contents.files.get(number)) else {
            continue;
        };
        table.row(vec![
            size::grouped(*pages),
            size::bytes(pages * coldstart_profile::PAGE_SIZE),
            size::grouped(*steps),
            kind_name(kind).to_owned(),
            fitted(path, MAX_WIDTH - 46),
        ]);
    }
    let mut text = table.render();
    if contents.order.len() > limit {
        text.push_str(&format!(
            "{} and {} more files (--limit 0 lists all)\n",
            either("…", "..."),
            contents.order.len() - limit
        ));
    }
    text
}

fn steps_table(plan: &PlanView<'_>) -> String {
    let mut table = Table::new(&[
        ("window", Align::Right),
        ("first use", Align::Right),
        ("page", Align::Right),
        ("pages", Align::Right),
        ("disk offset", Align::Right),
        ("path", Align::Left),
    ]);
    for Step { target, window, pages, first_use, physical } in plan.steps() {
        let path = plan.target(target).map(|(path, _)| fitted(path, MAX_WIDTH - 56)).unwrap_or_default();
        table.row(vec![
            window.to_string(),
            format!("{:.3} ms", first_use.as_secs_f64() * 1e3),
            pages.map_or_else(|| "-".to_owned(), |pages| pages.start.0.to_string()),
            pages.map_or_else(|| "name".to_owned(), |pages| pages.count.to_string()),
            physical.map_or_else(|| "-".to_owned(), |physical| physical.to_string()),
            path,
        ]);
    }
    table.render()
}
