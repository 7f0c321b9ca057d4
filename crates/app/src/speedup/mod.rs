//! `speedup`: record a program, try all fixes, prove them, choose the best, and measure before and after.
//!
//! The program's files are not changed: a trial that changes files lays copies over them in a private view of the file system,
//! which nothing else on the machine sees.

mod advice;
mod archive_uses;
mod bind_fix;
mod choose;
mod commands;
pub mod copies;
mod fix;
mod image_fix;
mod index_fix;
mod installation;
mod launcher;
mod limit;
mod look_up_time;
mod order_fix;
mod pack_fix;
mod prefetch_fix;
mod proof;
mod reading;
pub(crate) mod sameness;
mod setup;
mod story;
mod subject;
mod traces;
mod trials;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use coldstart_install::Directories;
use coldstart_install::place::StartWith;
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{EarlyEnd, MeasurePlan, Observer as RunObserver, StartState};
use coldstart_output::OutputTarget;
use coldstart_prefetch::Strategy;
use coldstart_profile::printable;
use coldstart_sys::private_mounts::{Method, possible};
use coldstart_view::numbers::bytes;

use crate::error::{AppError, HintExt};
use crate::install::{Guard, ImageToInstall, IndexToInstall};
use crate::measure::coldest_state;
use crate::observer::Observer;
use crate::prefetch::{RecordedPlan, write_plan};

pub use crate::fix_kind::{FileChange, FixKind};
pub use advice::{Advice, AdviceKind};
pub use fix::Prospect;
pub use installation::{Baseline, install_best};
pub use launcher::Launcher;
pub(crate) use launcher::{LaunchWith, ourselves};
pub use limit::LimitedBy;
pub use story::{Cost, Step, Story, Traces, Trial};
pub use traces::TracePlaces;

use bind_fix::BindFix;
use copies::{free_space, unchanged_copies};
use fix::Fix;
use image_fix::ImageFix;
use index_fix::IndexFix;
use order_fix::OrderFix;
use pack_fix::PackFix;
use prefetch_fix::{Pages, PrefetchFix};
use proof::Prover;
use setup::Setup;
use story::LimitFacts;
use subject::Subject;
use trials::{Applied, COLD_AND_HOT, Trials};

/// The schema of a [`Story`] as JSON.
pub const SCHEMA: &str = "coldstart.speedup/2";

/// The program to make faster, and options.
#[derive(Clone, Debug)]
pub struct SpeedupOptions {
    /// The program.
    pub program: CommandLine,
    /// How it is started and waited for.
    pub launch: LaunchOptions,
    /// The output for the prefetch plan, of the kind [`crate::kinds::PLAN`].
    pub plan: OutputTarget,
    /// When the plan is read; `None` for the predicted faster way.
    pub strategy: Option<Strategy>,
    /// The fixes to try.
    pub fixes: Vec<FixKind>,
    /// Whether the fixes that fit are taken together, instead of the fastest set of them.
    pub together: bool,
    /// Counted runs before and after, in each state, at most. Measuring ends earlier when the intervals are narrow enough.
    pub runs: u32,
    /// Time for all of it. What has begun is finished, so that it may take a little longer.
    pub budget: Duration,
    /// A shell command that checks the program's work when it is ready; exit code 0 is right.
    pub check: Option<String>,
    /// Where traces of the starts before and after go.
    pub traces: Option<TracePlaces>,
    /// The launcher that replays the plan.
    pub launcher: Launcher,
    /// Only files that an installation in these directories may replace are changed; `None` for all.
    pub install_for: Option<Directories>,
}

/// The label of the plain start in measurements.
const PLAIN: &str = "before";
/// Half the width of the last measurement's intervals that is narrow enough.
const PRECISION: f64 = 0.02;
/// Rounds of the last measurement before it may end. With fewer, the 99 % interval of a verdict is too wide.
const LEAST_ROUNDS: u32 = 4;

/// The fixes of some kinds, in the order in which they are applied.
fn fixes<'a>(options: &'a SpeedupOptions) -> Vec<Box<dyn Fix + 'a>> {
    let beside = options.plan.directory();
    let all: Vec<Box<dyn Fix + 'a>> = vec![
        Box::new(BindFix::default()),
        Box::new(PackFix::default()),
        Box::new(OrderFix::default()),
        Box::new(IndexFix::new(beside)),
        Box::new(ImageFix { beside }),
        Box::new(PrefetchFix { pages: Pages::Cached, beside }),
        Box::new(PrefetchFix { pages: Pages::Used, beside }),
    ];
    all.into_iter().filter(|fix| options.fixes.contains(&fix.kind())).collect()
}

/// Records a start, tries each fix alone and those that pay together, proves them, and measures the best against the plain start
/// in alternating order. The program is not changed. `runs` is notified of each run.
///
/// # Errors
/// If the program cannot be started or never becomes ready, the user's check fails without any fix, or files cannot be written.
/// It is not an error if no fix makes it faster: see [`Story::succeeded`].
pub fn speedup(
    options: &SpeedupOptions,
    observer: &dyn Observer,
    runs: &mut dyn RunObserver,
) -> Result<Story, AppError> {
    let deadline = Instant::now() + options.budget;
    let program = &options.program;
    let cold = coldest_state(observer);

    observer.note(&format!("recording {cold} starts of {program}"));
    let guard = options.install_for.as_ref().map(Guard::new);
    let subject = Subject::record(program, &options.launch, options.strategy, &options.launcher, guard)?;
    for remark in &subject.cached.notes {
        observer.note(remark);
    }

    demand_room_for_plan(&options.plan, &subject)?;

    let prover = Prover::new(&subject, options.check.as_deref());
    let mut fixes = fixes(options);
    let mut prospects = Vec::new();
    for fix in &mut fixes {
        prospects.push(fix.predict(&subject)?);
    }
    let changes_files = |prospect: &Prospect| prospect.applies && prospect.kind.changes_files();
    let view = if prospects.iter().any(changes_files) { View::of(&subject, &prover)? } else { View::not_needed() };
    if let Some(reason) = &view.refused {
        for (fix, prospect) in fixes.iter().zip(&mut prospects).filter(|(_, prospect)| changes_files(prospect)) {
            *prospect = Prospect::not(fix.as_ref(), reason.clone());
        }
    }

    let trials = Trials {
        options,
        subject: &subject,
        fixes: &fixes,
        prospects: &prospects,
        prover: &prover,
        in_view: prospects.iter().any(changes_files),
        cold,
        deadline,
        observer,
    };
    let tried = trials.run(runs)?;

    let mut best = tried.best;
    let mut plain = Setup::plain(false);
    if let Some(best) = &mut best
        && !best.setup.leave_view()
    {
        plain = control(best, &subject)?;
    }
    let mut candidates = vec![plain.candidate(PLAIN.to_owned(), &subject)?];
    if let Some(best) = &mut best {
        candidates.push(best.setup.candidate(format!("with {}", trials.name(&best.fixes)), &subject)?);
    }
    trials.tell(options.runs, candidates.len(), COLD_AND_HOT);
    let mut last = MeasurePlan::new(candidates, vec![cold, StartState::Hot]);
    // Without a fix there is nothing to compare with.
    last.runs = if best.is_some() { options.runs } else { options.runs.min(LEAST_ROUNDS) };
    let time_limit = Some(deadline.saturating_duration_since(Instant::now()));
    last.early_end = Some(EarlyEnd { least_rounds: LEAST_ROUNDS.min(options.runs), precision: PRECISION, time_limit });
    let measurement = coldstart_measure::measure(&last, runs)?;

    if let Some(best) = &best
        && let Some(first) = best.setup.mounts().and_then(|mounts| mounts.uncovered().into_iter().next())
    {
        return Err(anyhow!("`{}` was replaced during the measurement, which is void", printable(&first)))
            .hint(|| "run it again when no package is being upgraded");
    }

    write_plan(&options.plan, &kept_plan(&subject, best.as_ref()).plan)?;

    let limits =
        LimitFacts { device: subject.device(), used_bytes: subject.used_bytes(), cold, measurement: &measurement };
    let steps = match &best {
        Some(best) => vec![step(options, &trials, best, &limits)?],
        None => Vec::new(),
    };
    let prospects = prospects.clone();
    let traces = match (&options.traces, &mut best) {
        (Some(places), Some(best)) => traces::write(places, &subject, &mut best.setup, observer)?,
        _ => None,
    };
    // Open, it outlives the trial's directory.
    let image = best.as_ref().and_then(|best| best.setup.image_file()).filter(|_| options.install_for.is_some());
    let image = image.map(|path| ImageToInstall::open(path, &[])).transpose()?;
    let index = best.as_ref().and_then(|best| best.setup.index()).filter(|_| options.install_for.is_some());
    let index = index.map(|index| IndexToInstall::open(index.in_use.directory())).transpose()?;
    let in_order: Vec<PathBuf> =
        best.iter().flat_map(|best| &best.setup.ordered).map(|(path, _)| path.clone()).collect();
    Ok(Story {
        advice: advice::advice(&subject, traces.as_ref().map(|traces| traces.before_path.as_path()), &in_order),
        image,
        index,
        cold,
        prospects,
        before_is_copied: !plain.overlays().is_empty(),
        private_view: view.name,
        no_private_view: view.refused,
        trials: tried.trials,
        trial_measurements: tried.measurements,
        fixes: steps,
        limited_by: limits.limited_by(0),
        limit_seconds: limits.limit(),
        bytes: subject.used_bytes(),
        bytes_per_second: subject.device().bandwidth,
        measurement,
        traces,
        baseline: Baseline::new(prover.into_plain_starts(), options.check.clone()),
    })
}

/// The plan is written at the end: without room for it, all of the measurement would be in vain.
fn demand_room_for_plan(place: &OutputTarget, subject: &Subject<'_>) -> Result<(), AppError> {
    let plans = std::iter::once(&subject.cached).chain(subject.exact.as_ref().ok());
    let sizes = plans.filter_map(|recorded| recorded.plan.to_bytes().ok()).map(|bytes| bytes.len() as u64);
    let needed = sizes.max().unwrap_or(0);
    match free_space(place.directory()) {
        Ok(Some(free)) if free < needed => {
            let (needed, free, place) = (bytes(needed), bytes(free), printable(place.directory()));
            Err(anyhow!("the plan takes {needed}, and `{place}` has {free} free"))
                .hint(|| "name another place with --output, or free some space")
        }
        // Unknown: the writing will tell.
        _ => Ok(()),
    }
}

/// Whether files can be changed for the trial only.
struct View {
    name: &'static str,
    refused: Option<String>,
}

impl View {
    /// No fix changes files.
    fn not_needed() -> Self {
        Self { name: "none", refused: None }
    }

    fn of(subject: &Subject<'_>, prover: &Prover<'_>) -> Result<Self, AppError> {
        let name = match possible() {
            Ok(Method::Root) => "root",
            Ok(Method::UserNamespace) => "user-namespace",
            Err(error) => {
                let why = format!(
                    "its files can only be changed in a private view, and {}",
                    AppError::from(error).sentence()
                );
                return Ok(Self { name: "none", refused: Some(why) });
            }
        };
        if name == "user-namespace"
            && let Some(first) = subject.elf_files().ok().and_then(|files| files.privileged.first())
        {
            let first = printable(first);
            let why = format!("`{first}` gains rights when it starts, which it would not in a view without root");
            return Ok(Self { name: "none", refused: Some(why) });
        }
        // Programs that need their real user IDs, or a file system of their own, may differ in a view alone.
        let proof = prover.prove(&mut Setup::plain(true))?;
        if proof.holds {
            return Ok(Self { name, refused: None });
        }
        let why =
            format!("the program notices the private view in which files are changed: {}", proof.findings.join("; "));
        Ok(Self { name: "none", refused: Some(why) })
    }
}

/// The plain start to compare changed files with: unchanged copies lie over the originals, as changed ones do on the other side. So a
/// difference is the change, and not the copies' place on the disk. Without room the originals are used, and the proof says so.
fn control(best: &mut Applied, subject: &Subject<'_>) -> Result<Setup, AppError> {
    let mut plain = Setup::plain(true);
    let originals: Vec<_> = best.setup.overlays().iter().map(|overlay| overlay.original.clone()).collect();
    match unchanged_copies(&originals, &subject.interrupt) {
        Ok((overlays, directories)) => {
            plain.lay_over(overlays);
            plain.keep(directories.into_iter().map(Rc::new));
        }
        Err(error) if subject.interrupt.signal().is_some() => return Err(error),
        Err(error) => best.proof.unchecked.push(format!(
            "whether a difference is the change, or the place of the changed copies on the disk: unchanged copies to compare \
             them with cannot be made ({})",
            error.sentence()
        )),
    }
    Ok(plain)
}

/// The plan to keep: of the best set, if its files are those of the system, otherwise the one for the program as it is.
fn kept_plan<'a>(subject: &'a Subject<'_>, best: Option<&'a Applied>) -> &'a RecordedPlan {
    match best.and_then(|best| best.setup.plan().filter(|_| best.setup.overlays().is_empty())) {
        Some(plan) => plan,
        None => subject.exact.as_ref().unwrap_or(&subject.cached),
    }
}

fn step(
    options: &SpeedupOptions,
    trials: &Trials<'_>,
    best: &Applied,
    limits: &LimitFacts<'_>,
) -> Result<Step, AppError> {
    let kinds = trials.kinds(&best.fixes);
    let setup = &best.setup;
    let mut cost =
        Cost { changed_files: setup.overlays().len() as u64, saved_bytes: setup.bytes_saved(), ..Cost::default() };
    if let Some(recorded) = setup.plan() {
        cost.of_plan(size_of(setup.plan_file()), &recorded.working_set);
    }
    if let Some(image) = setup.image() {
        (cost.image_bytes, cost.memory_bytes) = (image.bytes, image.read_bytes.saturating_mul(2));
    }
    if let Some(index) = setup.index() {
        cost.index_bytes = index.bytes;
    }
    let plan = setup.plan().map(|_| std::path::absolute(options.plan.path())).transpose();
    let plan = plan.context("cannot determine the current directory")?;
    let command = match (setup.index(), &plan) {
        _ if !setup.overlays().is_empty() => commands::installing(options),
        (Some(_), _) => commands::with_index(options, plan.as_deref(), setup.image().is_some()),
        (None, Some(plan)) => {
            let with = LaunchWith { index: None, start: Some((StartWith::Plan, plan)) };
            options.launcher.command(options.launcher.name.as_ref(), &with, &options.program).to_string()
        }
        (None, None) if setup.image().is_some() => commands::making_image(options),
        (None, None) => commands::installing(options),
    };
    let of_one = match best.fixes.as_slice() {
        &[fix] => trials.prospects.get(fix).and_then(|prospect| prospect.predicted),
        _ => None,
    };
    let predicted = setup.plan().map(|recorded| recorded.plan.summary.predicted_start.as_secs_f64()).or(of_one);
    Ok(Step {
        fix: trials.name(&best.fixes),
        kinds,
        predicted: predicted.filter(|&seconds| seconds > 0.0),
        proven: best.proof.holds,
        findings: best.proof.findings.clone(),
        unchecked: best.proof.unchecked.clone(),
        command,
        limited_by: limits.limited_by(1),
        cost,
        changes: setup.changes(),
    })
}

/// The size of a file in bytes; 0 without one.
fn size_of(file: Option<&Path>) -> u64 {
    file.and_then(|file| file.metadata().ok()).map_or(0, |found| found.len())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::kinds;
    use crate::observer::Silent;

    #[test]
    fn a_story_is_told_whole_without_a_command_line() {
        let folder = tempfile::tempdir().unwrap();
        // Leaves the plan and the dashes out, and becomes the program.
        let file = folder.path().join("launcher");
        std::fs::write(&file, "#!/bin/sh\nshift 2\nexec \"$@\"\n").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        let options = SpeedupOptions {
            program: CommandLine { program: "echo".into(), arguments: vec!["there".into()] },
            launch: LaunchOptions { time_limit: Some(Duration::from_secs(60)), ..LaunchOptions::default() },
            plan: OutputTarget::new(&folder.path().join("echo.prefetch"), kinds::PLAN, false).unwrap(),
            strategy: None,
            fixes: vec![FixKind::Prefetch],
            together: false,
            runs: 2,
            budget: Duration::from_secs(600),
            check: None,
            traces: None,
            launcher: Launcher { name: "launcher".to_owned(), words: Vec::new(), file },
            install_for: None,
        };
        let story = speedup(&options, &Silent, &mut coldstart_measure::Silent).unwrap();
        let called = story.measurement.commands.iter().map(|command| command.label.as_str()).collect::<Vec<_>>();
        assert!(called.len() == 2 && called[0] == PLAIN && called[1].starts_with("with prefetch"), "{called:?}");
        assert!(story.fixes[0].proven, "{:?}", story.fixes[0].findings);
        assert!(story.fixes[0].command.starts_with("launcher "), "{}", story.fixes[0].command);
        assert!(folder.path().join("echo.prefetch").is_file());
    }
}
