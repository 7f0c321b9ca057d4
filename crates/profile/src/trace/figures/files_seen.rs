//! The parts of the layer `files` that a trace really has. Recording names needs permission to trace the program;
//! reads and disk requests come from tracefs, which needs root. Without it a trace has the layer, but these figures
//! are unknown, not zero.

use serde::Serialize;

use super::Activity;
use crate::trace::{Layer, Run};

/// Which kinds of what is recorded with files there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FilesSeen {
    /// Names that were asked for.
    pub names: bool,
    /// Parts of files that were read.
    pub reads: bool,
    /// What came from the disk.
    pub fills: bool,
}

impl FilesSeen {
    /// Of a run with this sum of all that was done. No start reads nothing: the kernel itself reads the first page of
    /// the program that it executes. So where no read is, none was looked for; and where not a page came from the
    /// disk, but reads were seen, none came.
    pub(super) fn of(run: &Run, total: &Activity) -> Self {
        let names = run.layers.contains(&Layer::Files);
        let reads = names && total.reads > 0;
        Self { names, reads, fills: reads || (names && total.disk_requests > 0) }
    }
}
