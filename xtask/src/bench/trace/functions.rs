//! `trace-functions`: first calls in libLLVM of `llvm-objdump -d`, against the program alone, the traps alone, and valgrind.
//!
//! What a trap takes is measured with the smallest program and the smallest tracer that can be written: as many one-shot breakpoints as
//! functions were called, one after another.

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::json;

use super::super::figure::{Asked, Figure, Unit};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::runner::{shown, words};
use super::super::statistics::{median, ratio_estimate};
use super::super::workshop::{Workshop, text};
use super::{alone, command, number, numbers, pairs, processors_awake, recorded};

/// Multiple of the time alone that is allowed.
const OF_ALONE: f64 = 5.0;
/// Multiple of the traps' own time that it may take beyond the time alone.
const OF_TRAPS: f64 = 2.0;

/// Runs into breakpoints that its tracer takes away one by one; prints the seconds that took.
const TRAPS: &str = include_str!("traps.c");

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "trace-functions")?;
    let (source, traps) = (directory.join("traps.c"), directory.join("traps"));
    fs::write(&source, TRAPS)?;
    workshop.runner.run(&words(["gcc", "-O2", "-o", &text(&traps), &text(&source)]))?;
    let program = command(["llvm-objdump-14", "-d", "/usr/bin/true"]);
    alone(workshop, &program)?;
    let layers = ["--layers", "phases,pages,functions", "--functions-of", "libLLVM-14.so.1"];
    let (mut plain, mut second, mut bare, mut calls, mut valgrind) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in 0..record.runs {
        plain.push(alone(workshop, &program)?);
        let seen = recorded(workshop, &layers, &program)?;
        let called = number(workshop, &seen.file, "SELECT count(*) FROM functions")?;
        second.push(second_start(workshop, &seen.file)?);
        calls.push(called);
        // As the recorder does: traps alone must have the same.
        let held = processors_awake()?;
        let told = workshop.runner.said(&words([&text(&traps), &format!("{called:.0}")]))?;
        drop(held);
        ensure!(told.status.success(), "the traps alone ended with {}", told.status);
        bare.push(told.stdout.trim().parse::<f64>().context("the traps alone printed no number")?);
        if run < 3 {
            let mut under = words(["valgrind", "--tool=none", "-q"]);
            under.extend(program.iter().cloned());
            valgrind.push(alone(workshop, &under)?);
        }
    }
    record
        .add("times", json!({ "alone": plain, "second": second, "traps": bare, "calls": calls, "valgrind": valgrind }));
    Ok(())
}

/// Seconds of the start with breakpoints, from the trace's notes.
fn second_start(workshop: &Workshop, file: &str) -> Result<f64> {
    let ask = workshop.coldstart(["trace", "show", "--processes", file]);
    let said = workshop.runner.said(&ask)?;
    let printed = said.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = printed.split_once("in a second start of ").and_then(|(_, rest)| rest.split_once(" ms"));
    let told = told.with_context(|| format!("`{}` tells no time of a second start", shown(&ask)))?;
    Ok(told.0.parse::<f64>()? / 1e3)
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let part = record.part("times")?;
    let list = |name: &str| numbers(part, name);
    let (plain, second, bare, calls) = (list("alone")?, list("second")?, list("traps")?, list("calls")?);
    let valgrind = list("valgrind")?;
    let unit = Unit::Milliseconds;
    let what = "llvm-objdump -d, first calls in libLLVM";
    let beyond: Vec<(f64, f64)> =
        second.iter().zip(&plain).zip(&bare).map(|((second, plain), bare)| (second - plain, *bare)).collect();
    Ok(vec![
        Figure::of_times("llvm-objdump -d, alone", unit, Asked::Nothing, &plain),
        Figure::of_times(format!("{what}: the start with breakpoints"), unit, Asked::Nothing, &second),
        Figure::new(format!("{what}: functions called"), Unit::Count, Asked::Nothing, median(&calls)),
        Figure::of_estimate(
            format!("{what}, with breakpoints / alone"),
            Unit::Times,
            Asked::AtMost(OF_ALONE),
            ratio_estimate(&pairs(&second, &plain)),
            plain.len(),
        ),
        Figure::of_times("as many traps, the smallest tracer, processors awake", unit, Asked::Nothing, &bare),
        Figure::of_estimate(
            format!("{what}, time beyond alone / traps"),
            Unit::Times,
            Asked::AtMost(OF_TRAPS),
            ratio_estimate(&beyond),
            beyond.len(),
        ),
        Figure::of_times("llvm-objdump -d under valgrind --tool=none", unit, Asked::Nothing, &valgrind),
        Figure::of_estimate(
            "valgrind --tool=none / alone",
            Unit::Times,
            Asked::Nothing,
            ratio_estimate(&pairs(&valgrind, &plain)),
            valgrind.len(),
        ),
    ])
}
