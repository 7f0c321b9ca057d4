//! `view-page`: how long the page of a start with a million events takes to make and to open, how large it is, how smoothly it pans.
//!
//! The million comes from a shell that starts thousands of small programs. A browser without a GPU draws, which is the slowest case.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::json;

use super::figure::{Asked, Figure, Unit};
use super::pack_files::empty_directory;
use super::record::Record;
use super::runner::{shown, words};
use super::trace::{compilation, conversion, number, numbers, recorded};
use super::workshop::{Workshop, text};

/// Seconds until the page is shown.
const OPENED: f64 = 2.0;
/// Frames a second while panning.
const FRAMES: f64 = 30.0;
/// Bytes of the page.
const BYTES: f64 = 15e6;
/// Programs that the shell starts: a few more than a million events.
const PROGRAMS: u32 = 7800;
const SHOWN: [(&str, &str); 3] = [("clang", "clang"), ("libreoffice", "LibreOffice"), ("many", "7,800 small programs")];

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    crate::web::prepare()?;
    let directory = empty_directory(workshop, "view-page")?;
    let many = format!("i=0; while [ $i -lt {PROGRAMS} ]; do /bin/true; i=$((i + 1)); done");
    let commands = [compilation(&directory)?, conversion(&directory)?, words(["/bin/sh", "-c", &many])];
    let script = text(&crate::cargo::workspace().join("bench/view/open.mjs"));
    for ((name, _), command) in SHOWN.iter().zip(commands) {
        let seen = recorded(workshop, &["--layers", "phases,pages", "--time-limit", "300"], &command)?;
        let events = number(workshop, &seen.file, "SELECT count(*) FROM event")?;
        let page = text(&directory.join(format!("{name}.html")));
        let view = workshop.coldstart(["view", &seen.file, "-o", &page]);
        let mut made = Vec::new();
        for _ in 0..record.runs {
            let said = workshop.runner.timed(&view)?;
            ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&view), said.status, said.stderr.trim());
            made.push(said.seconds);
        }
        let opened = workshop.runner.json(&words(["node", &script, &page, &record.runs.to_string()]), &[0])?;
        record
            .add(name, json!({ "events": events, "bytes": fs::metadata(&page)?.len(), "made": made, "page": opened }));
    }
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, what) in SHOWN {
        let part = record.part(name)?;
        let value = |key: &str| part.get(key).and_then(serde_json::Value::as_f64).with_context(|| format!("no {key}"));
        let page = part.get("page").context("no page")?;
        let asked = |asked: Asked| if name == "many" { asked } else { Asked::Nothing };
        figures.push(Figure::new(format!("{what}: events"), Unit::Count, Asked::Nothing, Some(value("events")?)));
        let bytes = value("bytes")?;
        figures.push(Figure::new(format!("{what}: page"), Unit::Megabytes, asked(Asked::AtMost(BYTES)), Some(bytes)));
        let times = |list: &serde_json::Value, key: &str, words: &str, limit: Asked| -> Result<Figure> {
            Ok(Figure::of_times(format!("{what}: {words}"), Unit::Seconds, limit, &numbers(list, key)?))
        };
        figures.push(times(part, "made", "`coldstart view`", Asked::Nothing)?);
        figures.push(times(page, "opened", "opened", asked(Asked::AtMost(OPENED)))?);
        let frames: Vec<f64> = numbers(page, "panned")?.iter().map(|frames| frames.round()).collect();
        let limit = asked(Asked::AtLeast(FRAMES));
        figures.push(Figure::of_times(format!("{what}: frames a second"), Unit::Count, limit, &frames));
        figures.push(times(page, "slowest", "slowest frame", Asked::Nothing)?);
    }
    Ok(figures)
}
