//! What is to be measured.

use std::path::PathBuf;
use std::sync::Arc;

use coldstart_launch::{CommandLine, LaunchOptions};
use coldstart_pagecache::SavedPageCache;
use coldstart_profile::measurement::StartState;
use coldstart_sys::drop_caches::may_drop_caches;

use crate::enough::EarlyEnd;
use crate::error::MeasureError;

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct MeasurePlan {
    /// The commands; the first is the baseline of the comparisons.
    pub commands: Vec<Candidate>,
    /// The states to start from; order and repetition do not matter.
    pub states: Vec<StartState>,
    /// What to bring back before each start from [`StartState::Boot`].
    pub saved_state: Option<SavedState>,
    /// Runs of each command in each state that shall count, at least 1. Below 2 there are no intervals.
    pub runs: u32,
    /// When to end before all runs are done; `None` for never.
    pub early_end: Option<EarlyEnd>,
    /// How many runs that contradict their state are repeated at most, for each command and state.
    pub most_repetitions: u32,
    /// Count runs that exit with another code than 0, too.
    pub accept_any_exit_code: bool,
    /// Hold the processors at their base frequency meanwhile.
    pub fixed_frequency: bool,
}

/// A saved state of the page cache, and where it came from.
#[derive(Clone, Debug)]
pub struct SavedState {
    /// The file, for reports.
    pub file: PathBuf,
    /// What was in it.
    pub pages: Arc<SavedPageCache>,
}

/// One command to measure.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What to call it in tables.
    pub label: String,
    /// The program and its arguments.
    pub command_line: CommandLine,
    /// How to launch it. Give all the same [`coldstart_launch::Interrupt`], or Ctrl-C leaves processes behind.
    pub launch: LaunchOptions,
    /// The files that a start reads, from a recording. Needed for the selective state; without them the other states are
    /// checked by what a run reads only.
    pub files: Vec<PathBuf>,
}

impl MeasurePlan {
    /// A plan of 10 runs, with as many repetitions of contradicting runs.
    pub fn new(commands: Vec<Candidate>, states: Vec<StartState>) -> Self {
        Self {
            commands,
            states,
            saved_state: None,
            runs: 10,
            early_end: None,
            most_repetitions: 10,
            accept_any_exit_code: false,
            fixed_frequency: false,
        }
    }

    /// The states asked for, each once, in the order in which they are measured: cold, boot, selective, hot.
    pub fn states_in_order(&self) -> Vec<StartState> {
        let mut states = self.states.clone();
        states.sort_unstable();
        states.dedup();
        states
    }

    /// What cannot be done is refused before anything is launched.
    pub(crate) fn check(&self) -> Result<(), MeasureError> {
        if self.commands.is_empty() || self.states.is_empty() || self.runs == 0 {
            return Err(MeasureError::NothingToMeasure);
        }
        let drops = |state: &StartState| matches!(state, StartState::Cold | StartState::Boot);
        if let Some(&state) = self.states.iter().find(|state| drops(state)).filter(|_| !may_drop_caches()) {
            return Err(MeasureError::ColdNotPermitted { state });
        }
        if self.states.contains(&StartState::Boot) && self.saved_state.is_none() {
            return Err(MeasureError::NoSavedState);
        }
        if self.states.contains(&StartState::Selective)
            && let Some(without) = self.commands.iter().find(|candidate| candidate.files.is_empty())
        {
            return Err(MeasureError::NoFiles { label: without.label.clone() });
        }
        Ok(())
    }
}
