//! Who watches the measuring, such as a progress bar.
//!
//! Events come between runs only: drawing during a run would take time from the program that is being timed.

use coldstart_profile::measurement::{Sample, StartState};

/// Something that happened between runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Measuring begins; this many runs are planned. Warm-ups and repetitions come on top.
    Begin {
        /// Counted runs planned.
        runs: usize,
    },
    /// A run is about to be prepared.
    Next {
        /// Index of the command.
        command: usize,
        /// The state.
        state: StartState,
        /// Round within the state, from 1.
        round: u32,
        /// The run only brings the state about.
        is_warm_up: bool,
        /// 1, or more if runs before it contradicted the state.
        attempt: u32,
    },
    /// A run is over. It may yet be found to contradict its state by comparison with later ones.
    Done {
        /// The run.
        sample: &'a Sample,
        /// A planned run is settled by it, whether counted or not; for counting progress.
        settles_slot: bool,
    },
    /// Planned runs that will not be tried, because the command has only failed so far.
    GaveUp {
        /// Index of the command.
        command: usize,
        /// The state.
        state: StartState,
        /// How many.
        runs: u32,
    },
    /// All runs are over.
    End,
}

/// Takes events.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: Event<'_>);
}

/// Takes no notice.
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
