//! `trace-file`: how large trace files are, and how long a million events take to show.
//!
//! The million comes from a shell that starts thousands of small programs.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::json;

use super::super::figure::{Asked, Figure, Unit};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::shown;
use super::super::workshop::Workshop;
use super::{command, compilation, conversion, number, numbers, recorded};

/// Bytes of file for each event.
const BYTES: f64 = 40.0;
/// Seconds for `trace show` of a million events.
const SECONDS: f64 = 1.0;
/// Programs that the shell starts.
const PROGRAMS: u32 = 5000;

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "trace-file")?;
    let many = format!("i=0; while [ $i -lt {PROGRAMS} ]; do /bin/true; i=$((i + 1)); done");
    let traces = [
        ("clang", compilation(&directory)?),
        ("libreoffice", conversion(&directory)?),
        ("many", command(["/bin/sh", "-c", &many])),
    ];
    for (name, command) in traces {
        let seen = recorded(workshop, &["--layers", "phases,pages", "--time-limit", "300"], &command)?;
        let events = number(workshop, &seen.file, "SELECT count(*) FROM event")?;
        let bytes = fs::metadata(&seen.file)?.len();
        let mut shown_in = Vec::new();
        for _ in 0..record.runs {
            let show = workshop.coldstart(["trace", "show", &seen.file]);
            let said = workshop.runner.timed(&show)?;
            ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&show), said.status, said.stderr.trim());
            shown_in.push(said.seconds);
        }
        record.add(name, json!({ "events": events, "bytes": bytes, "show": shown_in }));
    }
    Ok(())
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, what) in [("clang", "clang"), ("libreoffice", "LibreOffice"), ("many", "5,000 small programs")] {
        let part = record.part(name)?;
        let value = |key: &str| part.get(key).and_then(serde_json::Value::as_f64).with_context(|| format!("no {key}"));
        let events = value("events")?;
        figures.push(Figure::new(format!("{what}: events"), Unit::Count, Asked::Nothing, Some(events)));
        let each = value("bytes")? / events.max(1.0);
        let bytes = format!("{what}: bytes of file for each event");
        figures.push(Figure::new(bytes, Unit::Count, Asked::AtMost(BYTES), Some((each * 10.0).round() / 10.0)));
        let shown = numbers(part, "show")?;
        let asked = if name == "many" { Asked::AtMost(SECONDS) } else { Asked::Nothing };
        figures.push(Figure::of_times(format!("{what}: `trace show`"), Unit::Seconds, asked, &shown));
    }
    Ok(figures)
}
