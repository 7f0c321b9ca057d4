//! The real machine.

mod devices;
mod facts;
mod files;
mod metadata;
mod processors;
mod saved_state;

use std::collections::HashMap;
use std::time::Duration;

use coldstart_launch::{
    CommandLine, End as LaunchEnd, LaunchError, LaunchOptions, Launched, PreparedLaunch, Uncounted,
};
use coldstart_profile::measurement::{
    End, EvictionWay, Overhead, ProcessorUse, Residency, SavedStateFacts, StartState, StayedFile,
};
use coldstart_sys::drop_caches::drop_caches;

use self::devices::Devices;
use self::files::{Stayed, evict, look};
use self::metadata::Metadata;
use self::processors::Processors;
use self::saved_state::Boot;
use crate::error::MeasureError;
use crate::overhead;
use crate::plan::{Candidate, MeasurePlan};
use crate::runner::{Machine, RawRun, RestoredPages};
use crate::surroundings::Surroundings;

/// Launches of `true` to measure the launch floor. The first ones also bring our own code into memory,
/// where it stays mapped and is not dropped with the caches.
const FLOOR_LAUNCHES: usize = 11;

/// What the counters of devices and processors say.
type Reading = (devices::Reading, Option<ProcessorUse>);

/// The real machine, and facts learned during the measurement.
pub(crate) struct RealMachine<'a> {
    plan: &'a MeasurePlan,
    devices: Devices,
    processors: Processors,
    surroundings: Surroundings,
    overhead: Option<Overhead>,
    stayed: HashMap<(usize, StartState), Stayed>,
    /// Only if a state needs it.
    metadata: Option<Metadata>,
    boot: Option<Boot<'a>>,
}

/// Facts about the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) machine: coldstart_profile::measurement::Machine,
    pub(crate) overhead: Option<Overhead>,
    /// Files that stayed in memory despite eviction, most pages first.
    pub(crate) stayed: HashMap<(usize, StartState), Vec<StayedFile>>,
    /// By command, how metadata was evicted for selective starts.
    pub(crate) ways: HashMap<usize, Vec<EvictionWay>>,
    /// By command, how close starts as after boot came to the saved state.
    pub(crate) saved_states: HashMap<usize, SavedStateFacts>,
}

impl<'a> RealMachine<'a> {
    pub(crate) fn new(plan: &'a MeasurePlan) -> Result<Self, MeasureError> {
        // First: it may fix the frequency, which affects all that follows.
        let surroundings = Surroundings::begin(plan.fixed_frequency)?;
        let devices = Devices::of(plan.commands.iter().flat_map(|candidate| &candidate.files));
        let processors = Processors::new();
        let mut machine = Self {
            plan,
            devices,
            processors,
            surroundings,
            overhead: None,
            stayed: HashMap::new(),
            metadata: None,
            boot: None,
        };
        let floor_times = machine.floor_times()?;
        let readiness: Vec<String> =
            plan.commands.iter().map(|candidate| candidate.launch.readiness.to_string()).collect();
        machine.overhead = Some(overhead::calibrate(&floor_times, &readiness));
        if plan.states.contains(&StartState::Selective) {
            machine.metadata = Some(Metadata::of(plan));
        }
        if plan.states.contains(&StartState::Boot) {
            machine.boot = plan.saved_state.as_ref().map(|saved| Boot::new(saved, plan));
        }
        Ok(machine)
    }

    pub(crate) fn into_facts(self) -> Facts {
        let mut machine = facts::machine(self.devices.facts());
        self.surroundings.end(&mut machine);
        Facts {
            machine,
            overhead: self.overhead,
            stayed: self.stayed.into_iter().map(|(key, stayed)| (key, stayed.into_list())).collect(),
            ways: self.metadata.map(Metadata::into_ways).unwrap_or_default(),
            saved_states: self.boot.map(Boot::into_facts).unwrap_or_default(),
        }
    }

    /// Times of starting `true`, in seconds; none if there is no such program.
    fn floor_times(&mut self) -> Result<Vec<f64>, MeasureError> {
        let Some(first) = self.plan.commands.first() else { return Ok(Vec::new()) };
        let options = LaunchOptions { interrupt: first.launch.interrupt.clone(), ..LaunchOptions::default() };
        let command = CommandLine::new("true", [] as [&str; 0]);
        let mut times = Vec::with_capacity(FLOOR_LAUNCHES);
        for _ in 0..FLOOR_LAUNCHES {
            let prepared = match PreparedLaunch::new(&command, &options, None) {
                Ok(prepared) => prepared,
                // A container may contain nothing but the program.
                Err(LaunchError::NotFound { .. }) => return Ok(Vec::new()),
                Err(source) => return Err(MeasureError::Launch { label: "true".into(), source }),
            };
            let (launched, _) =
                self.launch(prepared).map_err(|source| MeasureError::Launch { label: "true".into(), source })?;
            times.extend(launched.ready_after.map(|time| time.as_secs_f64()));
        }
        Ok(times)
    }

    fn launch(&mut self, prepared: PreparedLaunch) -> Result<(Launched, Option<Reading>), LaunchError> {
        let (devices, processors) = (&mut self.devices, &mut self.processors);
        // The program's pages must be charged to the group, in any state, so that they can be evicted later.
        let _inside = self.metadata.as_mut().map(Metadata::inside);
        devices.begin();
        processors.begin();
        let mut reading = None;
        let launched = prepared.run(&mut || reading = Some((devices.since_begin(), processors.since_begin())))?;
        Ok((launched, reading))
    }

    /// Prepares a state and returns the residency right after, or for a cold start the residency before
    /// the caches are dropped the second time.
    fn bring_about(
        &mut self,
        command: usize,
        candidate: &Candidate,
        state: StartState,
    ) -> Result<Brought, MeasureError> {
        let drop_all = || drop_caches().map_err(|source| MeasureError::DropCaches { source });
        match state {
            StartState::Hot => Ok(Brought::found(look(&candidate.files, &mut |_, _| {}))),
            StartState::Boot => {
                let boot = self.boot.as_mut().ok_or(MeasureError::NoSavedState)?;
                let restored = boot.bring_back(command)?;
                let residency = look(boot.files_of(command), &mut |_, _| {});
                Ok(Brought { residency, restored: Some(restored) })
            }
            StartState::Selective => {
                let stayed = self.stayed.entry((command, state)).or_default();
                let residency = {
                    // Opening the files may read metadata, which the group should own.
                    let _inside = self.metadata.as_mut().map(Metadata::inside);
                    evict(&candidate.files, &mut |path, pages| stayed.note(path, pages))
                        .map_err(|source| MeasureError::Evict { label: candidate.label.clone(), source })?
                };
                // Last, because reading residency brings metadata back.
                if let Some(metadata) = &mut self.metadata {
                    metadata.evict(command);
                }
                Ok(Brought::found(Some(residency)))
            }
            StartState::Cold => {
                // Opening the files to check them reads their directories and inodes, which must be cold, too. So drop
                // again: pages that survived the first time survive the second time as well.
                drop_all()?;
                let stayed = self.stayed.entry((command, state)).or_default();
                let residency = look(&candidate.files, &mut |path, pages| stayed.note(path, pages));
                drop_all()?;
                Ok(Brought::found(residency))
            }
        }
    }
}

/// A prepared state, as far as it was checked.
struct Brought {
    residency: Option<Residency>,
    restored: Option<RestoredPages>,
}

impl Brought {
    fn found(residency: Option<Residency>) -> Self {
        Self { residency, restored: None }
    }
}

impl Machine for RealMachine<'_> {
    fn residency(&mut self, command: usize) -> Result<Option<Residency>, MeasureError> {
        Ok(self.plan.commands.get(command).and_then(|candidate| look(&candidate.files, &mut |_, _| {})))
    }

    fn run(&mut self, command: usize, state: StartState) -> Result<RawRun, MeasureError> {
        let plan = self.plan;
        let candidate = plan.commands.get(command).ok_or(MeasureError::NothingToMeasure)?;
        let failed = |source| MeasureError::Launch { label: candidate.label.clone(), source };
        // Before the state is prepared: finding the program reads its directories.
        let prepared = PreparedLaunch::new(&candidate.command_line, &candidate.launch, None).map_err(failed)?;
        let brought = self.bring_about(command, candidate, state)?;
        let (launched, reading) = self.launch(prepared).map_err(failed)?;
        // Never ready: then until the end.
        let (devices, processors) =
            reading.unwrap_or_else(|| (self.devices.since_begin(), self.processors.since_begin()));
        Ok(raw_run(&launched, brought, self.devices.reads(&devices), processors))
    }
}

fn raw_run(
    launched: &Launched,
    brought: Brought,
    devices: Vec<coldstart_profile::measurement::DeviceReads>,
    processors: Option<ProcessorUse>,
) -> RawRun {
    let (counts, usage) = (launched.counts, launched.usage);
    let times_are_whole = counts.unknown != Some(Uncounted::ChildrenNotWaitedFor);
    let processor_time = |time: Duration| times_are_whole.then_some(time.as_secs_f64());
    RawRun {
        seconds: launched.ready_after.map(|time| time.as_secs_f64()),
        end: match launched.end {
            LaunchEnd::Exited(code) => End::Exited(code),
            LaunchEnd::Signalled(signal) => End::Signalled(signal),
            LaunchEnd::Ended => End::Ended,
            LaunchEnd::TimedOut => End::TimedOut,
        },
        last_seen: launched.last_seen.clone(),
        residency: brought.residency,
        restored: brought.restored,
        bytes_read: counts.bytes_read,
        major_faults: counts.major_faults,
        minor_faults: counts.minor_faults,
        user_seconds: processor_time(usage.user),
        system_seconds: processor_time(usage.system),
        uncounted: counts.unknown.map(|reason| reason.to_string()),
        devices,
        processors,
    }
}
