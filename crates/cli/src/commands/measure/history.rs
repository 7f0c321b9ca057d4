//! `coldstart measure --history`: what was measured before, and how it went over time.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use anyhow::anyhow;
use coldstart_app::kinds;
use coldstart_app::writing::{try_out, write_file};
use coldstart_history::{History, KnownProgram, Search, Stored};
use coldstart_output::{Inputs, OutputPlace};
use coldstart_profile::measurement::path_to_text;
use serde::Serialize;

use super::date::minute;
use super::report::machine_line;
use super::report::verdict;
use super::store::{add_history, open_to_read, told};
use super::trend::{Point, Series, series};
use super::{export, page, picture};
use crate::args::measure::MeasureArgs;
use crate::error::{CliError, HintExt};
use crate::exit::Exit;
use crate::output::path::printable;
use crate::output::table::{Align, Table};
use crate::output::text::{cut, escaped};
use crate::output::time::{seconds, spread};
use crate::output::wrap::wrapped;
use crate::output::{self, json};

const SCHEMA: &str = "coldstart.measure-history/1";
/// Points of a sparkline, the newest.
const SPARKS: usize = 60;
/// Columns of a label in a table.
const LABEL: usize = 16;

pub(super) fn run(args: &MeasureArgs) -> Result<Exit, CliError> {
    let history = open_to_read(&args.keeping)?;
    let mut inputs = Inputs::default();
    add_history(&args.keeping, &mut inputs);
    let place =
        |path: &Path, kind| OutputPlace::new(path, kind, args.force.force).map(|at| at.not_over(inputs.clone()));
    let picture_place = args.keeping.svg.as_deref().map(|path| place(path, kinds::SVG)).transpose()?;
    let page_place = args.html.as_deref().map(|path| place(path, kinds::PAGE)).transpose()?;
    try_out(picture_place.iter().chain(&page_place))?;
    let wanted = wanted(args);
    let is_drawn = args.keeping.svg.is_some() || args.html.is_some();
    if wanted.is_empty() && !is_drawn && args.export.is_none() {
        list(&history, args.json)?;
        return Ok(Exit::Done);
    }
    let (stored, text) = find(&history, &wanted)?;
    let is_wanted = |line: &str, path: Option<&str>| line.contains(&text) || path == Some(text.as_str());
    let series = series(&stored, is_wanted);
    if let Some(place) = &picture_place {
        let picture = picture::svg(&text, &series);
        write_file(place, picture.as_bytes())?;
    }
    let found = Shown { programs: None, series: Some(&series) };
    if let Some(place) = &page_place {
        page::write_history(place, &text, SCHEMA, &found)?;
    }
    match args.export {
        Some(format) => output::print(&export::exported(format, &stored, is_wanted)?)?,
        None if args.json => json::print(SCHEMA, &found)?,
        None => output::print(&shown(&series))?,
    }
    Ok(Exit::Done)
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    programs: Option<Vec<Program>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<&'a [Series]>,
}

#[derive(Serialize)]
struct Program {
    command_line: String,
    program: Option<String>,
    measurements: u64,
    last_measured_at: i64,
}

/// What stands behind `--history`, or behind `--`.
fn wanted(args: &MeasureArgs) -> Vec<u8> {
    let words = args.keeping.history.iter().chain(&args.words).map(|word| word.as_bytes());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(&b' ')
}

/// The measurements that are meant, and the text by which they were found.
fn find(history: &History, wanted: &[u8]) -> Result<(Vec<Stored>, String), CliError> {
    let mut texts = vec![String::from_utf8_lossy(wanted).into_owned()];
    if let Ok(path) = fs::canonicalize(OsStr::from_bytes(wanted)) {
        // A relative path is not what was kept.
        texts.push(path_to_text(path.as_os_str().as_bytes()));
    }
    for text in texts {
        let found = told(history.search(&Search { program: Some(text.clone()), ..Search::default() }))?;
        if !found.is_empty() {
            return Ok((found, text));
        }
    }
    let name = escaped(&String::from_utf8_lossy(wanted));
    Err(anyhow!("no measurement of `{name}` is kept in `{}`", printable(history.path())))
        .hint(|| "`coldstart measure --history` lists the programs that were measured")
}

fn list(history: &History, as_json: bool) -> Result<(), CliError> {
    let programs = told(history.programs())?;
    if as_json {
        let program = |KnownProgram { command_line, program, measurements, last_measured_at }| Program {
            command_line,
            program,
            measurements,
            last_measured_at,
        };
        let programs = programs.into_iter().map(program).collect();
        return json::print(SCHEMA, &Shown { programs: Some(programs), series: None });
    }
    if programs.is_empty() {
        return output::print("no measurement is kept yet\n");
    }
    let mut table = Table::new(&[("measured", Align::Right), ("last (UTC)", Align::Left), ("command", Align::Left)]);
    for program in &programs {
        table.row(vec![program.measurements.to_string(), minute(program.last_measured_at), String::new()]);
    }
    let line = |row: usize| programs.get(row).map_or("", |program| program.command_line.as_str());
    table.fit_last_column(|row, room| cut(&escaped(line(row)), room));
    output::print(&table.render())
}

fn shown(all: &[Series]) -> String {
    if all.is_empty() {
        return "no run that was kept counts\n".to_owned();
    }
    let blocks: Vec<String> = all.iter().map(block).collect();
    let mut text = blocks.join("\n");
    if is_apart(all) {
        text.push('\n');
        text.push_str(&wrapped("Measurements on other machines or kernels, to another readiness, from another saved state or at a held frequency stand apart.", 0));
    }
    text
}

/// Whether one command in one state has more than one row.
pub(super) fn is_apart(all: &[Series]) -> bool {
    let key = |series: &Series| (series.command_line.clone(), series.state);
    all.iter().enumerate().any(|(index, series)| all.iter().skip(index + 1).any(|other| key(series) == key(other)))
}

/// What else was done to get to the state, to stand behind its name.
pub(super) fn condition(series: &Series) -> String {
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
        text.push_str(&format!("medians: {}\n", series.sparkline(SPARKS)));
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
