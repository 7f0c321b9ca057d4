//! What is known of the program before any fix is tried.

use std::cell::OnceCell;
use std::path::PathBuf;

use coldstart_launch::{CommandLine, Interrupt, LaunchOptions};
use coldstart_prefetch::Strategy;
use coldstart_profile::plan::PlannedDevice;
use coldstart_profile::trace::Trace;

use super::copies::{ProgramFiles, closure_of};
use super::launcher::Launcher;
use crate::error::AppError;
use crate::install::Guard;
use crate::measure::files_of;
use crate::prefetch::{BothPlans, PlanRecorder, RecordedPlan};

/// The program and one recorded start of it.
pub(super) struct Subject<'args> {
    /// The program.
    pub(super) program: &'args CommandLine,
    /// How it is started and waited for.
    pub(super) launch: &'args LaunchOptions,
    /// When a plan is read; `None` for the predicted faster way.
    pub(super) strategy: Option<Strategy>,
    /// The launcher that replays plans.
    pub(super) launcher: &'args Launcher,
    /// A signal that ends the work on copies.
    pub(super) interrupt: Interrupt,
    /// The plan of all pages that a start brings into the cache.
    pub(super) cached: RecordedPlan,
    /// The plan of the pages that a start uses, or why there is none: a clause.
    pub(super) exact: Result<RecordedPlan, String>,
    /// The traced start, if it could be traced.
    pub(super) trace: Option<Trace>,
    /// Found at the first question.
    elf_files: OnceCell<Result<ProgramFiles, String>>,
    /// Decides which files may be changed; `None`: all.
    guard: Option<Guard>,
}

/// Files of the program, split.
#[derive(Default)]
pub(super) struct Changeable {
    /// Those that may be changed.
    pub(super) may: Vec<PathBuf>,
    /// The others, each with the reason as a clause.
    pub(super) may_not: Vec<(PathBuf, String)>,
}

impl<'args> Subject<'args> {
    /// Records the program: a start from cold caches, and a traced one.
    ///
    /// # Errors
    /// If it cannot be started or watched, or never becomes ready.
    pub(super) fn record(
        program: &'args CommandLine,
        launch: &'args LaunchOptions,
        strategy: Option<Strategy>,
        launcher: &'args Launcher,
        guard: Option<Guard>,
    ) -> Result<Self, AppError> {
        let interrupt = match &launch.interrupt {
            Some(interrupt) => interrupt.clone(),
            None => Interrupt::listen()?,
        };
        let recorder = PlanRecorder {
            command: program,
            options: launch,
            strategy,
            make_cold: crate::prefetch::MakeCold::Everything,
            without: None,
        };
        let BothPlans { cached, exact, trace } = recorder.record_both()?;
        Ok(Self {
            program,
            launch,
            strategy,
            launcher,
            interrupt,
            cached,
            exact,
            trace,
            elf_files: OnceCell::new(),
            guard,
        })
    }

    /// The regular files of a start.
    pub(super) fn files(&self) -> Vec<PathBuf> {
        files_of(&self.cached.working_set)
    }

    /// Its ELF files: the program, its loader and libraries, and what the recorded start opened besides.
    ///
    /// # Errors
    /// Why it has none, as a clause: for example, its loader is missing.
    pub(super) fn elf_files(&self) -> Result<&ProgramFiles, &str> {
        let find = || {
            let mut seen = self.files();
            seen.extend(self.cached.privileged.iter().cloned());
            closure_of(&self.program.program, &seen).map_err(|error| error.sentence())
        };
        self.elf_files.get_or_init(find).as_ref().map_err(String::as_str)
    }

    /// The programs that the recorded start executed, as ELF files, the first one first; only that one if the start could not be traced.
    ///
    /// # Errors
    /// As [`Self::elf_files`].
    pub(super) fn executed_programs(&self) -> Result<Vec<PathBuf>, &str> {
        let mut programs = vec![self.elf_files()?.program.clone()];
        let executed = self.trace.iter().flat_map(|trace| &trace.processes).filter(|process| process.executed);
        for path in executed.filter_map(|process| process.program.canonicalize().ok()) {
            if !programs.contains(&path) {
                programs.push(path);
            }
        }
        Ok(programs)
    }

    /// Splits files into those that may be changed, and the others with the reason.
    ///
    /// # Errors
    /// If a package manager does not answer.
    pub(super) fn changeable(&self, files: &[PathBuf]) -> Result<Changeable, AppError> {
        let mut split = Changeable::default();
        let Some(guard) = &self.guard else {
            split.may = files.to_vec();
            return Ok(split);
        };
        for (file, refusal) in files.iter().cloned().zip(guard.refusals(files)?) {
            match refusal {
                None => split.may.push(file),
                Some(reason) => split.may_not.push((file, reason)),
            }
        }
        Ok(split)
    }

    /// The device that holds most of it.
    pub(super) fn device(&self) -> PlannedDevice {
        self.cached.plan.summary.device
    }

    /// Bytes that a start uses: of the used pages if they are known, otherwise of all pages that it brings into the cache.
    pub(super) fn used_bytes(&self) -> u64 {
        self.exact.as_ref().unwrap_or(&self.cached).working_set.bytes()
    }

    /// Duration of the recorded cold start, in seconds.
    pub(super) fn cold_seconds(&self) -> f64 {
        self.cached.plan.summary.recorded_start.as_secs_f64()
    }
}
