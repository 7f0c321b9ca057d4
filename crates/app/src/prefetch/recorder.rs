//! From one start to a plan: the pages it reads, the device's performance, and when to read.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use coldstart_launch::{CommandLine, LaunchOptions, Launched, launch};
use coldstart_pagecache::{EvictOptions, evict};
use coldstart_prefetch::{Choice, PlanInput, Strategy, plan_prefetch, probe_device};
use coldstart_profile::plan::{PlannedDevice, PrefetchPlan};
use coldstart_profile::trace::Trace;
use coldstart_profile::{FileKind, WorkingSet, printable};
use coldstart_sys::drop_caches::{drop_caches, may_drop_caches};
use coldstart_sys::private_mounts::outside;
use coldstart_trace::{Recording, RecordingNotes, record_working_set};
use coldstart_view::numbers::counted;

use super::exact::{BothPlans, Refusal, UsedPages, record_both, traced, used};
use crate::error::{AppError, HintExt, sentence};

/// How to record a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanRecorder<'args> {
    /// The program.
    pub command: &'args CommandLine,
    /// How it is started and waited for.
    pub options: &'args LaunchOptions,
    /// When to read; `None` for the predicted faster way.
    pub strategy: Option<Strategy>,
    /// What is made cold before the recorded start.
    pub make_cold: MakeCold,
    /// Files of this directory are left out: those of an index, which whoever starts the program with it reads.
    pub without: Option<&'args Path>,
}

/// What is made cold before a recorded start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MakeCold {
    /// Nothing: the caches are as they are.
    Nothing,
    /// The program's own files, which a first start tells. What others have in memory stays there.
    OwnFiles,
    /// All caches of the system; without permission for that, the program's own files.
    Everything,
}

impl From<bool> for MakeCold {
    /// Whether caches are made cold at all.
    fn from(is_cold: bool) -> Self {
        if is_cold { Self::Everything } else { Self::Nothing }
    }
}

/// A plan and its origin.
#[derive(Clone, Debug)]
pub struct RecordedPlan {
    /// The plan.
    pub plan: PrefetchPlan,
    /// The working set of the recorded start.
    pub working_set: WorkingSet,
    /// The two plans that it was chosen from, if there were two.
    pub choice: Option<Choice>,
    /// Notes about the recording, one sentence each.
    pub notes: Vec<String>,
    /// Files of the start that give rights to the programs in them.
    pub privileged: Vec<PathBuf>,
}

/// Said where not all caches were dropped.
const OWN_FILES_ONLY: &str = "the program's own files were evicted, not the system's caches, which requires root outside of \
                              a container and slows others down: the order of pages inside a file is not known";

impl PlanRecorder<'_> {
    /// Records a start, measures the device and a hot start, and plans.
    ///
    /// # Errors
    /// If the program cannot be started or watched, or never becomes ready.
    pub fn record(&self) -> Result<RecordedPlan, AppError> {
        let mut notes = Vec::new();
        let recording = self.recording(&mut notes)?;
        let privileged = recording.notes.privileged_files;
        let hot_start = self.hot_start()?;
        let planner = Planner { strategy: self.strategy, hot_start };
        let device = planner.device_of(&recording.working_set, &mut notes);
        let plan = planner.plan(&recording.working_set, device);
        Ok(RecordedPlan { plan, working_set: recording.working_set, choice: None, notes, privileged })
    }

    /// Records a start and traces another one, and plans both: all pages that came into the cache, and those that were used.
    ///
    /// # Errors
    /// As [`Self::record`]. A program that cannot be traced has the first plan only.
    pub(crate) fn record_both(&self) -> Result<BothPlans, AppError> {
        record_both(self)
    }

    /// Traces a start with the layers that a plan of the used pages needs, as cold as possible.
    pub(crate) fn trace(&self) -> Result<Trace, Refusal> {
        traced(self).map(|(trace, _)| trace)
    }

    /// Records a start without tracing it.
    pub(super) fn recording(&self, notes: &mut Vec<String>) -> Result<Recording, AppError> {
        let recording = match self.make_cold {
            MakeCold::Nothing => self.record_once()?,
            MakeCold::OwnFiles | MakeCold::Everything => self.record_cold(notes)?,
        };
        notes.extend(notes_in_words(&recording.notes));
        Ok(recording)
    }

    /// Traces a start and returns the pages that it used. Where it cannot be traced, or they are unknown, all pages that came into the
    /// cache count, and a note says so.
    ///
    /// # Errors
    /// As [`Self::record`].
    pub(crate) fn used(&self) -> Result<UsedPages, AppError> {
        used(self)
    }

    /// Makes the caches cold in the best available way, and records.
    fn record_cold(&self, notes: &mut Vec<String>) -> Result<Recording, AppError> {
        if self.make_cold == MakeCold::Everything && may_drop_caches() {
            drop_caches().context("cannot drop the caches")?;
            return self.record_once();
        }
        notes.push(OWN_FILES_ONLY.to_owned());
        let learned = self.record_once()?;
        for file in learned.working_set.files.iter().filter(|file| file.kind != FileKind::BlockDevice) {
            // Errors are ignored: pages that remain in memory are missing from the plan and cost nothing at this start.
            let place = outside(self.options.mounts.as_deref(), &file.path);
            let _ = evict(place, EvictOptions { write_first: false });
        }
        self.record_once()
    }

    /// Removes what is left out.
    pub(super) fn leave_out(&self, set: &mut WorkingSet) {
        if let Some(directory) = self.without {
            set.files.retain(|file| !file.path.starts_with(directory));
            set.names.retain(|name| !name.path.starts_with(directory));
        }
    }

    fn record_once(&self) -> Result<Recording, AppError> {
        let mut recording = record_working_set(self.command, self.options)?;
        self.leave_out(&mut recording.working_set);
        let demanded = self.demand_readiness(&recording.launched);
        match recording.notes.privileged_files.first() {
            Some(first) if demanded.is_err() && !rustix::process::geteuid().is_root() => demanded.hint(|| {
                let first = printable(first);
                format!("`{first}` gains rights when it starts, but not while a start is recorded without root: run this as root")
            })?,
            _ => demanded?,
        }
        Ok(recording)
    }

    /// The faster of two consecutive hot starts. A failed start is repeated.
    pub(super) fn hot_start(&self) -> Result<Option<Duration>, AppError> {
        let mut best = None;
        let (mut succeeded, mut failed) = (0, 0);
        while succeeded < HOT_STARTS {
            let launched = launch(self.command, self.options, None, &mut || ())?;
            if launched.succeeded() {
                succeeded += 1;
                best = launched.ready_after.into_iter().chain(best).min();
                continue;
            }
            failed += 1;
            if failed > HOT_STARTS {
                self.demand_readiness(&launched)?;
            }
        }
        Ok(best)
    }

    pub(super) fn demand_readiness(&self, launched: &Launched) -> Result<(), AppError> {
        if launched.succeeded() {
            return Ok(());
        }
        Err(anyhow!("cannot record `{}`: it {}", self.command, launched.end)).hint(
            || "run it by hand first; see its output with --show-output, and set the readiness condition with --ready",
        )
    }
}

/// Number of hot starts, of which the fastest counts, and of permitted failures.
const HOT_STARTS: u32 = 2;

/// From a working set to a plan.
pub(super) struct Planner {
    pub(super) strategy: Option<Strategy>,
    pub(super) hot_start: Option<Duration>,
}

impl Planner {
    pub(super) fn plan(&self, working_set: &WorkingSet, device: PlannedDevice) -> PrefetchPlan {
        plan_prefetch(&PlanInput {
            working_set,
            device,
            hot_start: self.hot_start,
            recorded_at: now(),
            strategy: self.strategy,
        })
    }

    /// Measures the device with the largest files; if that fails, assumes an ordinary SSD and adds a note.
    pub(super) fn device_of(&self, working_set: &WorkingSet, notes: &mut Vec<String>) -> PlannedDevice {
        let regular = |file: &&coldstart_profile::FileUse| file.kind != FileKind::BlockDevice;
        let paths: Vec<PathBuf> = working_set.files.iter().filter(regular).map(|file| file.path.clone()).collect();
        probe_device(&paths).unwrap_or_else(|error| {
            let error = anyhow::Error::new(error);
            notes.push(format!("cannot measure the device ({}); the plan assumes an ordinary SSD", sentence(&error)));
            PlannedDevice { latency: Duration::from_micros(100), bandwidth: 500_000_000, parallel: 8, seeks: false }
        })
    }
}

/// The present, in seconds since 1970-01-01 UTC.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

pub(super) fn notes_in_words(notes: &RecordingNotes) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(reason) = &notes.no_fills {
        words.push(format!("{reason}; pages are ordered by the first opening of their files"));
    }
    if notes.lost_events > 0 {
        words.push(format!("lost {} page-cache events; the order of their pages is unknown", notes.lost_events));
    }
    for reason in &notes.no_metadata {
        words.push(format!("metadata blocks are not in the plan: {reason}"));
    }
    if let Some(first) = notes.unknown_files.first() {
        words.push(format!(
            "{} left out, because the resident pages are unknown; the first: {first}",
            counted_are(notes.unknown_files.len() as u64, "file")
        ));
    }
    words
}

/// `1 file is`, `2 files are`: a count as the subject of a sentence.
pub(super) fn counted_are(count: u64, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}
