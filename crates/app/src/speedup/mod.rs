//! `speedup`: record a program, apply fixes, prove them, and measure before and after.

pub mod copies;
mod fix;
mod prefetch_fix;
mod sameness;
mod story;

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::Context;
use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_measure::{Candidate, MeasurePlan, Observer as RunObserver, StartState};
use coldstart_output::OutputTarget;
use coldstart_prefetch::{Strategy, transfer_limit};
use coldstart_view::numbers::counted;

use crate::error::AppError;
use crate::measure::{candidate, coldest_state, files_of};
use crate::observer::Observer;
use crate::prefetch::PlanRecorder;

pub use story::{Step, Story};

use fix::Fix;
use prefetch_fix::PrefetchFix;

/// The schema of a [`Story`] as JSON.
pub const SCHEMA: &str = "coldstart.speedup/1";

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
    /// Counted runs before and after, in each state.
    pub runs: u32,
    /// The launcher that replays the plan.
    pub launcher: Launcher,
}

/// A program that replays a plan and then executes another program.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The command name for the user.
    pub name: String,
    /// Arguments before the plan.
    pub words: Vec<OsString>,
    /// Its file.
    pub file: PathBuf,
}

impl Launcher {
    /// The small launcher (`crates/launcher`) if it is installed next to this process's executable, otherwise that executable,
    /// which must be `coldstart`.
    ///
    /// # Errors
    /// If this process's executable is unknown.
    pub fn installed() -> Result<Self, AppError> {
        const SMALL: &str = "coldstart-run";
        let ourselves = std::env::current_exe().context("cannot find the executable of this process")?;
        let small = ourselves.with_file_name(SMALL);
        Ok(if small.is_file() {
            Self { name: SMALL.to_owned(), words: Vec::new(), file: small }
        } else {
            Self { name: "coldstart".to_owned(), words: vec!["prefetch".into(), "run".into()], file: ourselves }
        })
    }
}

/// Labels of the measured commands: the plain start, then one with each fix.
pub fn labels() -> Vec<String> {
    vec![PLAIN.to_owned(), with(prefetch_fix::NAME)]
}

const PLAIN: &str = "before";

fn with(fix: &str) -> String {
    format!("with {fix}")
}

/// Records a start, applies each fix, proves it, and measures before and after in alternating order. The program is not
/// changed. `runs` is notified of each run.
///
/// # Errors
/// If the program cannot be started or never becomes ready, or a fix's files cannot be written. It is not an error if no fix
/// makes it faster: see [`Story::succeeded`].
pub fn speedup(
    options: &SpeedupOptions,
    observer: &dyn Observer,
    runs: &mut dyn RunObserver,
) -> Result<Story, AppError> {
    let program = &options.program;
    let cold = coldest_state(observer);

    observer.note(&format!("recording a {cold} start of {program}"));
    let recorder =
        PlanRecorder { command: program, options: &options.launch, strategy: options.strategy, make_cold: true };
    let recorded = recorder.record()?;
    for remark in &recorded.notes {
        observer.note(remark);
    }

    // Each fix of this list is measured against the plain start, in the same rounds.
    let prefetch = PrefetchFix::new(program, &options.launch, &options.plan, &recorded, &options.launcher)?;
    let mut fixes: Vec<Box<dyn Fix + '_>> = vec![Box::new(prefetch)];

    let plain = Candidate {
        label: PLAIN.to_owned(),
        command_line: program.clone(),
        launch: options.launch.clone(),
        files: files_of(&recorded.working_set),
    };
    let mut candidates = vec![plain];
    let mut steps = Vec::new();
    for fix in &mut fixes {
        let command = fix.apply()?;
        let proof = fix.prove()?;
        steps.push(Step {
            fix: fix.name(),
            predicted: fix.predict(),
            proven: proof.holds,
            findings: proof.findings,
            unchecked: proof.unchecked,
            command: fix.command_from_now_on(),
        });
        candidates.push(candidate(with(fix.name()), command, &options.launch)?);
    }

    let starts = counted(options.runs.into(), "start");
    observer.note(&format!("measuring {starts} of each, in alternating order"));
    let mut plan = MeasurePlan::new(candidates, vec![cold, StartState::Hot]);
    plan.runs = options.runs;
    let measurement = coldstart_measure::measure(&plan, runs)?;

    let bytes = recorded.working_set.bytes();
    let device = recorded.plan.summary.device;
    Ok(Story::new(measurement, steps, cold, bytes, device, transfer_limit(bytes, &device)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

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
            runs: 2,
            launcher: Launcher { name: "launcher".to_owned(), words: Vec::new(), file },
        };
        let story = speedup(&options, &Silent, &mut coldstart_measure::Silent).unwrap();
        let called = story.measurement.commands.iter().map(|command| command.label.clone()).collect::<Vec<_>>();
        assert_eq!(called, labels());
        assert!(story.fixes[0].proven, "{:?}", story.fixes[0].findings);
        assert!(story.fixes[0].command.starts_with("launcher "), "{}", story.fixes[0].command);
        assert!(folder.path().join("echo.prefetch").is_file());
    }
}
