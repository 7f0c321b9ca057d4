//! `coldstart measure --history`: the measured programs, and their times over time.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_app::kinds;
use coldstart_app::measure::history::{HistoryOutcome, SCHEMA, find, open, programs};
use coldstart_app::writing::{try_out, write_file};
use coldstart_output::{Inputs, OutputTarget};
use coldstart_profile::measurement::{Point, Series, is_apart};
use coldstart_view::dates::minute;
use coldstart_view::trend;

use super::report::{machine_line, verdict};
use super::{export, keeping, page};
use crate::args::measure::MeasureArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::charset::either;
use crate::output::table::{Align, Table};
use crate::output::text::{cut, escaped};
use crate::output::time::{seconds, spread};
use crate::output::wrap::wrapped;
use crate::output::{self, json};

/// Maximum number of points in a sparkline, the newest ones.
const SPARKS: usize = 60;
/// Columns of a label in a table.
const LABEL: usize = 16;

pub(super) fn run(args: &MeasureArgs) -> Result<Exit, CliError> {
    let keeping = keeping(&args.keeping);
    let history = open(&keeping)?;
    let mut inputs = Inputs::default();
    keeping.add_to(&mut inputs);
    let place =
        |path: &Path, kind| OutputTarget::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let picture_place = args.keeping.svg.as_deref().map(|path| place(path, kinds::SVG)).transpose()?;
    let page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    try_out(picture_place.iter().chain(&page_place))?;
    let wanted = wanted(args);
    let is_drawn = args.keeping.svg.is_some() || args.html.is_some();
    if wanted.is_empty() && !is_drawn && args.export.is_none() {
        let listed = programs(&history)?;
        if args.json {
            json::print(SCHEMA, &listed)?
        } else {
            output::print(&list(&listed))?
        };
        return Ok(Exit::Done);
    }
    let found = find(&history, &wanted)?;
    let outcome = found.outcome();
    let series = outcome.series.as_deref().unwrap_or_default();
    if let Some(place) = &picture_place {
        write_file(place, trend::svg(&found.text, series).as_bytes())?;
    }
    if let Some(place) = &page_place {
        page::write_history(place, &found.text, &outcome)?;
    }
    match args.export {
        Some(format) => {
            let is_wanted = |kept: &_, command| found.is_wanted(kept, command);
            output::print(&export::exported(format, &found.measurements(), is_wanted)?)?;
        }
        None if args.json => json::print(SCHEMA, &outcome)?,
        None => output::print(&shown(series))?,
    }
    Ok(Exit::Done)
}

/// The argument of `--history`, or the command after `--`.
fn wanted(args: &MeasureArgs) -> Vec<u8> {
    let words = args.keeping.history.iter().chain(&args.words).map(|word| word.as_bytes());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

fn list(outcome: &HistoryOutcome) -> String {
    let programs = outcome.programs.as_deref().unwrap_or_default();
    if programs.is_empty() {
        return "no measurements yet\n".to_owned();
    }
    let mut table = Table::new(&[("measured", Align::Right), ("last (UTC)", Align::Left), ("command", Align::Left)]);
    for program in programs {
        table.row(vec![program.measurements.to_string(), minute(program.last_measured_at), String::new()]);
    }
    let line = |row: usize| programs.get(row).map_or("", |program| program.command_line.as_str());
    table.fit_last_column(|row, room| cut(&escaped(line(row)), room));
    table.render()
}

fn shown(all: &[Series]) -> String {
    if all.is_empty() {
        return "no valid runs\n".to_owned();
    }
    let blocks: Vec<String> = all.iter().map(block).collect();
    let mut text = blocks.join("\n");
    if is_apart(all) {
        text.push('\n');
        text.push_str(&wrapped(
            "Measurements are separate by machine, kernel, readiness, saved state and fixed frequency.",
            0,
        ));
    }
    text
}

/// Text after a state's name.
fn condition(series: &Series) -> String {
    if series.condition.is_empty() { String::new() } else { format!(", {}", series.condition) }
}

fn block(series: &Series) -> String {
    let ready = if series.readiness == "exit" { String::new() } else { format!(", ready at {}", series.readiness) };
    let mut text =
        wrapped(&escaped(&format!("{}, {}{ready}{}", series.command_line, series.state, condition(series))), 0);
    text.push_str(&machine_line(&series.machine));
    let mut table = Table::new(&[
        ("", Align::Right),
        ("date (UTC)", Align::Left),
        ("label", Align::Left),
        ("program", Align::Left),
        ("runs", Align::Right),
        ("median", Align::Right),
        ("mean", Align::Right),
        ("95 %", Align::Left),
        ("change", Align::Right),
        ("", Align::Left),
    ]);
    for point in &series.points {
        table.row(row(point));
    }
    text.push_str(&table.render());
    if series.points.len() > 1 {
        text.push_str(&format!("medians: {}\n", sparkline(&series.points, SPARKS)));
    }
    text
}

fn row(point: &Point) -> Vec<String> {
    let half = point.interval.map(|interval| spread((interval.high - interval.low) / 2.0, point.mean));
    let change = point.change.as_ref();
    vec![
        format!("#{}", point.number),
        minute(point.measured_at),
        point.label.as_deref().map_or_else(String::new, |label| cut(&escaped(label), LABEL)),
        point.program.clone().unwrap_or_default(),
        point.runs.to_string(),
        seconds(point.median),
        seconds(point.mean),
        half.unwrap_or_default(),
        change.map_or_else(String::new, |change| format!("{:+.1} %", (change.ratio - 1.0) * 100.0)),
        change.map_or("", |change| verdict(change.verdict)).to_owned(),
    ]
}

/// The medians as a line of blocks, the smallest lowest.
fn sparkline(points: &[Point], most: usize) -> String {
    let blocks = either(['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'], ['_', '.', ':', '-', '=', '+', '*', '#']);
    let points = points.get(points.len().saturating_sub(most)..).unwrap_or_default();
    let medians: Vec<f64> = points.iter().map(|point| point.median).collect();
    let least = medians.iter().copied().fold(f64::INFINITY, f64::min);
    let most = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let block = |median: &f64| {
        // Small changes are not magnified: the full height is at least a tenth of the median.
        let height = (median - least) / (most - least).max(least * 0.1);
        blocks.get((height * 7.0).round() as usize).copied().unwrap_or(blocks[0])
    };
    medians.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(medians: &[f64]) -> Vec<Point> {
        let point = |median: &f64| Point {
            number: 1,
            measured_at: 0,
            label: None,
            program: None,
            is_other_program: false,
            runs: 4,
            median: *median,
            mean: *median,
            interval: None,
            change: None,
        };
        medians.iter().map(point).collect()
    }

    #[test]
    fn the_newest_medians_are_drawn() {
        assert_eq!(sparkline(&points(&[1.0, 5.0, 5.0]), 9), "▁██");
        assert_eq!(sparkline(&points(&[1.0, 5.0, 5.0]), 1), "▁");
    }

    #[test]
    fn small_changes_look_small() {
        assert_eq!(sparkline(&points(&[1.0, 1.01]), 9), "▁▂");
    }
}
