//! `order-list`: how long a list from a trace with 4,000 calls takes, and how many instructions, which do not depend on what else the machine does.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::Deserialize;
use serde_json::Value;

use super::super::figure::{Asked, Figure, Unit};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::{shown, words};
use super::super::workshop::{Workshop, text};
use super::generated::Generated;
use super::{made, traced_start};
use crate::tools::{Tool, tool};

/// What must be installed.
pub(in crate::bench) const TOOLS: &[Tool] =
    &[tool("gcc", "gcc"), tool("ld.lld", "lld"), tool("strip", "binutils"), tool("valgrind", "valgrind")];

/// Functions of the program, those that a start calls, and seconds that their list may take.
const FUNCTIONS: usize = 10_000;
const CALLS: usize = 4000;
const WITHIN: f64 = 0.3;

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "order")?;
    let generated = Generated { functions: FUNCTIONS, called: CALLS, repeats: 1 };
    let objects = generated.objects(workshop, made(&directory)?)?;
    let program = directory.join("program");
    let mut link = words(["gcc", "-fuse-ld=lld", "-Wl,--build-id=sha1", "-o", &text(&program)]);
    link.extend_from_slice(&objects);
    workshop.runner.run(&link)?;
    let (stripped, trace) = (directory.join("stripped"), directory.join("start.coldtrace"));
    workshop.runner.run(&words(["strip", "-o", &text(&stripped), &text(&program)]))?;
    traced_start(workshop, &stripped, &trace, &words(["{}"]))?;
    let list = text(&directory.join("list"));
    let mut command = workshop.coldstart(["order", "functions", &text(&trace), "--for", "lld", "--json", "-o", &list]);
    command.extend(words(["--symbols", &text(&program)]));
    let mut times = Vec::new();
    for _ in 0..record.runs {
        let said = workshop.runner.timed(&command)?;
        ensure!(said.status.success(), "`{}`: {}", shown(&command), said.stderr.trim());
        let made: Value = serde_json::from_str(&said.stdout)?;
        let functions = made.get("functions").and_then(Value::as_u64).unwrap_or_default();
        ensure!(functions as usize >= CALLS, "only {functions} functions are in the list");
        times.push(said.seconds);
    }
    record.add("times", serde_json::to_value(times)?);
    let mut counted = words(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    counted.extend(command);
    let said = workshop.runner.said(&counted)?;
    let instructions =
        said.stderr.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse::<u64>().ok());
    record.add("instructions", instructions.context("valgrind told no number of instructions")?.into());
    Ok(fs::remove_dir_all(&directory)?)
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let times = Vec::<f64>::deserialize(record.part("times")?).context("`times` holds no times")?;
    let instructions = record.part("instructions")?.as_f64();
    let what = format!("list from a start with {CALLS} calls");
    Ok(vec![
        Figure::of_times(what.clone(), Unit::Milliseconds, Asked::AtMost(WITHIN), &times),
        Figure::new(format!("{what}, instructions"), Unit::Count, Asked::Nothing, instructions),
    ])
}
