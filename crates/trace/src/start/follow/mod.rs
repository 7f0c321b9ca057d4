//! Tracing a start from stop to stop, in a separate process.
//!
//! There are few stops: mappings of files (reported by a filter), the loader's debugger hook and the program's entry (debug
//! registers), and the creation, replacement and end of processes. Not obvious: memory that the program has not touched
//! itself must not be read either, because that would map the page, and the program's own first use would never be seen.

mod birth;
mod facts;
mod functions;
mod handler;
mod image;
mod initialisers;
mod limits;
mod memory;
mod pages;
mod signals;
mod space;
mod stages;
mod standing;

use coldstart_analyse::Note;
use coldstart_follow::{EventLoop, Waiting};
use coldstart_sys::beside::Line;
use coldstart_sys::fault_recorder::{FaultRecorder, FaultRecorderOptions, PerfRecord};
use coldstart_sys::time_stamp::{TimeStamp, monotonic_nanoseconds};
use coldstart_sys::tracing::{MoreStops, PendingTracee};
use coldstart_sys::wake_latency::keep_processors_awake;
use serde::{Deserialize, Serialize};

pub(super) use facts::FileFacts;
pub(super) use functions::{ArmedFunctions, FileKey};
use handler::StartHandler;

/// What to record besides loader phases.
pub(super) struct FollowOptions {
    /// Record page faults, besides mappings and processes.
    pub(super) faults: bool,
    /// Switch fault-around off.
    pub(super) each_page: bool,
    /// Record the call of each initialiser.
    pub(super) initialisers: bool,
    /// Functions whose first calls are noted.
    pub(super) functions: ArmedFunctions,
    /// What is known of files already, so that they need not be read during the start.
    pub(super) facts: FileFacts,
    /// Whether the program's lookups of names are told to us, which they can be to one listener only.
    pub(super) names: bool,
    /// How many filters of ours the program has; with more, some are its own.
    pub(super) own_filters: u32,
}

/// The notes and records.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Followed {
    /// `CLOCK_MONOTONIC` in nanoseconds when the program's process was let go on to its first `execve`: making ready to record is not
    /// part of the start.
    pub(super) began_at: u64,
    /// Number of the program's first process.
    pub(super) first: u32,
    pub(super) notes: Vec<Note>,
    pub(super) records: Vec<PerfRecord>,
    pub(super) lost: u64,
    /// Why there are no records.
    pub(super) no_records: Option<String>,
    /// Limits of the records, a clause each.
    pub(super) record_limits: Vec<String>,
    pub(super) stops: u64,
    /// Nanoseconds.
    pub(super) stopped: u64,
    /// Why tracing did not begin, or ended early.
    pub(super) trouble: Option<String>,
}

/// Traces the program until all of it has ended.
pub(super) fn follow(pending: PendingTracee, mut options: FollowOptions, line: &Line) -> Followed {
    let began = TimeStamp::now();
    // A container's filter, say, which we have ourselves.
    options.own_filters = options.own_filters.saturating_add(standing::filters(std::process::id()));
    let (tracer, first) = match pending.seize_with(MoreStops::FilterAndExit) {
        Ok(Some(seized)) => seized,
        // The launch has an error of its own to tell.
        Ok(None) => return Followed::default(),
        Err(error) => return Followed { trouble: Some(error.to_string()), ..Followed::default() },
    };
    let mut followed = Followed { first, ..Followed::default() };
    let each_page = options.each_page;
    let wanted = FaultRecorderOptions { faults: options.faults, ..FaultRecorderOptions::default() };
    let recorder = FaultRecorder::start(first, &wanted);
    let recorder = recorder.map_err(|error| followed.no_records = Some(error.to_string())).ok();
    // A stop wakes a processor twice. Where it may not be had, stops take longer.
    let _awake = keep_processors_awake();
    followed.began_at = monotonic_nanoseconds();
    let mut events = EventLoop::new(tracer, first, Waiting::Blocking, StartHandler::new(options, line));
    if let Err(error) = events.run() {
        followed.trouble = Some(error.to_string());
    }
    let ended = TimeStamp::now();
    let (handler, times) = events.into_parts();
    (followed.stops, followed.stopped) = (times.stops, times.stopped);
    followed.notes = handler.into_notes(began, ended);
    if let Some(recorder) = recorder {
        match recorder.finish() {
            Ok(recorded) => {
                followed.lost = recorded.lost;
                followed.record_limits = limits::limits(&recorded, each_page);
                followed.records = recorded.records().collect();
            }
            Err(error) => followed.no_records = Some(error.to_string()),
        }
    }
    followed
}
