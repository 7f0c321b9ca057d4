//! What the order of runs needs from a machine: a real one, or one that a test plays.

use coldstart_profile::measurement::{DeviceReads, End, ProcessorUse, Residency, StartState};

use crate::error::MeasureError;

/// A machine on which the plan's commands can be launched.
pub(crate) trait Machine {
    /// What of a command's files is in memory now; `None` if none are known.
    fn residency(&mut self, command: usize) -> Result<Option<Residency>, MeasureError>;

    /// Brings the state about (for hot: nothing; warming up is the caller's affair) and launches a command.
    fn run(&mut self, command: usize, state: StartState) -> Result<RawRun, MeasureError>;
}

/// What came back of a saved state, in pages of 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RestoredPages {
    /// Asked for.
    pub(crate) asked: u64,
    /// Asked for and in vain: their files are gone or have become others.
    pub(crate) lost: u64,
    /// Resident before the launch.
    pub(crate) back: u64,
}

/// A run before anybody judged it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RawRun {
    /// To readiness.
    pub(crate) seconds: Option<f64>,
    pub(crate) end: End,
    /// What was last seen instead of readiness, where a clause can tell.
    pub(crate) last_seen: Option<String>,
    /// Right before the launch, or as near to it as looking does not spoil the state.
    pub(crate) residency: Option<Residency>,
    /// Of a start as after boot, what came back of the saved state.
    pub(crate) restored: Option<RestoredPages>,
    /// Until readiness; this and the next four are `None` where they are not known.
    pub(crate) bytes_read: Option<u64>,
    pub(crate) major_faults: Option<u64>,
    pub(crate) minor_faults: Option<u64>,
    /// Until all its processes had ended.
    pub(crate) user_seconds: Option<f64>,
    pub(crate) system_seconds: Option<f64>,
    /// Why some of these are not known.
    pub(crate) uncounted: Option<String>,
    pub(crate) devices: Vec<DeviceReads>,
    pub(crate) processors: Option<ProcessorUse>,
}
