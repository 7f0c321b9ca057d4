//! All tests, each in a process of its own.
//!
//! Tests that share a process share its children, its descriptors, its signal handlers and its limits, and a thread that forks
//! hands a sibling's open files on for an instant; nearly every test of ours that ever failed by chance failed by that.
//! cargo-nextest does the same; it takes longer to build on a new machine than all of this project.
//!
//! What is machine-wide (page cache, frequency, X displays) is not settled here: tests that change it, or are disturbed by a
//! change, take a turn (`coldstart_testing::Turn`). Groups of tests that [`machine_wide`] names besides never run beside others.

pub(crate) mod binaries;
mod hanging;
mod machine_wide;
pub(crate) mod orphans;
mod queue;
mod report;
mod run;
mod times;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;
use fs_err as fs;

use machine_wide::Groups;
use report::Report;
use run::Running;
use times::Times;

/// Asks tests to go through all of their large sets (`coldstart_testing::divided_by`).
const WHOLE: &str = "COLDSTART_WHOLE";
/// A test that takes longer than this part of what the whole run may take hangs.
const LONGEST_TEST: u32 = 6;

/// What `cargo xtask test` may be told.
#[derive(Args, Default)]
pub(crate) struct TestArguments {
    /// Only tests whose `PACKAGE::BINARY::NAME` contains one of these
    filters: Vec<String>,
    /// How many tests run at the same time [default: one for each processor, and one more while the machine is shared]
    #[arg(long)]
    jobs: Option<usize>,
    /// Run the test programs that this file names instead of building them: on a machine without cargo
    #[arg(long, value_name = "FILE", hide = true)]
    pub(crate) built: Option<PathBuf>,
    /// Go through all of the large sets (files of this machine, combinations of linkers), not a part
    #[arg(long)]
    whole: bool,
    /// Do not start any more tests once one has failed
    #[arg(long)]
    fail_fast: bool,
    /// End the run, as failed, after so many minutes
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

impl TestArguments {
    /// Whether nothing was chosen.
    pub(crate) fn is_whole(&self) -> bool {
        self.filters.is_empty() && self.built.is_none()
    }
}

/// Builds all tests and runs those that were asked for.
///
/// # Errors
/// When they cannot be built, or one fails.
pub(crate) fn run(arguments: &TestArguments, environment: &[(&str, &str)]) -> Result<()> {
    let binaries = match &arguments.built {
        Some(list) => serde_json::from_slice(&fs::read(list)?)?,
        None => binaries::build()?,
    };
    let longest = Duration::from_secs(arguments.minutes.saturating_mul(60));
    let deadline = Instant::now() + longest;
    let whole = arguments.whole.then_some((WHOLE, "1"));
    let environment: Vec<(&str, &str)> = environment.iter().copied().chain(whole).collect();
    let mut times = Times::read();
    let mut tests = Vec::new();
    for binary in &binaries {
        let wanted = |name: &String| {
            let whole = format!("{}::{}::{name}", binary.package, binary.name);
            arguments.filters.is_empty() || arguments.filters.iter().any(|filter| whole.contains(filter))
        };
        tests.extend(binary.tests()?.into_iter().filter(wanted).map(|name| run::Test { binary, name }));
    }
    let processors = std::thread::available_parallelism().map_or(2, usize::from);
    let running = |extra| Running {
        jobs: arguments.jobs.unwrap_or(processors + extra).max(1),
        environment: &environment,
        fail_fast: arguments.fail_fast,
        longest_test: longest / LONGEST_TEST,
        deadline,
    };
    let mut report = Report::begin(tests.len());
    let Groups { shared, alone } = machine_wide::groups(tests);
    // Of tests that share the machine a third is waiting, for a turn or for a program.
    let groups = std::iter::once((1, shared)).chain(alone.into_iter().map(|group| (0, group)));
    for (extra, group) in groups {
        let order = times.longest_first(group);
        running(extra).run_all(order, |outcome| {
            times.note(&outcome);
            report.add(outcome);
        });
    }
    times.write();
    let failed = report.finish();
    if failed > 0 {
        bail!("{failed} tests failed");
    }
    if Instant::now() >= deadline {
        bail!("the tests had not ended after {} minutes (`--minutes`)", arguments.minutes);
    }
    Ok(())
}
