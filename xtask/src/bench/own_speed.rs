//! How fast the verbs are, beside an earlier build of them, by turns: so that a slower one is seen before it ships.
//!
//! The times of another day say little, because machines change; both builds run in the same minutes on the same files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use serde_json::{Value, json};

use super::figure::{Asked, Figure, Unit};
use super::measurement::{Measurement, State, Verdict};
use super::pack_files::empty_directory;
use super::record::Record;
use super::runner::words;
use super::workshop::{Workshop, text};
use crate::cargo::{cargo, target_directory, workspace};
use crate::tools::{Tool, run, tool};

pub(super) const TOOLS: &[Tool] = &[tool("clang", "clang"), tool("gdb", "gdb"), tool("git", "git")];
/// The earlier build, if the benchmark runs by its name and not by `--gate`.
const EARLIER: &str = "COLDSTART_EARLIER";
/// A verb may take this many times as long as before. Smaller differences are within what a changed layout of the code makes.
const AT_MOST: f64 = 1.05;
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1";

/// What is timed, with a directory `{}` that holds what the tasks before have left: a packed library, a trace and a plan.
const TASKS: [(&str, &[&str]); 10] = [
    ("--version", &["--version"]),
    ("resolve gdb", &["resolve", "/usr/bin/gdb"]),
    ("inspect libLLVM", &["inspect", LIBRARY]),
    ("pack libLLVM", &["pack", LIBRARY, "-o", "{}/packed.so"]),
    ("verify libLLVM", &["verify", "{}/packed.so", "--against", LIBRARY]),
    ("trace clang", &["trace", "-o", "{}/clang.coldtrace", "--", "clang", "--version"]),
    ("trace show", &["trace", "show", "{}/clang.coldtrace"]),
    ("view", &["view", "{}/clang.coldtrace", "-o", "{}/clang.html"]),
    ("prefetch show", &["prefetch", "show", "{}/true.prefetch"]),
    ("prefetch run true", &["prefetch", "run", "{}/true.prefetch", "--", "true"]),
];

/// The earlier build that the environment names.
pub(super) fn named_earlier() -> Option<PathBuf> {
    std::env::var_os(EARLIER).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// The `coldstart` that `--gate` names: a program, or one that is built from a revision, beside the others of its kind.
///
/// # Errors
/// There is neither such a program nor such a revision, or it cannot be built.
pub(super) fn earlier(named: &str) -> Result<PathBuf> {
    if Path::new(named).is_file() {
        return Ok(std::path::absolute(named)?);
    }
    let git = || {
        let mut git = Command::new("git");
        git.current_dir(workspace());
        git
    };
    let commit = git().args(["rev-parse", "--verify", "--quiet", &format!("{named}^{{commit}}")]).output()?;
    ensure!(commit.status.success(), "`{named}` is neither a program nor a revision of this repository");
    let commit = String::from_utf8(commit.stdout)?.trim().to_owned();
    let home = target_directory()?.join("earlier");
    let program = home.join(format!("coldstart-{commit}"));
    if program.exists() {
        return Ok(program);
    }
    fs::create_dir_all(&home)?;
    let tree = home.join("tree");
    let clean = || git().args(["worktree", "remove", "--force"]).arg(&tree).output();
    // One that a killed build has left.
    clean()?;
    run(git().args(["worktree", "add", "--quiet", "--force", "--detach"]).arg(&tree).arg(&commit))?;
    let target = home.join("built");
    let built = run(cargo()
        .current_dir(&tree)
        .env_remove("CARGO_BUILD_TARGET_DIR")
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--release", "--package=coldstart"]));
    clean()?;
    built.with_context(|| format!("building {named}"))?;
    fs::copy(target.join("release/coldstart"), &program)?;
    Ok(program)
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let Some(earlier) = &workshop.earlier else {
        bail!("an earlier build is needed\nhint: cargo xtask bench --gate REVISION, or {EARLIER}=PROGRAM")
    };
    let directory = empty_directory(workshop, "own-speed")?;
    workshop.runner.run(&workshop.coldstart([
        "prefetch",
        "record",
        "-o",
        &text(&directory.join("true.prefetch")),
        "--",
        "true",
    ]))?;
    let mut options = words(["--state", "hot", "--runs"]);
    options.push(record.runs.to_string());
    let mut tasks = Vec::new();
    for (name, task) in TASKS {
        let by = |program: &Path| -> Vec<String> {
            let arguments = task.iter().map(|word| word.replace("{}", &text(&directory)));
            std::iter::once(text(program)).chain(arguments).collect()
        };
        let measured = workshop.measure(&options, &[by(&workshop.coldstart)], &by(earlier))?;
        tasks.push(json!({ "name": name, "measured": measured }));
    }
    record.add("tasks", tasks.into());
    record.add("about", json!([format!("the earlier build is {}", name_of(earlier))]));
    fs::remove_dir_all(&directory)?;
    Ok(())
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, measured) in tasks(record)? {
        let summary = |command, what: &str| Figure {
            unit: Unit::Milliseconds,
            ..Figure::of_summary(format!("{name}: {what}"), Asked::Nothing, measured.summary(command, State::Hot))
        };
        let comparison = measured.comparison(1, State::Hot);
        let count = measured.summary(1, State::Hot).map_or(0, |summary| summary.counted as usize);
        let ratio = comparison.and_then(|comparison| comparison.estimate());
        figures.push(summary(0, "before"));
        figures.push(summary(1, "now"));
        figures.push(Figure::of_estimate(
            format!("{name}: now / before"),
            Unit::Times,
            Asked::AtMost(AT_MOST),
            ratio,
            count,
        ));
    }
    Ok(figures)
}

/// The name of a build: that of its file, which says its commit.
fn name_of(program: &Path) -> String {
    program.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The tasks that are shown to be slower than they may be.
///
/// # Errors
/// The record has another form than expected.
pub(super) fn slower(record: &Record) -> Result<Vec<String>> {
    let mut slower = Vec::new();
    for (name, measured) in tasks(record)? {
        let comparison = measured.comparison(1, State::Hot).with_context(|| format!("`{name}` was not compared"))?;
        let ratio = comparison.estimate().map(|estimate| estimate.value);
        if comparison.verdict == Verdict::Slower && ratio.is_some_and(|ratio| ratio > AT_MOST) {
            slower.push(name);
        }
    }
    Ok(slower)
}

fn tasks(record: &Record) -> Result<Vec<(String, Measurement)>> {
    let task = |task: &Value| {
        let name = task.get("name").and_then(Value::as_str).context("a task has no name")?;
        let measured = task.get("measured").with_context(|| format!("`{name}` was not measured"))?;
        Ok((name.to_owned(), Measurement::from_json(measured)?))
    };
    record.list("tasks")?.iter().map(task).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use crate::bench::measurement::tests::sample;

    fn record(earlier: &[f64], now: &[f64], verdict: &str) -> Record {
        let mut record = Record::begin(Benchmark::OwnSpeed, "2025-01-02", 3).unwrap();
        let mut measured = sample("hot", &[earlier, now]);
        let (before, after) = (earlier.iter().sum::<f64>(), now.iter().sum::<f64>());
        measured["comparisons"] = json!([{
            "command": 1, "state": "hot", "ratio": after / before, "verdict": verdict,
            "interval": { "low": after / before * 0.9, "high": after / before * 1.1, "confidence": 0.95 },
        }]);
        record.add("tasks", json!([{ "name": "view", "measured": measured }]));
        record
    }

    #[test]
    fn a_gate_finds_what_is_shown_to_be_slower_by_more_than_a_changed_layout_makes() {
        let slower_of = |now: &[f64], verdict| slower(&record(&[0.1, 0.1, 0.1], now, verdict)).unwrap();
        assert_eq!(slower_of(&[0.2, 0.2, 0.2], "slower"), ["view"]);
        assert!(slower_of(&[0.103, 0.103, 0.103], "slower").is_empty());
        assert!(slower_of(&[0.2, 0.1, 0.2], "not-shown").is_empty());
        assert!(slower_of(&[0.05, 0.05, 0.05], "faster").is_empty());
    }

    #[test]
    fn each_task_has_both_times_and_their_ratio() {
        let figures = figures(&record(&[0.1, 0.1, 0.1], &[0.2, 0.2, 0.2], "slower")).unwrap();
        assert_eq!(figures.len(), 3);
        assert_eq!(figures[2].is_met(), Some(false));
    }

    #[test]
    fn what_is_neither_a_program_nor_a_revision_is_said() {
        let error = earlier("no-such-revision-at-all").unwrap_err().to_string();
        assert!(error.contains("neither a program nor a revision"), "{error}");
    }
}
