//! `starts-at-once`: a hundred starts of one program at the same moment, cold, on a network disk: without a plan, with the
//! default plan, with the exact plan. What the disk served in all, against what one start reads; and the time of the last.
//!
//! Not obvious: the page cache is shared, so also plain starts read little more than one working set between them. A hundred
//! replays must not make it worse.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::bed::{Bed, BedKind, with_collection};
use super::figure::{Asked, Figure, Unit};
use super::programs::{CLANG, NUMPY, Started, planned, record_plans};
use super::record::Record;
use super::runner::{plain_command, words};
use super::start::install_launchers;
use super::statistics::{median, ratio_estimate};
use super::workshop::Workshop;
use crate::corpus::Collection;

const AT_ONCE: usize = 100;
const WAYS: [&str; 3] = ["plain", "default plan", "exact plan"];
/// How much more than one start's bytes a hundred may read.
const OF_ONE: f64 = 1.05;
const LOOK_EVERY: Duration = Duration::from_millis(2);
/// All starts together may take so long.
const PATIENCE: Duration = Duration::from_secs(180);

/// What some starts at once did.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Together {
    /// Index into [`WAYS`].
    way: usize,
    starts: usize,
    /// What the disk served.
    bytes: u64,
    reads: u64,
    /// From the first start to the end of the last.
    seconds: f64,
}

/// All rounds of one program.
#[derive(Debug, Serialize, Deserialize)]
struct OfProgram {
    program: String,
    rounds: Vec<Vec<Together>>,
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    with_collection(workshop, BedKind::Net, Collection::Programs, |bed| {
        record.bed = Some(bed.status.clone());
        install_launchers(bed, workshop)?;
        let programs = [&NUMPY, &CLANG].map(|program| of_program(workshop, bed, program, record.runs));
        let programs: Vec<OfProgram> = programs.into_iter().collect::<Result<_>>()?;
        record.add("programs", json!(programs));
        Ok(())
    })
}

fn of_program(workshop: &Workshop, bed: &Bed<'_>, program: &Started, runs: u32) -> Result<OfProgram> {
    workshop.runner.run(&bed.inside(program.words))?;
    let plans = record_plans(workshop, bed, program)?;
    let commands =
        [bed.inside(program.words), planned(bed, program, &plans.cached), planned(bed, program, &plans.exact)];
    let mut rounds = Vec::new();
    for round in 0..runs as usize {
        let mut of_round = Vec::new();
        for step in 0..commands.len() {
            let way = (round + step) % commands.len();
            let command = commands.get(way).context("no such way")?;
            for starts in [1, AT_ONCE] {
                of_round.push(together(workshop, bed, command, way, starts)?);
            }
        }
        rounds.push(of_round);
    }
    Ok(OfProgram { program: program.name.to_owned(), rounds })
}

/// Starts a command so many times at once from a cold cache, and waits for all of them.
fn together(workshop: &Workshop, bed: &Bed<'_>, command: &[String], way: usize, starts: usize) -> Result<Together> {
    bed.flush()?;
    workshop.runner.run(&words(["sysctl", "-q", "vm.drop_caches=3"]))?;
    let before = served(bed)?;
    let clock = Instant::now();
    let mut children = Children::default();
    for _ in 0..starts {
        let mut command = plain_command(command)?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        children.0.push(child.context("cannot start the program")?);
    }
    while children.reap()? {
        ensure!(clock.elapsed() < PATIENCE, "{starts} starts at once took longer than {} s", PATIENCE.as_secs());
        if workshop.runner.is_interrupted() {
            bail!("interrupted");
        }
        std::thread::sleep(LOOK_EVERY);
    }
    let seconds = clock.elapsed().as_secs_f64();
    let after = served(bed)?;
    let [bytes, reads] = [0, 1].map(|place| after[place].saturating_sub(before[place]));
    Ok(Together { way, starts, bytes, reads, seconds })
}

/// Bytes and reads that the bed has served so far.
fn served(bed: &Bed<'_>) -> Result<[u64; 2]> {
    let status = bed.status_now()?;
    let count = |name: &str| status["served"][name].as_u64().with_context(|| format!("the bed counts no {name}"));
    Ok([count("bytes")?, count("reads")?])
}

/// Programs that are ended when we give up on them.
#[derive(Default)]
struct Children(Vec<Child>);

impl Children {
    /// Forgets those that have ended; `false` when none is left.
    ///
    /// # Errors
    /// When one has failed.
    fn reap(&mut self) -> Result<bool> {
        let mut failed = None;
        self.0.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            ended => {
                failed = Some(format!("{ended:?}"));
                false
            }
        });
        match failed {
            Some(how) => bail!("one of the starts ended with {how}"),
            None => Ok(!self.0.is_empty()),
        }
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(super) fn figures(record: &Record) -> Result<Vec<Figure>> {
    let programs = Vec::<OfProgram>::deserialize(record.part("programs")?).context("`programs` holds no rounds")?;
    Ok(programs.iter().flat_map(OfProgram::figures).collect())
}

impl OfProgram {
    fn figures(&self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (way, name) in WAYS.iter().enumerate() {
            for starts in [1, AT_ONCE] {
                let what = format!("{}, {name}, {starts} at once", self.program);
                let bytes = self.values(way, starts, |one| one.bytes as f64);
                let served = Figure::of_peaks(format!("{what}: served by the disk"), Asked::Nothing, &bytes);
                figures.push(Figure { value: median(&bytes), ..served });
                let seconds = self.values(way, starts, |one| one.seconds);
                let mut last =
                    Figure::of_times(format!("{what}: end of the last"), Unit::Seconds, Asked::Nothing, &seconds);
                if way > 0 {
                    let plain = self.values(0, starts, |one| one.seconds);
                    let pairs: Vec<(f64, f64)> = seconds.iter().copied().zip(plain).collect();
                    last.ratio = ratio_estimate(&pairs);
                }
                figures.push(last);
            }
            let all = median(&self.values(way, AT_ONCE, |one| one.bytes as f64));
            let one = median(&self.values(way, 1, |one| one.bytes as f64));
            let ratio = all.zip(one).map(|(all, one)| all / one);
            let what = format!("{}, {name}: bytes of {AT_ONCE} at once / of one", self.program);
            figures.push(Figure::new(what, Unit::Times, Asked::AtMost(OF_ONE), ratio));
        }
        figures
    }

    /// A figure of each round.
    fn values(&self, way: usize, starts: usize, of: impl Fn(&Together) -> f64) -> Vec<f64> {
        let matching = |one: &&Together| one.way == way && one.starts == starts;
        self.rounds.iter().filter_map(|round| round.iter().find(matching).map(&of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::bench::benchmark::Benchmark;

    #[test]
    fn a_hundred_starts_are_held_against_one() {
        let one = |way, starts, bytes, seconds| Together { way, starts, bytes, reads: 1, seconds };
        let round = json!([
            one(0, 1, 100, 1.0),
            one(0, 100, 104, 9.0),
            one(1, 1, 100, 0.5),
            one(1, 100, 120, 4.5),
            one(2, 1, 90, 0.4),
            one(2, 100, 91, 4.0)
        ]);
        let mut record = Record::begin(Benchmark::StartsAtOnce, "2025-01-02", 2).unwrap();
        record.add("programs", json!([{"program": "a", "rounds": [round, round]}]));
        let figures = figures(&record).unwrap();
        assert_eq!(figures.iter().filter_map(Figure::is_met).collect::<Vec<_>>(), [true, false, true]);
        let last =
            figures.iter().find(|figure| figure.what == "a, default plan, 100 at once: end of the last").unwrap();
        assert_eq!(last.ratio.map(|ratio| ratio.value), Some(0.5));
    }

    #[test]
    fn a_start_that_fails_is_an_error_and_none_is_left() {
        let start = |program: &str| Command::new(program).arg("600").spawn().unwrap();
        let mut children = Children(vec![start("sleep"), start("false")]);
        let deadline = Instant::now() + Duration::from_secs(60);
        let error = loop {
            match children.reap() {
                Ok(_) => assert!(Instant::now() < deadline, "`false` does not end"),
                Err(error) => break error.to_string(),
            }
            std::thread::sleep(LOOK_EVERY);
        };
        assert!(error.contains("ended with"), "{error}");
        let pid = children.0[0].id();
        drop(children);
        assert!(!coldstart_host::process::exists(pid));
    }
}
