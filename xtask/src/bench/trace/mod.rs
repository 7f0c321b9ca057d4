//! What it costs to see a start (`coldstart trace`): pages and phases of real programs, first calls of functions, the trace file.
//!
//! The program's own time under the recorder is compared with its time alone, in alternating order. Not obvious: both are
//! taken in different ways. Alone it is timed from outside, from the making of its process to its end; under the recorder the trace
//! tells the time from its first `execve` to its end, which leaves out about a millisecond of the former. What the whole command
//! takes, with all that is done before and after, is shown beside it.

pub(super) mod file;
pub(super) mod functions;
pub(super) mod pages;

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use fs_err::{File, OpenOptions};
use serde_json::Value;

use super::runner::{shown, words};
use super::workshop::{Workshop, text};
use crate::tools::{Tool, tool};

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[
    tool("clang-14", "clang-14"),
    tool("g++", "g++"),
    tool("soffice", "libreoffice-writer-nogui"),
    tool("firefox-esr", "firefox-esr"),
    tool("llvm-objdump-14", "llvm-14"),
    tool("valgrind", "valgrind"),
    tool("gcc", "gcc"),
];

/// Seconds of the program's own start, and of the whole command, of one recording.
pub(super) struct Recorded {
    program: f64,
    whole: f64,
    lost: f64,
    /// Where the trace is.
    pub(super) file: String,
}

/// Records a start and asks the trace.
pub(super) fn recorded(workshop: &Workshop, arguments: &[&str], command: &[String]) -> Result<Recorded> {
    let file = text(&workshop.directory.join("trace.coldtrace"));
    let mut trace = workshop.coldstart(["trace", "--hide-output", "-o", &file]);
    trace.extend(arguments.iter().map(|&word| word.to_owned()));
    trace.push("--".to_owned());
    trace.extend_from_slice(command);
    let said = workshop.runner.timed(&trace)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&trace), said.status, said.stderr.trim());
    let program = number(workshop, &file, "SELECT ready_at FROM run")? / 1e9;
    let lost = number(workshop, &file, "SELECT lost_events FROM run")?;
    Ok(Recorded { program, whole: said.seconds, lost, file })
}

/// A question with one number for an answer.
pub(super) fn number(workshop: &Workshop, file: &str, question: &str) -> Result<f64> {
    let ask = workshop.coldstart(["trace", "sql", "--csv", file, question]);
    let said = workshop.runner.said(&ask)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&ask), said.status, said.stderr.trim());
    let line = said.stdout.lines().nth(1).with_context(|| format!("`{}` printed no row", shown(&ask)))?;
    line.trim().parse().with_context(|| format!("`{}` printed `{line}`", shown(&ask)))
}

/// Seconds of a program alone; what it prints is dropped.
fn alone(workshop: &Workshop, command: &[String]) -> Result<f64> {
    let said = workshop.runner.timed(command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(command), said.status, said.stderr.trim());
    Ok(said.seconds)
}

/// Keeps idle processors from sleeping until it is dropped, as the recorder does (root only). Who compares with the program alone would
/// otherwise not know what that changes.
fn processors_awake() -> Result<File> {
    let mut held = OpenOptions::new().write(true).open("/dev/cpu_dma_latency")?;
    held.write_all(&0i32.to_ne_bytes())?;
    Ok(held)
}

/// Numbers of a part of a record.
pub(super) fn numbers(part: &Value, name: &str) -> Result<Vec<f64>> {
    let list = part.get(name).and_then(Value::as_array).with_context(|| format!("no list `{name}`"))?;
    Ok(list.iter().filter_map(Value::as_f64).collect())
}

/// Pairs of two lists, in order.
fn pairs(times: &[f64], baseline: &[f64]) -> Vec<(f64, f64)> {
    times.iter().copied().zip(baseline.iter().copied()).collect()
}

/// clang, compiling a small program in a directory.
pub(super) fn compilation(directory: &Path) -> Result<Vec<String>> {
    let place = |name: &str| text(&directory.join(name));
    fs::write(directory.join("hello.c"), "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n")?;
    Ok(command(["clang-14", "-c", &place("hello.c"), "-o", &place("hello.o")]))
}

/// LibreOffice, converting a text in a directory, with a profile of its own.
pub(super) fn conversion(directory: &Path) -> Result<Vec<String>> {
    let place = |name: &str| text(&directory.join(name));
    fs::write(directory.join("text.txt"), "Words, and more words.\n".repeat(200))?;
    Ok(command([
        "soffice",
        &format!("-env:UserInstallation=file://{}", place("office")),
        "--headless",
        "--convert-to",
        "pdf",
        "--outdir",
        &place("out"),
        &place("text.txt"),
    ]))
}

/// A command from words.
fn command<const N: usize>(list: [&str; N]) -> Vec<String> {
    words(list)
}
