//! `trace-pages`: layers phases and pages of clang, LibreOffice and Firefox, hot, against the programs alone.

use anyhow::{Context, Result};
use fs_err as fs;
use serde_json::json;

use super::super::figure::{Asked, Figure, Unit};
use super::super::pack_files::empty_directory;
use super::super::record::Record;
use super::super::statistics::ratio_estimate;
use super::super::workshop::{Workshop, text};
use super::{alone, command, compilation, conversion, numbers, pairs, processors_awake, recorded};

/// Time of the program under the recorder, as a multiple of its time alone, that is allowed.
const ALLOWED: f64 = 1.1;

/// The programs, by the names of their parts in the record, and what they do.
const PROGRAMS: [(&str, &str); 4] = [
    ("clang", "clang++ compiling a file with <regex> and <iostream>"),
    ("clang-small", "clang compiling hello.c"),
    ("libreoffice", "soffice converting a text file to PDF"),
    ("firefox", "firefox taking a picture of a text file"),
];

fn commands(workshop: &Workshop) -> Result<Vec<Vec<String>>> {
    let directory = empty_directory(workshop, "trace-pages")?;
    let place = |name: &str| text(&directory.join(name));
    fs::write(
        directory.join("big.cc"),
        "#include <iostream>\n#include <regex>\nint main(int count, char **words) {\n  std::regex word(\"[a-z]+\");\n  \
         std::cout << std::regex_match(words[0], word) << count << \"\\n\";\n}\n",
    )?;
    fs::create_dir(directory.join("profile"))?;
    let url = format!("file://{}", place("text.txt"));
    Ok(vec![
        command(["clang++-14", "-std=c++17", "-c", &place("big.cc"), "-o", &place("big.o")]),
        compilation(&directory)?,
        conversion(&directory)?,
        command([
            "firefox-esr",
            "--headless",
            "--no-remote",
            "--profile",
            &place("profile"),
            "--screenshot",
            &place("picture.png"),
            &url,
        ]),
    ])
}

pub(in crate::bench) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    for ((name, _), command) in PROGRAMS.iter().zip(commands(workshop)?) {
        let (mut plain, mut awake, mut traced, mut whole) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut lost = 0.0;
        // The first starts make profiles and fill caches.
        for _ in 0..2 {
            alone(workshop, &command)?;
        }
        for run in 0..record.runs {
            let first = alone_if(run % 2 == 0, workshop, &command)?;
            let seen = recorded(workshop, &["--layers", "phases,pages"], &command)?;
            let second = alone_if(run % 2 == 1, workshop, &command)?;
            plain.extend(first.or(second));
            let held = processors_awake()?;
            awake.push(alone(workshop, &command)?);
            drop(held);
            traced.push(seen.program);
            whole.push(seen.whole);
            lost += seen.lost;
        }
        record.add(name, json!({ "alone": plain, "awake": awake, "traced": traced, "whole": whole, "lost": lost }));
    }
    Ok(())
}

fn alone_if(wanted: bool, workshop: &Workshop, command: &[String]) -> Result<Option<f64>> {
    if wanted { alone(workshop, command).map(Some) } else { Ok(None) }
}

pub(in crate::bench) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (name, what) in PROGRAMS {
        let part = record.part(name)?;
        let (plain, traced) = (numbers(part, "alone")?, numbers(part, "traced")?);
        let unit = Unit::Milliseconds;
        figures.push(Figure::of_times(format!("{what}, alone"), unit, Asked::Nothing, &plain));
        figures.push(Figure::of_times(format!("{what}, traced"), unit, Asked::Nothing, &traced));
        let whole = numbers(part, "whole")?;
        figures.push(Figure::of_times(format!("{what}, whole command"), unit, Asked::Nothing, &whole));
        let awake = pairs(&numbers(part, "awake")?, &plain);
        let ratio = format!("{what}, alone with processors awake / alone");
        figures.push(Figure::of_estimate(ratio, Unit::Times, Asked::Nothing, ratio_estimate(&awake), awake.len()));
        let both = pairs(&traced, &plain);
        let ratio = format!("{what}, traced / alone");
        // The small one is nearly all loading, where each page is touched for the first time: nobody asked for it.
        let asked = if name == "clang-small" { Asked::Nothing } else { Asked::AtMost(ALLOWED) };
        figures.push(Figure::of_estimate(ratio, Unit::Times, asked, ratio_estimate(&both), both.len()));
        let lost = part.get("lost").and_then(serde_json::Value::as_f64).context("no count of lost events")?;
        figures.push(Figure::new(format!("{what}, lost events"), Unit::Count, Asked::AtMost(0.0), Some(lost)));
    }
    Ok(figures)
}
