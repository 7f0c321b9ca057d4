//! Reading a trace back.

mod events;
mod head;
mod objects;
mod rows;

use std::ops::ControlFlow;

use coldstart_profile::trace::{Event, Trace};

use crate::error::TraceFileError;
use crate::open::TraceFile;

/// Facts about the file itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The version of coldstart that wrote it.
    pub coldstart: String,
    /// How many events are in it.
    pub events: u64,
    /// How many there should be: more, if the disk was full.
    pub events_expected: u64,
    /// How many lookups are in it.
    pub lookups: u64,
    /// How many there should be.
    pub lookups_expected: u64,
}

impl TraceFile {
    /// About the file: who wrote it, and whether anything is missing.
    ///
    /// # Errors
    /// [`TraceFileError::Damaged`].
    pub fn about(&self) -> Result<About, TraceFileError> {
        head::about(self)
    }

    /// Everything except events and lookups; those lists are empty.
    ///
    /// # Errors
    /// [`TraceFileError::Damaged`].
    pub fn head(&self) -> Result<Trace, TraceFileError> {
        head::read(self)
    }

    /// Each event, in order of time, without storing them. `take` may stop early.
    ///
    /// # Errors
    /// [`TraceFileError::Damaged`]; events before the damage were taken.
    pub fn events(&self, mut take: impl FnMut(&Event) -> ControlFlow<()>) -> Result<(), TraceFileError> {
        events::each(self, &mut take)
    }

    /// Everything.
    ///
    /// # Errors
    /// [`TraceFileError::Damaged`], also if it holds not as much as it says.
    pub fn read(&self) -> Result<Trace, TraceFileError> {
        let mut trace = self.head()?;
        let mut kept = Vec::new();
        events::each(self, &mut |event| {
            kept.push(*event);
            ControlFlow::Continue(())
        })?;
        trace.events = kept;
        trace.lookups = events::lookups(self, &trace)?;
        let about = self.about()?;
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        for (what, there, expected) in [
            ("events", count(trace.events.len()), about.events),
            ("lookups", count(trace.lookups.len()), about.lookups),
        ] {
            if there != expected {
                let what = format!("it contains {there} {what}, but states {expected}");
                return Err(TraceFileError::damaged(self.path(), what));
            }
        }
        Ok(trace)
    }
}
