//! The accuracy of the readiness `window` and `page`: compared with a stopwatch in the program and in the page, and for pages
//! with the pixels of the screen as well.
//!
//! The stopwatches are the examples of crates/launch. They take some of the processor from what is timed, so these are no
//! figures of how fast anything starts.

use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::record::Record;
use super::statistics::{median, range};
use super::workshop::{Workshop, text};
use crate::cargo::{cargo, target_directory};
use crate::tools::{Tool, tool};

/// What must be installed.
pub(super) const TOOLS: &[Tool] =
    &[tool("Xvfb", "xvfb"), tool("firefox-esr", "firefox-esr"), tool("chromium", "chromium")];

/// Asked for, either way.
const SECONDS: f64 = 5e-3;
/// The parts of the record, and what they are.
const PARTS: [(&str, &str); 3] =
    [("window", "a program's window"), ("chromium", "a page in Chromium"), ("firefox", "a page in Firefox")];

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    crate::tools::run(cargo().args(["build", "--release", "--package=coldstart-launch", "--examples"]))?;
    let examples = target_directory()?.join("release/examples");
    let runs = record.runs.to_string();
    let window = text(&examples.join("window_precision"));
    let display = Display::start()?;
    let command = vec!["env".to_owned(), format!("DISPLAY={}", display.name), window, runs.clone()];
    record.add("window", last_line(&workshop.runner.said(&command)?.stdout)?);
    drop(display);
    for browser in ["chromium", "firefox"] {
        let command = vec![text(&examples.join("page_precision")), browser.to_owned(), runs.clone()];
        record.add(browser, last_line(&workshop.runner.said(&command)?.stdout)?);
    }
    record.add("about", json!("differences in milliseconds; positive: told later than the witness did"));
    Ok(())
}

fn last_line(output: &str) -> Result<Value> {
    let line = output.trim().lines().last().context("nothing was printed")?;
    serde_json::from_str(line).with_context(|| format!("no figures were printed, but: {line}"))
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (part, name) in PARTS {
        let part = record.part(part)?;
        let distances = |witness: &str| -> Vec<f64> {
            let list = part[witness].as_array().map_or(&[][..], Vec::as_slice);
            list.iter().filter_map(Value::as_f64).map(|milliseconds| milliseconds.abs() / 1e3).collect()
        };
        let own = distances("stopwatch");
        let row = |what: String, asked, value: Option<f64>, of: &[f64]| Figure {
            count: of.len(),
            range: range(of),
            ..Figure::new(what, Unit::Milliseconds, asked, value)
        };
        let asked = Asked::AtMost(SECONDS);
        figures.push(row(format!("{name}: from its own stopwatch, median"), asked, median(&own), &own));
        let most = own.iter().copied().max_by(f64::total_cmp);
        figures.push(row(format!("{name}: from its own stopwatch, at most"), asked, most, &own));
        let screen = distances("screen");
        if !screen.is_empty() {
            figures.push(row(format!("{name}: from the screen, median"), Asked::Nothing, median(&screen), &screen));
        }
    }
    Ok(figures)
}

/// An X server of our own, ended with this value.
struct Display {
    server: std::process::Child,
    name: String,
}

impl Display {
    fn start() -> Result<Self> {
        let mut server = std::process::Command::new("Xvfb")
            .args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", "1024x768x24"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start Xvfb\nhint: apt-get install xvfb")?;
        let mut number = String::new();
        if let Some(stdout) = server.stdout.take() {
            std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut number)?;
        }
        Ok(Self { server, name: format!(":{}", number.trim()) })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // It is ours, and there is nobody to tell.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn distances_count_either_way() {
        let mut record = Record::begin(Benchmark::Readiness, "2025-01-02", 3).unwrap();
        for (part, _) in PARTS {
            record.add(part, json!({"stopwatch": [-6.0, 1.0, 2.0], "screen": []}));
        }
        let figures = figures(&record).unwrap();
        assert_eq!(figures.len(), 6);
        assert_eq!((figures[0].value, figures[0].is_met()), (Some(2e-3), Some(true)));
        assert_eq!((figures[1].value, figures[1].is_met()), (Some(6e-3), Some(false)));
        assert!(last_line("warming up\n{\"a\": [1.0]}\n").is_ok() && last_line("not ready\n").is_err());
    }
}
