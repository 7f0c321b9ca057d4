//! `fuzz`: runs the fuzz targets in `fuzz/`, keeps what they found small, and shows which lines of each parser they reach.
//!
//! | step | file |
//! |---|---|
//! | the targets: share of the time, parsers | `targets.rs` |
//! | build the targets and run one | `fuzzer.rs` |
//! | unpack, minimise and pack a corpus | `corpus.rs` |
//! | lines of a parser that a corpus reaches | `coverage.rs` |
//!
//! Not obvious: cargo-fuzz only builds. Its `run` and `cmin` build again each time, which would wait for other fuzzers.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use clap::Args;

mod corpus;
mod coverage;
mod fuzzer;
mod targets;

use fuzzer::{Fuzzer, Outcome};
use targets::{TARGETS, Target};

/// What `cargo xtask fuzz` may be told.
#[derive(Args)]
pub(crate) struct FuzzArguments {
    /// The targets to run [default: all]
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// How long to fuzz in all, divided by the targets' shares; 0 leaves the corpora unchanged
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// How many targets run at the same time
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    jobs: u64,
    /// Also show which lines of the parsers the corpora reach (afterwards; builds the targets once more)
    #[arg(long)]
    coverage: bool,
}

/// Fuzzes for some time, and minimises and packs the corpora afterwards.
///
/// # Errors
///
/// Without cargo-fuzz and a nightly compiler, for an unknown target, and when a target crashed, hung or took too much memory.
pub(crate) fn fuzz(arguments: &FuzzArguments) -> Result<()> {
    let chosen = chosen(&arguments.targets)?;
    let fuzzer = Fuzzer::ready()?;
    if arguments.coverage {
        // Not found missing after hours of fuzzing.
        fuzzer.llvm_tool("llvm-cov")?;
    }
    for target in &chosen {
        corpus::unpack(target)?;
    }
    let mut stopped = Vec::new();
    if arguments.minutes > 0 {
        fuzzer.build(&chosen)?;
        let total = Duration::from_secs(arguments.minutes.saturating_mul(60).saturating_mul(arguments.jobs));
        let outcomes = run(&fuzzer, &chosen, total, arguments.jobs)?;
        println!("| target | processor minutes | executions | inputs found | inputs kept | bytes packed |");
        println!("|---|---:|---:|---:|---:|---:|");
        for (target, outcome) in &outcomes {
            let kept = corpus::minimise(&fuzzer, target)?;
            println!(
                "| {} | {:.1} | {} | {} | {} | {} |",
                target.name,
                outcome.processor.as_secs_f64() / 60.0,
                outcome.executions,
                outcome.found,
                kept.inputs,
                kept.bytes
            );
        }
        let processor: Duration = outcomes.iter().map(|(_, outcome)| outcome.processor).sum();
        println!("\n{:.2} hours of processor time", processor.as_secs_f64() / 3600.0);
        stopped = outcomes.into_iter().filter_map(|(_, outcome)| outcome.stopped).collect();
    }
    if arguments.coverage {
        coverage::show(&fuzzer, &chosen)?;
    }
    match stopped.len() {
        0 => Ok(()),
        count => bail!("{count} targets stopped before their time:\n{}", stopped.join("\n")),
    }
}

/// The targets with these names; all of them without any.
fn chosen(names: &[String]) -> Result<Vec<&'static Target>> {
    let unknown: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| TARGETS.iter().all(|target| target.name != *name)).collect();
    ensure!(
        unknown.is_empty(),
        "unknown fuzz target: {}\nhint: the targets are listed in xtask/src/fuzz/targets.rs",
        unknown.join(", ")
    );
    Ok(TARGETS.iter().filter(|target| names.is_empty() || names.iter().any(|name| name == target.name)).collect())
}

/// Runs each target once, for its share of the time; the longest first, so that all jobs end at about the same time.
fn run<'t>(fuzzer: &Fuzzer, chosen: &[&'t Target], total: Duration, jobs: u64) -> Result<Vec<(&'t Target, Outcome)>> {
    let shares: u32 = chosen.iter().map(|target| target.share).sum();
    let mut order = chosen.to_vec();
    order.sort_by_key(|target| std::cmp::Reverse(target.share));
    let waiting = Mutex::new(VecDeque::from(order));
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || {
        let mut outcomes = Vec::new();
        while let Some(target) = next() {
            let time = total.saturating_mul(target.share) / shares.max(1);
            outcomes.push((target, fuzzer.run(target, time)?));
        }
        Ok::<_, anyhow::Error>(outcomes)
    };
    let mut outcomes = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(done) => outcomes.extend(done?),
                Err(_) => bail!("a thread that ran fuzzers panicked"),
            }
        }
        Ok(())
    })?;
    outcomes.sort_by_key(|(target, _)| target.name);
    Ok(outcomes)
}
