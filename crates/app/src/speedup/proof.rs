//! Whether the program is the same with a fix: starts with it and without it, compared.

use std::cell::{Cell, RefCell};
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use coldstart_host::descriptor;
use coldstart_launch::{CommandLine, End, Interrupt, LaunchOptions, Output, launch, spawn_beside};
use coldstart_prefetch::{TargetOutcome, check_targets_inside};
use coldstart_profile::plan::PlanView;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process_group};

use super::index_fix::TrialIndex;
use super::sameness::{Checked, Sameness, Start, compare};
use super::setup::Setup;
use super::subject::Subject;
use crate::error::{AppError, HintExt};
use crate::prefetch::read_plan;
use crate::text::counted;

/// Number of compared starts with a fix; without it, there is one more.
pub(super) const STARTS: usize = 3;
/// Number of starts without any fix, of all comparisons together, after which a difference is one.
const ENOUGH_STARTS: usize = 13;

/// The result of a comparison.
pub(super) struct Proof {
    /// Whether no difference was found.
    pub(super) holds: bool,
    /// Each comparison as a clause.
    pub(super) findings: Vec<String>,
    /// What could not be compared because the program itself varies, as clauses.
    pub(super) unchecked: Vec<String>,
}

/// Compares ways of starting a program with its plain start.
pub(super) struct Prover<'a> {
    subject: &'a Subject<'a>,
    /// A command for the shell that checks the program's work: exit code 0 is right.
    check: Option<&'a str>,
    /// Plain starts so far; they serve all comparisons.
    plain: RefCell<Vec<Start>>,
    /// Time of all starts, their ends included, and their number.
    spent: Cell<(Duration, u32)>,
}

impl<'a> Prover<'a> {
    pub(super) fn new(subject: &'a Subject<'a>, check: Option<&'a str>) -> Self {
        Self { subject, check, plain: RefCell::default(), spent: Cell::default() }
    }

    /// Starts the program both ways, and compares.
    ///
    /// Plain starts come first and last, so that changes over time also appear between those. If there is a difference, more
    /// of them follow: this detects a program that behaves differently at every second or third start.
    ///
    /// # Errors
    /// If the program cannot be started, or the user's check fails without any fix.
    pub(super) fn prove(&self, setup: &mut Setup) -> Result<Proof, AppError> {
        let mut findings = plan_findings(setup)?;
        findings.extend(copies_finding(setup));
        findings.extend(setup.index().map(TrialIndex::finding));
        let mut unchecked: Vec<String> = Vec::new();
        unchecked.extend(setup.cautions.iter().map(|caution| format!("differs by design: {caution}")));
        let options = setup.launch_options(self.subject.launch)?;
        let command = setup.command(self.subject);
        let mut fixed = Vec::new();
        if self.plain.borrow().is_empty() {
            self.start_plainly()?;
        }
        for _ in 0..STARTS {
            fixed.push(self.start(&command, &options)?);
            if self.plain.borrow().len() <= STARTS {
                self.start_plainly()?;
            }
        }
        self.start_plainly()?;
        let mut found = self.compared(&fixed);
        if found.differs {
            while self.plain.borrow().len() < ENOUGH_STARTS {
                self.start_plainly()?;
            }
            found = self.compared(&fixed);
        }
        findings.extend(found.findings);
        unchecked.extend(found.unchecked);
        Ok(Proof { holds: !found.differs, findings, unchecked })
    }

    /// Mean time of a start with its end and the check, in seconds; `None` before the first. Some programs take seconds to end.
    pub(super) fn seconds_of_start(&self) -> Option<f64> {
        let (spent, starts) = self.spent.get();
        (starts > 0).then(|| spent.as_secs_f64() / f64::from(starts))
    }

    fn compared(&self, fixed: &[Start]) -> Sameness {
        compare(&self.plain.borrow(), fixed)
    }

    fn start_plainly(&self) -> Result<(), AppError> {
        let start = self.start(self.subject.program, self.subject.launch)?;
        let check = self.check.unwrap_or_default();
        match start.check {
            Some(Checked::Fails) => {
                return Err(anyhow!("the check `{check}` fails after a start without any fix"))
                    .hint(|| "it is run by sh in this directory when the program is ready, and must exit with code 0");
            }
            Some(Checked::Unfinished) => {
                return Err(anyhow!("the check `{check}` does not end within the program's time limit"))
                    .hint(|| "give both more time with --time-limit, or make it end");
            }
            Some(Checked::Holds) | None => {}
        }
        self.plain.borrow_mut().push(start);
        Ok(())
    }

    fn start(&self, command: &CommandLine, options: &LaunchOptions) -> Result<Start, AppError> {
        let began = Instant::now();
        let start = start(command, options, self.check)?;
        let (spent, starts) = self.spent.get();
        self.spent.set((spent + began.elapsed(), starts + 1));
        Ok(start)
    }

    /// The plain starts, for later comparisons.
    pub(super) fn into_plain_starts(self) -> Vec<Start> {
        self.plain.into_inner()
    }
}

/// One start with its output kept, and the user's check of its work.
///
/// # Errors
/// If it cannot be started, or the check cannot be run.
pub(super) fn start(command: &CommandLine, options: &LaunchOptions, check: Option<&str>) -> Result<Start, AppError> {
    // In memory: it needs no writable directory, and a kill leaves nothing.
    let kept = memfd_create("output", MemfdFlags::CLOEXEC)
        .map_err(std::io::Error::from)
        .context("cannot keep the program's output for comparison")?;
    let options = LaunchOptions { output: Output::File(descriptor::path(&kept)), ..options.clone() };
    let mut checked = None;
    let launched = launch(command, &options, None, &mut || checked = check.map(|check| run_check(check, &options)))?;
    let output = fs::read(descriptor::path(&kept)).context("cannot read the program's output back")?;
    let was_cut = matches!(launched.end, End::Ended | End::TimedOut);
    let check = match (checked, check) {
        (Some(answer), _) => Some(answer.context("cannot run the check")?),
        // A program that never became ready has not done its work.
        (None, Some(_)) => Some(Checked::Fails),
        (None, None) => None,
    };
    Ok(Start { end: launched.end.to_string(), output, was_cut, check })
}

/// How often a running check is looked at.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Runs the user's check where the program runs, within the time limit of the program.
fn run_check(check: &str, options: &LaunchOptions) -> std::io::Result<Checked> {
    let mut command = Command::new("sh");
    command.args(["-c", check]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // What it leaves running then counts as the program's, and is ended with it.
    command.process_group(0);
    if let Some(directory) = &options.working_directory {
        command.current_dir(directory);
    }
    if let Some(mounts) = &options.mounts {
        mounts.enter_with(&mut command);
    }
    let began = Instant::now();
    let mut running = spawn_beside(&mut command)?;
    loop {
        if let Some(status) = running.try_wait()? {
            return Ok(if status.success() { Checked::Holds } else { Checked::Fails });
        }
        let is_late = options.time_limit.is_some_and(|limit| began.elapsed() > limit);
        if is_late || options.interrupt.as_ref().and_then(Interrupt::signal).is_some() {
            let group = i32::try_from(running.id()).ok().and_then(Pid::from_raw);
            // It may have ended just now.
            let _ = group.map(|group| kill_process_group(group, Signal::KILL));
            running.wait()?;
            return Ok(Checked::Unfinished);
        }
        std::thread::sleep(CHECK_INTERVAL);
    }
}

/// What is to be said of the plan.
fn plan_findings(setup: &Setup) -> Result<Vec<String>, AppError> {
    let Some(file) = setup.plan_file() else { return Ok(Vec::new()) };
    let bytes = read_plan(file)?;
    let plan = PlanView::read(&bytes).context("the new plan is invalid")?;
    let outcomes = check_targets_inside(&plan, setup.mounts());
    let stale = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, TargetOutcome::Changed { .. } | TargetOutcome::Missing))
        .count();
    Ok(vec![match stale {
        0 => "the plan is valid and all its files are unchanged".to_owned(),
        stale => {
            let files = counted(stale as u64, "file");
            let are = if stale == 1 { "is" } else { "are" };
            format!("the plan is valid; {files} {are} left out because of changes")
        }
    }])
}

/// What is to be said of changed files: each was proven when it was written.
fn copies_finding(setup: &Setup) -> Option<String> {
    let archives = setup.ordered.len() as u64;
    let objects = (setup.overlays().len() as u64).saturating_sub(archives);
    let changed = |count: u64, what: &str, proven: &str| {
        (count > 0).then(|| format!("{} changed, each read back and proven {proven}", counted(count, what)))
    };
    let findings = [
        changed(objects, "file", "equivalent to the loader"),
        changed(archives, "archive", "to hold the same, in another order"),
    ];
    let findings: Vec<String> = findings.into_iter().flatten().collect();
    (!findings.is_empty()).then(|| findings.join("; "))
}
