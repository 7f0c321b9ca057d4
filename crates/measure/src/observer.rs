//! Observers of a measurement, such as a progress bar.
//!
//! Events come between runs only: drawing during a run would take time from the program that is being timed.

use coldstart_profile::measurement::{Sample, StartState};

/// An event between runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Measuring begins; this many runs are planned. Warm-ups and repetitions are extra.
    Begin {
        /// Counted runs planned.
        runs: usize,
        /// The labels of the commands.
        labels: &'a [String],
    },
    /// A run is about to be prepared.
    Next {
        /// Index of the command.
        command: usize,
        /// The state.
        state: StartState,
        /// Round within the state, from 1.
        round: u32,
        /// The run only prepares the state.
        is_warm_up: bool,
        /// 1, or more after runs that contradicted the state.
        attempt: u32,
    },
    /// A run is over. Comparison with later ones may still contradict its state.
    Done {
        /// The run.
        sample: &'a Sample,
        /// Whether it settles a planned run, counted or not; for counting progress.
        settles_slot: bool,
    },
    /// Planned runs that are skipped, because the command has only failed so far.
    GaveUp {
        /// Index of the command.
        command: usize,
        /// The state.
        state: StartState,
        /// Number of runs.
        runs: u32,
    },
    /// Planned runs that are not needed any more, or for which no time is left ([`crate::EarlyEnd`]).
    Enough {
        /// The state.
        state: StartState,
        /// Number of runs of all commands.
        runs: usize,
    },
    /// All runs are over.
    End,
}

/// Receives events.
pub trait Observer {
    /// Handles an event.
    fn event(&mut self, event: Event<'_>);
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&mut self, _event: Event<'_>) {}
}

impl<F: FnMut(Event<'_>)> Observer for F {
    fn event(&mut self, event: Event<'_>) {
        self(event);
    }
}
