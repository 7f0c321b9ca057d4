//! `verify`: compares the bed's disk with its model.
//!
//! Three measurements on the block device under the mounted file system: random reads one at a time, random reads 32
//! at a time, and a buffered stream with the kernel's read-ahead.

use std::process::ExitCode;

use anyhow::{Context, Result};
use fs_err as fs;
use serde::Serialize;

use crate::args::Verify;
use crate::bed::State;
use crate::model::predict;

mod probe;

use probe::Probe;

/// A measured figure beside the expected one.
#[derive(Serialize)]
struct Line {
    what: &'static str,
    unit: &'static str,
    measured: f64,
    /// The model's own figure; none for this machine's own disk.
    model: Option<f64>,
    /// The accepted range, as parts of the model's figure.
    #[serde(skip)]
    tolerance: (f64, f64),
    agrees: Option<bool>,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: &'static str,
    kind: String,
    lines: &'a [Line],
}

pub(crate) fn run(arguments: &Verify) -> Result<ExitCode> {
    let home = arguments.which.home()?;
    let state = State::load(&home)?.context("nothing is up\nhint: coldstart-testbed up hdd")?;
    let device = state.device().context("the bed has no device\nhint: coldstart-testbed down, then up")?;
    let bytes = fs::metadata(&state.image)?.len();
    let expected = state.parameters.as_ref().map(|parameters| predict(parameters, bytes));
    let probe = Probe::new(device, &state, bytes)?;

    // A machine adds its own time to each read and never takes any away, so the range is wider below.
    let mut lines = vec![
        line("random 4 KiB, one at a time", "IOPS", probe.random(1)?, expected.map(|e| e.iops_depth_1), (0.85, 1.1)),
        line("random 4 KiB, 32 at a time", "IOPS", probe.random(32)?, expected.map(|e| e.iops_depth_32), (0.5, 1.1)),
        line("buffered stream, 1 MiB reads", "MB/s", probe.stream()?, expected.map(|e| e.sequential_mb), (0.85, 1.05)),
    ];
    for line in &mut lines {
        let (least, most) = line.tolerance;
        line.agrees = line.model.map(|model| (least..=most).contains(&(line.measured / model)));
    }
    if arguments.json {
        let report = Report { schema: "coldstart-testbed.verify/1", kind: state.kind.to_string(), lines: &lines };
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print(&lines);
    }
    let agree = lines.iter().all(|line| line.agrees != Some(false));
    Ok(if agree { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn line(what: &'static str, unit: &'static str, measured: f64, model: Option<f64>, tolerance: (f64, f64)) -> Line {
    Line { what, unit, measured, model, tolerance, agrees: None }
}

fn print(lines: &[Line]) {
    println!("{:30} {:>12} {:>12}", "", "measured", "model");
    for line in lines {
        let model = line.model.map_or("-".into(), |model| format!("{model:.0}"));
        let note = if line.agrees == Some(false) { "  differs" } else { "" };
        println!("{:30} {:>12.0} {:>12} {}{note}", line.what, line.measured, model, line.unit);
    }
}
