//! `order`: the pages of code that a start touches, linked plainly, with a list of `coldstart order functions`, and in a random order.
//!
//! A world is a program with a way to link it. Its start is traced stripped, as users have it; `coldstart order check` predicts pages and
//! counts them.
//!
//! Pages are counts: they hardly depend on what else the machine does.

pub(super) mod archives;
mod bolt;
mod debian;
mod generated;
pub(super) mod list;
mod rust;
pub(super) mod workloads;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::figure::{Asked, Figure, Unit};
use super::pack_files::{copy_flushed, empty_directory};
use super::record::Record;
use super::runner::{shown, words};
use super::workshop::{Workshop, text};
use crate::tools::{Tool, tool};
use generated::Generated;

/// What must be installed.
pub(super) const TOOLS: &[Tool] = &[
    tool("gcc", "gcc"),
    tool("/usr/include/stdio.h", "libc6-dev"),
    tool("ld.bfd", "binutils"),
    tool("ld.lld", "lld"),
    tool("strip", "binutils"),
    #[cfg(target_arch = "x86_64")]
    tool("llvm-bolt-19", "bolt-19"),
    #[cfg(target_arch = "x86_64")]
    tool(bolt::INSTRUMENTATION, "libbolt-19-dev"),
];

/// Part of the pages before that a start may touch afterwards.
const OF_BEFORE: f64 = 0.5;
/// How far the prediction may be off.
const PREDICTED_WITHIN: f64 = 0.05;
/// Multiple of the pages with BOLT's own order.
const OF_BOLT: f64 = 1.1;

/// What must be installed for the programs of others.
pub(super) const TOOLS_OF_PROGRAMS: &[Tool] = debian::TOOLS;

/// A program and the starts that are traced.
struct World<'a> {
    name: &'static str,
    directory: &'a Path,
    /// The start that the list is made of, and another one. `{}` stands for the build.
    start: Vec<String>,
    held_out: Vec<String>,
}

/// How a world is linked: in the linker's own order, or in that of a list, which [`Linking::list_options`] made.
trait Linking {
    /// Options of `coldstart order functions` for its linker.
    fn list_options(&self) -> Vec<String>;
    /// Links to `output`.
    fn link(&self, workshop: &Workshop, output: &Path, list: Option<&Path>) -> Result<()>;
}

/// What was found in a world.
#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    name: String,
    /// What `order functions --json` printed.
    list: Value,
    /// What `order check --json` printed.
    checked: Value,
    /// Pages with BOLT's own order, where it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bolt: Option<u64>,
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "order")?;
    let generated = Generated { functions: 3000, called: 300, repeats: 1 };
    let mut worlds = vec![
        rust::ripgrep(workshop, &directory.join("ripgrep")).context("ripgrep")?,
        rust::starship(workshop, &directory.join("starship")).context("starship")?,
        generated.by_gnu_ld(workshop, &directory.join("generated")).context("the generated program")?,
    ];
    if cfg!(target_arch = "x86_64") {
        worlds.push(bolt::measure(workshop, &directory.join("bolt"), &generated).context("BOLT")?);
    }
    record.add("worlds", serde_json::to_value(worlds)?);
    Ok(fs::remove_dir_all(&directory)?)
}

/// The same for a program in C by two linkers, and a library in C++.
pub(super) fn measure_programs(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "order")?;
    let worlds = [
        debian::vim(workshop, &directory.join("vim")).context("vim by lld")?,
        debian::vim_by_gnu_ld(workshop, &directory.join("vim-gnu")).context("vim by GNU ld")?,
        debian::exiv2(workshop, &directory.join("exiv2")).context("exiv2")?,
    ];
    record.add("worlds", serde_json::to_value(worlds)?);
    Ok(fs::remove_dir_all(&directory)?)
}

impl World<'_> {
    /// Links it three times, and checks the order.
    fn measure(&self, workshop: &Workshop, linking: &dyn Linking) -> Result<Measured> {
        let at = |name: &str| self.directory.join(name);
        let (before, stripped) = (at("before"), at("stripped"));
        linking.link(workshop, &before, None)?;
        workshop.runner.run(&words(["strip", "-o", &text(&stripped), &text(&before)]))?;
        let (start, held_out) = (at("start.coldtrace"), at("held-out.coldtrace"));
        traced_start(workshop, &stripped, &start, &self.start)?;
        traced_start(workshop, &stripped, &held_out, &self.held_out)?;
        let make = |name: &str, order: &str, options: &[String]| -> Result<(PathBuf, Value)> {
            let list = at(name);
            let mut command = workshop.coldstart(["order", "functions", &text(&start), "--symbols", &text(&before)]);
            command.extend(words(["--json", "--object", "stripped", "--order", order, "-o", &text(&list)]));
            command.extend_from_slice(options);
            Ok((list, workshop.runner.json(&command, &[0])?))
        };
        let options = linking.list_options();
        let (list, made) = make("list", "first-use", &options)?;
        let (random, _) = make("random", "random", &options)?;
        linking.link(workshop, &at("after"), Some(&list))?;
        linking.link(workshop, &at("control"), Some(&random))?;
        // Names, whatever the linker took.
        let (names, _) = make("names", "first-use", &words(["--for", "lld"]))?;
        let mut check = workshop.coldstart(["order", "check", "--json", &text(&names), "--trace", &text(&start)]);
        check.extend(words([
            "--held-out",
            &text(&held_out),
            "--before",
            &text(&before),
            "--after",
            &text(&at("after")),
        ]));
        check.extend(words(["--control", &text(&at("control")), "--"]));
        check.extend_from_slice(&self.start);
        let checked = workshop.runner.json(&check, &[0, 1])?;
        Ok(Measured { name: self.name.to_owned(), list: made, checked, bolt: None })
    }
}

/// Traces first calls of a build; `{}` in the command stands for it.
fn traced_start(workshop: &Workshop, build: &Path, trace: &Path, start: &[String]) -> Result<()> {
    let name = build.file_name().context("a build without a name")?.to_string_lossy();
    let mut command = workshop.coldstart(["trace", "--functions-of", &name, "--hide-output", "-o", &text(trace), "--"]);
    command.extend(start.iter().map(|word| word.replace("{}", &text(build))));
    let said = workshop.runner.said(&command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
    Ok(())
}

/// Runs a script of the shell in a directory.
fn run_in(workshop: &Workshop, directory: &Path, script: &str) -> Result<()> {
    let command = words(["env", "-C", &text(directory), "sh", "-ec", script]);
    let said = workshop.runner.said(&command)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&command), said.status, said.stderr.trim());
    Ok(())
}

/// The script that GNU ld has built in, for a link of these objects.
fn own_script(workshop: &Workshop, directory: &Path, objects: &[String]) -> Result<PathBuf> {
    let own = directory.join("own.ld");
    let mut ask = words(["gcc", "-fuse-ld=bfd", "-Wl,--verbose", "-o", &text(&directory.join("unused"))]);
    ask.extend_from_slice(objects);
    // Without objects the link fails, after the script was printed.
    let said = workshop.runner.said(&ask)?;
    ensure!(said.stdout.contains("SECTIONS"), "`{}` printed no script: {}", shown(&ask), said.stderr.trim());
    fs::write(&own, said.stdout)?;
    Ok(own)
}

/// An empty directory below that of the benchmark.
fn made(directory: &Path) -> Result<&Path> {
    fs::create_dir_all(directory)?;
    Ok(directory)
}

/// Copies a program that a build left somewhere, for it may be built anew there.
fn kept(built: &Path, output: &Path) -> Result<()> {
    copy_flushed(built, output)
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let worlds = Vec::<Measured>::deserialize(record.part("worlds")?).context("`worlds` holds no worlds")?;
    let mut figures = Vec::new();
    for world in &worlds {
        figures.extend(world.figures()?);
    }
    Ok(figures)
}

impl Measured {
    fn figures(&self) -> Result<Vec<Figure>> {
        let pages = |pointer: &str| {
            let found = self.checked.pointer(pointer).and_then(Value::as_f64);
            found.with_context(|| format!("the check of {} has no number at {pointer}", self.name))
        };
        let observed = |side: &str| pages(&format!("/observed/{side}"));
        let (before, after, control) = (observed("before")?, observed("after")?, observed("control")?);
        let (predicted, others) = (pages("/predicted/0/after")?, pages("/predicted/1/after")?);
        let figure =
            |what: &str, unit, asked, value| Figure::new(format!("{}: {what}", self.name), unit, asked, Some(value));
        let count = |what, value| figure(what, Unit::Count, Asked::Nothing, value);
        let off = Asked::Within(PREDICTED_WITHIN, "of the observed pages");
        let mut figures = vec![
            count("pages of code before", before),
            count("pages predicted", predicted),
            count("pages observed", after),
            count("pages with a random order", control),
            figure("pages / before", Unit::Times, Asked::AtMost(OF_BEFORE), after / before),
            figure("prediction, off by", Unit::Times, off, predicted / after - 1.0),
            figure("random order / before", Unit::Times, Asked::Nothing, control / before),
            figure(
                "another start, pages predicted / before",
                Unit::Times,
                Asked::Nothing,
                others / pages("/predicted/1/before")?,
            ),
        ];
        if let Some(bolt) = self.bolt {
            figures.push(count("pages with BOLT's own order", bolt as f64));
            figures.push(figure(
                "pages / with BOLT's own order",
                Unit::Times,
                Asked::AtMost(OF_BOLT),
                after / bolt as f64,
            ));
        }
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use serde_json::json;

    #[test]
    fn pages_are_judged_against_those_before_and_the_prediction() {
        let mut record = Record::begin(Benchmark::Order, "2025-01-02", 2).unwrap();
        let world = |after: u64, bolt: Option<u64>| {
            json!({"name": "a", "list": {}, "bolt": bolt, "checked": {
                "observed": {"before": 100, "after": after, "control": 98},
                "predicted": [{"before": 100, "after": 40}, {"before": 80, "after": 60}]}})
        };
        record.add("worlds", json!([world(41, Some(40)), world(60, None)]));
        let verdicts: Vec<_> = figures(&record).unwrap().iter().filter_map(Figure::is_met).collect();
        assert_eq!(verdicts, [true, true, true, false, false]);
    }
}
