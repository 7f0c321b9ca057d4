//! `coldstart prefetch show`: the contents of a plan, and its stale targets.

use std::path::Path;

use coldstart_app::prefetch::{PlanContents, kind_name, read_plan, stale_reason, view_plan};
use coldstart_profile::plan::{PlanSummary, PlanView, Step};

use crate::args::prefetch::ShowArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::charset::either;
use crate::output::path::{fitted, printable};
use crate::output::table::{Align, MAX_WIDTH, Table};
use crate::output::text::{counted, plain};
use crate::output::{self, json, size};

pub(super) fn run(args: &ShowArgs) -> Result<Exit, CliError> {
    let bytes = read_plan(&args.plan)?;
    let plan = view_plan(&args.plan, &bytes)?;
    let contents = PlanContents::gather(&plan);
    if args.json {
        json::print("coldstart.prefetch/1", &contents.outcome(&plan))?;
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
            "left out    {} not readable by this user\n",
            plain(&counted(contents.unreadable, "file"))
        ));
    }
    if !contents.stale.is_empty() {
        let stale = plain(&counted(contents.stale.len() as u64, "file"));
        text.push_str(&format!("STALE       {stale} changed or missing since; record again\n"));
    }
    text.push('\n');
    text
}

fn strategy_line(summary: &PlanSummary) -> String {
    let threads = plain(&counted(if summary.device.seeks { 1 } else { u64::from(summary.threads) }, "thread"));
    if summary.is_blocking() {
        format!("before the program starts, in disk order, {threads}")
    } else {
        format!("in parallel with the program, in order of first use, {threads}")
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
