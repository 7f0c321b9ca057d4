//! A whole recording: from the options to a finished trace.
//!
//! Everything that reads the program's files, or takes time, is done before the launch or after the end: [`PreparedTrace::new`] is called
//! before the caches are made cold, [`PreparedTrace::record`] afterwards.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use coldstart_analyse::Places;
use coldstart_launch::{CommandLine, LaunchError, LaunchOptions, Launched, Output, find_program};
use coldstart_profile::trace::{Layer, PagesSeen, Run, RunEnd, StartState, Trace};
use coldstart_sys::private_mounts::PrivateMounts;
use coldstart_sys::tracing::Tracer;

use super::assemble::{Parts, assemble};
use super::disk::DiskRecorder;
use super::follow::{ArmedFunctions, FileFacts, FollowOptions};
use super::function_layer::{self, Arming};
use super::session::{Ending, FollowedStart, follow_start};
use crate::{NameFollower, NameLog, TraceError};

/// What to record, and how to start the program.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// What to record.
    pub layers: BTreeSet<Layer>,
    /// How to start it and when it counts as ready.
    pub launch: LaunchOptions,
    /// Readiness in the words of the command line, for the trace.
    pub readiness: String,
    /// The state of the caches.
    pub state: StartState,
    /// First calls of functions also in pages that the first start did not touch.
    pub functions_everywhere: bool,
}

/// Whether first calls in an object are wanted, by its path and soname.
pub type IsWanted<'a> = dyn Fn(&Path, Option<&str>) -> bool + 'a;

/// A recording with all preparations done.
#[derive(Debug)]
pub struct PreparedTrace<'a> {
    command: &'a CommandLine,
    options: &'a TraceOptions,
    facts: FileFacts,
    places: Places,
}

/// A recorded start.
#[derive(Debug)]
pub struct TracedStart {
    /// The trace.
    pub trace: Trace,
    /// How it went; `None` if we were interrupted.
    pub launched: Option<Launched>,
}

impl<'a> PreparedTrace<'a> {
    /// Finds the program and looks at it and its loader.
    ///
    /// # Errors
    /// [`TraceError::Launch`] if there is no such program, [`TraceError::NotFollowed`] on machines other than x86-64 and
    /// aarch64 with pages of 4 KiB.
    pub fn new(command: &'a CommandLine, options: &'a TraceOptions) -> Result<Self, TraceError> {
        check_machine()?;
        let path = options.launch.environment.iter().rfind(|(name, _)| name == "PATH");
        let path = path.map_or_else(|| std::env::var_os("PATH"), |(_, value)| value.clone());
        let program = find_program(&command.program, path.as_deref(), options.launch.working_directory.as_deref())?;
        let program = std::fs::canonicalize(&program).unwrap_or(program);
        let mut facts = FileFacts::inside(options.launch.mounts.clone());
        facts.learn(&program);
        Ok(Self { command, options, facts, places: Places::here(&program) })
    }

    /// Starts the program, once, or twice if first calls of functions are wanted, and ends whatever is left of it.
    ///
    /// # Errors
    /// See [`TraceError`]. A program that fails is not an error here: the run says how it ended. Neither is a second start that cannot
    /// be: a note says why.
    pub fn record(self, functions_of: &IsWanted<'_>) -> Result<TracedStart, TraceError> {
        let (mut trace, launched) = self.record_once()?;
        let wants = |layer| self.options.layers.contains(&layer);
        if !Tracer::HAS_BREAKPOINTS && (wants(Layer::Phases) || wants(Layer::Functions)) {
            trace.run.notes.push(
                "Loader phases, initialisers and first calls of functions are recorded on x86-64 only: they need breakpoints.".to_owned(),
            );
            return Ok(TracedStart { trace, launched });
        }
        if !wants(Layer::Functions) || launched.is_none() {
            return Ok(TracedStart { trace, launched });
        }
        let arming = function_layer::choose(&trace, self.mounts(), self.options.functions_everywhere, functions_of);
        trace.run.notes.extend(arming.notes.iter().cloned());
        if !arming.functions.is_empty() {
            match self.follow_functions(&arming) {
                Ok(second) => function_layer::add(&mut trace, self.mounts(), &second),
                // What the first one told is not worth less for it.
                Err(error) => trace
                    .run
                    .notes
                    .push(format!("First calls are not recorded, because the second start failed: {error}.")),
            }
        }
        Ok(TracedStart { trace, launched })
    }

    fn record_once(&self) -> Result<(Trace, Option<Launched>), TraceError> {
        let layers = &self.options.layers;
        let wants_files = layers.contains(&Layer::Files);
        let wants_pages = layers.contains(&Layer::Pages);
        let disk = wants_files.then(DiskRecorder::start);
        let disk = std::cell::RefCell::new(disk);
        let namer = wants_files.then(|| NameFollower::start(NameLog::follow_all)).transpose()?;
        let prepare = |child: &mut std::process::Command| {
            if let Some(namer) = &namer {
                namer.watch(child);
            }
        };
        let prepared = || {
            // Here, behind the follower's beginning: what it reads is not the program's.
            if let Some(disk) = &mut *disk.borrow_mut() {
                disk.follow(rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs());
            }
        };
        let options = FollowOptions {
            faults: wants_pages || layers.contains(&Layer::Phases),
            each_page: wants_pages,
            initialisers: Tracer::HAS_BREAKPOINTS && layers.contains(&Layer::Phases),
            functions: ArmedFunctions::default(),
            facts: self.facts.clone(),
            names: wants_files,
            own_filters: 1 + u32::from(wants_files),
        };
        let started = SystemTime::now();
        let start = follow_start(self.command, &self.options.launch, options, Some((&prepare, &prepared)));
        let names = namer.map(NameFollower::finish);
        let disk = disk.into_inner().map(DiskRecorder::finish);
        let start = start.map_err(|error| if wants_files { named_better(error) } else { error })?;
        let names = names.transpose()?;
        let mut run = self.run(&start, started);
        if !wants_pages {
            run.pages = PagesSeen::None;
        }
        let launched = match &start.ending {
            Ending::Launched(launched) => Some(Launched::clone(launched)),
            Ending::Interrupted(_) => None,
        };
        let parts = Parts { start, names, disk, places: &self.places, mounts: self.mounts(), run, layers };
        let mut trace = assemble(parts);
        note_left_behind(&mut trace);
        Ok((trace, launched))
    }

    /// The private view of the start.
    fn mounts(&self) -> Option<&PrivateMounts> {
        self.options.launch.mounts.as_deref()
    }

    fn follow_functions(&self, arming: &Arming) -> Result<FollowedStart, TraceError> {
        let options = FollowOptions {
            faults: false,
            each_page: false,
            initialisers: true,
            functions: arming.functions.clone(),
            facts: self.facts.clone(),
            names: false,
            own_filters: 1,
        };
        // What it says has been said by the first start.
        let mut launch = self.options.launch.clone();
        if launch.output == Output::Inherit {
            launch.output = Output::Null;
        }
        follow_start(self.command, &launch, options, None)
    }

    fn run(&self, start: &FollowedStart, started: SystemTime) -> Run {
        let mut command = vec![self.command.program.clone()];
        command.extend(self.command.arguments.iter().cloned());
        let since = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let uname = rustix::system::uname();
        let is_ready = matches!(&start.ending, Ending::Launched(launched) if launched.ready_after.is_some());
        Run {
            command,
            started: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            layers: self.options.layers.iter().copied().collect(),
            state: self.options.state,
            ready_at: is_ready.then(|| start.moment(start.until)),
            ended_at: start.moment(start.until),
            end: start.end(),
            readiness: self.options.readiness.clone(),
            lost_events: start.followed.lost,
            stops: start.followed.stops,
            stopped: start.followed.stopped,
            kernel: uname.release().to_string_lossy().into_owned(),
            processors: std::thread::available_parallelism().map_or(1, |count| u32::try_from(count.get()).unwrap_or(1)),
            complete: true,
            ..Run::default()
        }
    }
}

/// Whether starts can be traced on this machine at all.
fn check_machine() -> Result<(), TraceError> {
    let page = rustix::param::page_size();
    let reason = if !cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        format!("{} is not supported; x86-64 and aarch64 are", std::env::consts::ARCH)
    } else if page != 4096 {
        format!("this kernel's pages have {page} bytes; only 4096 are supported")
    } else {
        return Ok(());
    };
    Err(TraceError::NotFollowed { reason })
}

/// Finds a concurrent observer of names: the launch only reports "busy".
fn named_better(error: TraceError) -> TraceError {
    match &error {
        TraceError::Launch(LaunchError::Spawn { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => {
            TraceError::NotFollowed {
                reason: "another process observes its system calls already (a container runtime, or another trace); there can be only one: \
                         leave `files` out of the layers"
                    .to_owned(),
            }
        }
        _ => error,
    }
}

/// As in a measurement, all remaining processes are ended with the program: a daemon does not start its work.
fn note_left_behind(trace: &mut Trace) {
    let is_over = matches!(trace.run.end, RunEnd::Exited(_) | RunEnd::Signalled(_));
    let left = trace.processes.iter().filter(|process| process.ended.is_none()).count();
    if is_over && left > 0 {
        let who = if left == 1 { "1 process was".to_owned() } else { format!("{left} processes were") };
        trace.run.notes.push(format!("{who} still running when the program ended, and ended then."));
    }
}
