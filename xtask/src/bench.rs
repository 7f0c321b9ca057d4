//! `bench`: side-by-side benchmarks on reproducible slow disks, with recorded results.
//!
//! A benchmark only collects: the tools' output goes into a [`Record`] unchanged. Figures and verdicts are
//! computed from records by pure functions, so `--summary` can rebuild the tables without a single start.
//!
//! Not obvious: the programs under test are copies in `target/bench/bin`. A build that goes on beside a
//! series of an hour then does not change what is measured half-way.

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::cargo;
use crate::tools::install_missing;

mod bed;
mod benchmark;
mod container;
mod figure;
mod gate;
mod hyperfine;
mod index;
mod inspect_chromium;
mod inspect_usr_lib;
mod interrupt;
mod launcher_hot;
mod measurement;
mod memory;
mod notes;
mod order;
mod own_speed;
mod pack_files;
mod pack_load;
mod pack_passes;
mod pack_relink;
mod pack_size;
mod pack_speed;
mod pagecache_saved;
mod plan;
mod precision;
mod program;
mod programs;
mod readiness;
mod record;
mod runner;
mod same_against_same;
mod search;
mod selective;
mod session;
mod stale_plan;
mod start;
mod starts_at_once;
mod statistics;
mod summary;
mod surroundings;
mod trace;
mod view_page;
mod work;
mod workshop;

use benchmark::Benchmark;
use record::{Record, Results};
use surroundings::utc;
use workshop::Workshop;

/// What may be typed after `bench`.
#[derive(clap::Args)]
pub(crate) struct BenchArguments {
    /// The benchmarks to run [default: all]
    #[arg(value_enum, value_name = "NAME")]
    names: Vec<Benchmark>,
    /// Counted runs, instead of each benchmark's own number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    runs: Option<u32>,
    /// Run nothing; rebuild the tables from the recorded results
    #[arg(long, conflicts_with_all = ["names", "runs"])]
    summary: bool,
    /// Compare the verbs' speed with that of an earlier build, a revision or a program; fail if one is slower
    #[arg(long, value_name = "REVISION|PROGRAM", conflicts_with_all = ["names", "summary"])]
    gate: Option<String>,
    /// Directory of the results [default: bench/results]
    #[arg(long, value_name = "DIRECTORY")]
    results: Option<PathBuf>,
}

/// Runs the benchmarks, writing each one's record and the day's table as soon as it is done.
///
/// # Errors
/// When something that all need is missing, on Ctrl-C, or, after all have been tried, when some could not be carried
/// out. A figure that misses what was asked for is a result and no error.
pub(crate) fn bench(arguments: &BenchArguments) -> Result<()> {
    let directory = arguments.results.clone().unwrap_or_else(|| crate::cargo::workspace().join("bench/results"));
    let results = Results::new(std::path::absolute(directory)?);
    if arguments.summary {
        return summarize_all(&results);
    }
    ensure!(
        rustix::process::geteuid().is_root(),
        "the benchmarks need root: they drop the system's caches and mount slow disks\nhint: sudo -E cargo xtask bench"
    );
    let names = if arguments.gate.is_some() {
        vec![Benchmark::OwnSpeed]
    } else if arguments.names.is_empty() {
        Benchmark::all()
    } else {
        unique(&arguments.names)
    };
    for name in &names {
        install_missing(name.tools())?;
    }
    let mut workshop = open_workshop(&names)?;
    if let Some(gate) = &arguments.gate {
        workshop.earlier = Some(own_speed::earlier(gate)?);
    }
    let day = utc("%Y-%m-%d")?;
    let (mut failures, mut slower) = (Vec::new(), Vec::new());
    for benchmark in names {
        let carried_out = carry_out(benchmark, arguments.runs, &day, &workshop, &results);
        ensure!(!workshop.runner.is_interrupted(), "interrupted; finished results are kept");
        match carried_out {
            Ok(record) if arguments.gate.is_some() => slower = own_speed::slower(&record)?,
            Ok(_) => {}
            Err(error) => {
                eprintln!("bench: {benchmark} failed: {error:#}");
                failures.push(benchmark.to_string());
            }
        }
    }
    println!("{}", results.table(&day).display());
    if !failures.is_empty() {
        bail!("failed: {}", failures.join(", "));
    }
    ensure!(slower.is_empty(), "shown to be slower than the earlier build: {}", slower.join(", "));
    Ok(())
}

fn carry_out(
    benchmark: Benchmark,
    runs: Option<u32>,
    day: &str,
    workshop: &Workshop,
    results: &Results,
) -> Result<Record> {
    let runs = runs.unwrap_or(benchmark.default_runs());
    eprintln!("bench: {benchmark}, {runs} runs");
    let mut record = Record::begin(benchmark, day, runs)?;
    let clock = std::time::Instant::now();
    benchmark.measure(workshop, &mut record)?;
    record.seconds = clock.elapsed().as_secs_f64();
    results.save(&record)?;
    summary::write(results, day)?;
    Ok(record)
}

fn summarize_all(results: &Results) -> Result<()> {
    let days = results.days()?;
    ensure!(!days.is_empty(), "there are no results in {}\nhint: cargo xtask bench", results.directory().display());
    for day in days {
        summary::write(results, &day)?;
        println!("{}", results.table(&day).display());
    }
    Ok(())
}

/// Builds what is measured and, if some of `names` need it, what it is measured on.
fn open_workshop(names: &[Benchmark]) -> Result<Workshop> {
    let mut packages = vec!["--package=coldstart"];
    let needs_bed = names.iter().any(|benchmark| benchmark.needs_bed());
    if needs_bed {
        packages.push("--package=coldstart-testbed");
    }
    crate::tools::run(cargo().args(["build", "--release"]).args(packages))?;
    if needs_bed {
        crate::release::launcher()?;
    }
    let target = crate::cargo::target_directory()?;
    Workshop::open(&target.join("release"), target.join("bench"), names).context("cannot prepare the benchmarks")
}

fn unique(names: &[Benchmark]) -> Vec<Benchmark> {
    Benchmark::known().into_iter().filter(|name| names.contains(name)).collect()
}
