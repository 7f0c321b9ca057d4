//! Counts of events and seeks, per file, per process and in total.

use std::ops::AddAssign;

use serde::Serialize;

use super::seeks::{Seeks, StagedSeeks};
use super::stage::{ByStage, Stage};
use crate::trace::{EventKind, Touch};

/// What happened to a file, or by a process, or in all. Sums of files and sums of processes are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Activity {
    /// First touches of pages, each counted for each process.
    pub touches: ByStage<TouchCounts>,
    /// First calls of functions.
    pub functions: ByStage<u64>,
    /// Between touches of the same file by the same process. Zero-filled memory has no place in a file and is left out.
    pub touch_seeks: StagedSeeks,
    /// Between first calls of functions of the same file by the same process.
    pub function_seeks: StagedSeeks,
    /// Reads through `read(2)` or one of its kin.
    pub reads: u64,
    /// Pages that they asked for, repeated ones again.
    pub read_pages: u64,
    /// Requests to the disk: runs of pages that came from it together, by whatever process.
    pub disk_requests: u64,
}

/// One event, as it counts.
pub(super) struct Deed {
    pub(super) kind: EventKind,
    pub(super) pages: u32,
    pub(super) stage: Stage,
    /// The step from the event before it, and the stage of that.
    pub(super) step: Option<(Seeks, Stage)>,
}

impl Activity {
    pub(super) fn count(&mut self, deed: &Deed) {
        let seeks = match deed.kind {
            EventKind::Touch(touch) => {
                self.touches[deed.stage] += (&touch).into();
                &mut self.touch_seeks
            }
            EventKind::Function => {
                self.functions[deed.stage] += 1;
                &mut self.function_seeks
            }
            EventKind::Read => {
                self.reads += 1;
                self.read_pages = self.read_pages.saturating_add(u64::from(deed.pages));
                return;
            }
            EventKind::Fill(_) => {
                self.disk_requests += 1;
                return;
            }
        };
        if let Some((step, from)) = deed.step {
            seeks.add(step, from, deed.stage);
        }
    }
}

impl AddAssign for Activity {
    fn add_assign(&mut self, other: Self) {
        self.touches += other.touches;
        self.functions += other.functions;
        self.touch_seeks += other.touch_seeks;
        self.function_seeks += other.function_seeks;
        self.reads = self.reads.saturating_add(other.reads);
        self.read_pages = self.read_pages.saturating_add(other.read_pages);
        self.disk_requests = self.disk_requests.saturating_add(other.disk_requests);
    }
}

/// Touches, and how many of them were of some kind. A touch may be of several kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TouchCounts {
    /// All.
    pub all: u64,
    /// Waited for the disk.
    pub major: u64,
    /// Wrote.
    pub written: u64,
    /// Fetched an instruction.
    pub executed: u64,
    /// By the kernel on the program's behalf.
    pub by_kernel: u64,
    /// Of zero-filled memory of an object.
    pub zero_filled: u64,
    /// Of a page that no process of the run had touched before.
    pub first_of_run: u64,
}

impl From<&Touch> for TouchCounts {
    fn from(touch: &Touch) -> Self {
        Self {
            all: 1,
            major: u64::from(touch.major),
            written: u64::from(touch.write == Some(true)),
            executed: u64::from(touch.execute),
            by_kernel: u64::from(touch.by_kernel),
            zero_filled: u64::from(touch.zero_filled),
            first_of_run: u64::from(touch.first_of_run),
        }
    }
}

impl AddAssign for TouchCounts {
    fn add_assign(&mut self, other: Self) {
        self.all += other.all;
        self.major += other.major;
        self.written += other.written;
        self.executed += other.executed;
        self.by_kernel += other.by_kernel;
        self.zero_filled += other.zero_filled;
        self.first_of_run += other.first_of_run;
    }
}
