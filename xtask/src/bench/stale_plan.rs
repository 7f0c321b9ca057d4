//! What a stale plan costs a start: all files that it names have changed since, as after an upgrade of everything.

use anyhow::{Result, ensure};
use fs_err as fs;
use serde_json::Value;

use super::figure::Figure;
use super::hyperfine;
use super::launcher_hot::cost;
use super::record::Record;
use super::runner::words;
use super::workshop::{Workshop, text};

/// Files of the plan: as many as a large program opens.
const FILES: u32 = 400;
/// As for the other rounds of `true`: several short ones tell more than a long one.
const ROUNDS: u32 = 5;
const PART: &str = "stale_rounds";

/// The ways of starting, the first without a plan.
const NAMES: [&str; 3] = ["exec", "`coldstart prefetch run`", "`coldstart-run`"];

pub(super) fn measure(workshop: &Workshop, record: &mut Record, runs: u32) -> Result<()> {
    let directory = workshop.directory.join("stale");
    fs::create_dir_all(&directory)?;
    let files: Vec<_> = (0..FILES).map(|number| directory.join(number.to_string())).collect();
    for file in &files {
        fs::write(file, vec![b'x'; 40_000])?;
    }
    let plan = text(&workshop.directory.join("stale.prefetch"));
    let mut recording = workshop.coldstart(["prefetch", "record", "--json", "--output", &plan, "--", "cat"]);
    recording.extend(files.iter().map(|file| text(file)));
    record.add("stale_recording", workshop.runner.json(&recording, &[0])?);
    for file in &files {
        fs::write(file, "changed")?;
    }
    let shown = workshop.runner.json(&workshop.coldstart(["prefetch", "show", "--json", &plan]), &[0, 1])?;
    let stale = shown.to_string().matches("changed since the recording").count();
    ensure!(stale >= FILES as usize, "{stale} of {FILES} files of the plan are stale");
    let commands = [
        words(["true"]),
        workshop.coldstart(["prefetch", "run", &plan, "--", "true"]),
        words([&text(&workshop.small_launcher), &plan, "--", "true"]),
    ];
    let rounds: Result<Vec<_>> = (0..ROUNDS).map(|_| workshop.hyperfine(runs, 10, &commands)).collect();
    record.add(PART, rounds?.into());
    fs::remove_dir_all(&directory)?;
    Ok(())
}

/// None for records of earlier days, which have no such part.
pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let Ok(rounds) = record.list(PART) else { return Ok(Vec::new()) };
    figures_of(rounds)
}

fn figures_of(rounds: &[Value]) -> Result<Vec<Figure>> {
    let rounds: Vec<[Vec<f64>; 3]> = rounds.iter().map(hyperfine::times).collect::<Result<_>>()?;
    let what = |name| format!("`true`, stale plan over exec, by {name}, means by round");
    Ok(NAMES.iter().enumerate().skip(1).map(|(command, name)| cost(what(name), &rounds, command)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::benchmark::Benchmark;
    use serde_json::json;

    #[test]
    fn the_cost_is_what_a_stale_plan_adds_to_the_bare_start() {
        let mut record = Record::begin(Benchmark::LauncherHot, "2025-01-02", 2).unwrap();
        assert!(figures(&record).unwrap().is_empty(), "an earlier record");
        let times = [[0.0005, 0.0005], [0.0020, 0.0022], [0.0010, 0.0010]];
        let round = json!({"results": times.map(|times| json!({"times": times}))});
        record.add(PART, json!([round, round]));
        let figures = figures(&record).unwrap();
        let value = |what: &str| figures.iter().find(|figure| figure.what.contains(what)).unwrap().value.unwrap();
        assert!((value("prefetch run") - 0.0016).abs() < 1e-9 && (value("coldstart-run") - 0.0005).abs() < 1e-9);
        assert_eq!(figures.iter().map(Figure::is_met).collect::<Vec<_>>(), [Some(false), Some(true)]);
    }
}
