//! Processes and threads of a profile.
//!
//! The profiler keeps an image of a process apart from the next one after `execve`, as traces do: the second has ".1"
//! after its number.

use std::collections::HashMap;

use coldstart_profile::trace::{Moment, ProcessId, ThreadId, Trace};
use fxprof_processed_profile::{ProcessHandle, Profile, ThreadHandle, Timestamp};

use super::super::names::Names;

/// More tracks than this would not be looked at; the rest can be switched on.
const SHOWN_AT_FIRST: usize = 12;

/// A trace's processes and threads in the profile. Each process has a main thread.
pub(super) struct Threads {
    processes: Vec<ProcessHandle>,
    main: Vec<ThreadHandle>,
    threads: Vec<ThreadHandle>,
    nobody: ThreadHandle,
}

impl Threads {
    /// Adds them to the profile; `source` is put before the names of processes.
    pub(super) fn new(names: &Names<'_>, source: Option<&str>, profile: &mut Profile) -> Self {
        let trace = names.trace;
        let title = |name: &str| source.map_or_else(|| name.to_owned(), |source| format!("{source}: {name}"));
        let mut processes = Vec::with_capacity(trace.processes.len());
        let mut main = Vec::with_capacity(trace.processes.len());
        for (place, process) in (0..).zip(&trace.processes) {
            let name = names.program(ProcessId(place));
            let began = moment(process.began);
            let handle = profile.add_process(&title(&name), process.number, began);
            profile
                .set_process_end_time(handle, moment(process.ended.unwrap_or(trace.run.ended_at).max(process.began)));
            let thread = profile.add_thread(handle, process.number, began, true);
            profile.set_thread_name(thread, &name);
            profile.set_thread_show_markers_in_timeline(thread, true);
            processes.push(handle);
            main.push(thread);
        }
        let nobody = match main.first() {
            Some(first) => *first,
            None => {
                let process = profile.add_process(&title("(unknown)"), 0, moment(Moment(0)));
                profile.add_thread(process, 0, moment(Moment(0)), true)
            }
        };
        let mut threads = Vec::with_capacity(trace.threads.len());
        for thread in &trace.threads {
            let place = usize::try_from(thread.process.0).ok();
            let process = place.and_then(|place| trace.processes.get(place));
            let handles = place.and_then(|place| Some((processes.get(place)?, main.get(place)?)));
            threads.push(match (process, handles) {
                (Some(process), Some((_, main))) if process.number == thread.number => *main,
                (Some(process), Some((handle, _))) => {
                    let added = profile.add_thread(*handle, thread.number, moment(process.began), false);
                    profile.set_thread_name(added, "thread");
                    added
                }
                _ => nobody,
            });
        }
        let all = Self { processes, main, threads, nobody };
        all.choose(trace, profile);
        all
    }

    /// The busiest processes are shown first, and the busiest of all is chosen.
    fn choose(&self, trace: &Trace, profile: &mut Profile) {
        let mut events: HashMap<u32, u64> = HashMap::new();
        for event in &trace.events {
            if let Some(process) = trace.process_of(event) {
                *events.entry(process.0).or_default() += 1;
            }
        }
        let mut busiest: Vec<(u64, u32)> = events.into_iter().map(|(process, count)| (count, process)).collect();
        busiest.sort_unstable_by_key(|(count, process)| (std::cmp::Reverse(*count), *process));
        for (_, process) in busiest.iter().take(SHOWN_AT_FIRST) {
            profile.add_initial_visible_thread(self.main(ProcessId(*process)));
        }
        if let Some((_, process)) = busiest.first() {
            profile.add_initial_selected_thread(self.main(ProcessId(*process)));
        }
    }

    pub(super) fn process(&self, process: ProcessId) -> Option<ProcessHandle> {
        self.processes.get(usize::try_from(process.0).ok()?).copied()
    }

    /// The position of a process's phases.
    pub(super) fn main(&self, process: ProcessId) -> ThreadHandle {
        let place = usize::try_from(process.0).ok();
        place.and_then(|place| self.main.get(place)).copied().unwrap_or(self.nobody)
    }

    pub(super) fn of(&self, thread: ThreadId) -> ThreadHandle {
        let place = usize::try_from(thread.0).ok();
        place.and_then(|place| self.threads.get(place)).copied().unwrap_or(self.nobody)
    }

    /// The thread for events without a known one: that of the first process.
    pub(super) fn nobody(&self) -> ThreadHandle {
        self.nobody
    }
}

fn moment(at: Moment) -> Timestamp {
    Timestamp::from_nanos_since_reference(at.0)
}
