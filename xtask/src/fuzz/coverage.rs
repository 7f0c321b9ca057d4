//! The lines of each parser that a target's corpus and seeds reach.
//!
//! cargo-fuzz builds the target with counters and runs the inputs; llvm-cov says how often each line ran, of the files that the
//! table of targets names. Code in generic functions counts as reached if one of its instances is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::corpus;
use super::fuzzer::Fuzzer;
use super::targets::Target;
use crate::cargo::workspace;
use crate::tools::run;

/// Of each file, its lines with code, and whether they ran.
type Lines = BTreeMap<String, BTreeMap<u32, bool>>;

/// Prints a table, and writes the lines that were not reached.
pub(super) fn show(fuzzer: &Fuzzer, targets: &[&Target]) -> Result<()> {
    let lists = fuzzer.scratch("uncovered");
    fs::create_dir_all(&lists)?;
    println!("\n| target | parser | lines reached | of | percent | not reached |");
    println!("|---|---|---:|---:|---:|---:|");
    for target in targets {
        let lines = measure(fuzzer, target)?;
        let all = || lines.values().flat_map(BTreeMap::values);
        let (count, reached) = (all().count(), all().filter(|ran| **ran).count());
        println!(
            "| {} | {} | {reached} | {count} | {:.1} | {} |",
            target.name,
            target.parsers.join(", "),
            100.0 * reached as f64 / count.max(1) as f64,
            count.saturating_sub(reached)
        );
        fs::write(lists.join(target.name), uncovered(&lines)?)?;
    }
    println!("\nThe lines that were not reached are listed in {}.", lists.display());
    Ok(())
}

fn measure(fuzzer: &Fuzzer, target: &Target) -> Result<Lines> {
    let llvm_cov = fuzzer.llvm_tool("llvm-cov")?;
    let mut command = fuzzer.cargo_fuzz("coverage", "counted");
    // The corpora are small: building takes longer than running.
    command.args(["--dev", "--sanitizer", "none"]);
    let corpus = corpus::directory(target);
    run(command.arg(target.name).arg(corpus).args(target.seeds()).stdout(std::process::Stdio::null()))?;
    let profile = workspace().join("fuzz/coverage").join(target.name).join("coverage.profdata");
    let mut export = std::process::Command::new(llvm_cov);
    export.args(["export", "-format=lcov"]).arg(format!("-instr-profile={}", profile.display()));
    export.arg(fuzzer.program(target, "counted", "debug")).arg("-sources");
    export.args(target.parsers.iter().map(|parser| workspace().join(parser)));
    let output = export.output().context("cannot start llvm-cov")?;
    ensure!(output.status.success(), "llvm-cov failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    let lines = lines(&String::from_utf8_lossy(&output.stdout));
    ensure!(!lines.is_empty(), "{} contains no line of {}", target.name, target.parsers.join(", "));
    Ok(lines)
}

/// From lcov's records: `SF:FILE`, and for each line `DA:LINE,COUNT`.
fn lines(records: &str) -> Lines {
    let mut files = Lines::new();
    let mut file = String::new();
    for record in records.lines() {
        if let Some(path) = record.strip_prefix("SF:") {
            path.clone_into(&mut file);
        } else if let Some((line, count)) = record.strip_prefix("DA:").and_then(|line| line.split_once(','))
            && let Ok(line) = line.parse()
        {
            *files.entry(file.clone()).or_default().entry(line).or_default() |= count != "0";
        }
    }
    files
}

/// A row for each file: `FILE: 12-14 20`.
fn uncovered(files: &Lines) -> Result<String> {
    let mut text = String::new();
    for (file, lines) in files {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        let mut before = false;
        for (&line, &ran) in lines {
            match ranges.last_mut().filter(|_| before && !ran) {
                Some(range) => range.1 = line,
                None if !ran => ranges.push((line, line)),
                None => {}
            }
            before = !ran;
        }
        if !ranges.is_empty() {
            let shown = ranges.iter().map(|(first, last)| match first == last {
                true => format!(" {first}"),
                false => format!(" {first}-{last}"),
            });
            writeln!(text, "{file}:{}", shown.collect::<String>())?;
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_did_not_run_are_listed_as_ranges() {
        let records = "SF:/w/a.rs\nFN:1,a\nDA:1,5\nDA:2,0\nDA:3,0\nDA:5,1\nDA:9,0\nend_of_record\nSF:/w/b.rs\nDA:7,1\nend_of_record\n";
        let files = lines(records);
        assert_eq!(files.values().flat_map(BTreeMap::values).filter(|ran| **ran).count(), 3);
        assert_eq!(uncovered(&files).unwrap(), "/w/a.rs: 2-3 9\n");
    }
}
