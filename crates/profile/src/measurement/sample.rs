//! The data of one launch.

use serde::{Deserialize, Serialize};

use super::{ProcessorUse, StartState};

/// One launch of one command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Position in the order of execution, from 1. Warnings and outliers name runs by it.
    pub number: u32,
    /// Index into the measurement's commands.
    pub command: usize,
    /// The intended state.
    pub state: StartState,
    /// Round within the state, from 1: samples of one round ran close together and are compared with one another.
    pub round: u32,
    /// 1 for the first try of this command in this round, 2 and more for repetitions.
    pub attempt: u32,
    /// From right before the spawn to readiness, in seconds; `None` if it never became ready.
    pub seconds: Option<f64>,
    /// How the program ended.
    pub end: End,
    /// Residency of the program's files right before the launch; `None` if its files are unknown.
    pub residency: Option<Residency>,
    /// Bytes read from disks on behalf of the program's processes by readiness, readahead included. This and the
    /// next four are `None` if unknown, never 0.
    pub bytes_read: Option<u64>,
    /// Page faults by readiness that waited for I/O.
    pub major_faults: Option<u64>,
    /// Page faults by readiness that were served from memory.
    pub minor_faults: Option<u64>,
    /// Processor time in user mode, in seconds, of all its processes until they were ended.
    pub user_seconds: Option<f64>,
    /// Processor time in the kernel, in seconds, likewise.
    pub system_seconds: Option<f64>,
    /// Why some of these are unknown: a clause.
    #[serde(default)]
    pub uncounted: Option<String>,
    /// Reads of all processes from the devices with the program's files between launch and readiness.
    pub devices: Vec<DeviceReads>,
    /// Processor use of all processes between launch and readiness; `None` if unknown.
    #[serde(default)]
    pub processors: Option<ProcessorUse>,
    /// Whether it counts in the figures.
    pub used: Use,
}

/// How a measured program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", content = "value", rename_all = "kebab-case")]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// After it was ready, with a readiness other than exit.
    Ended,
    /// It was not ready within the limit.
    TimedOut,
}

/// Residency of a command's files, in pages of 4 KiB, all files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// Pages of the files with known residency.
    pub file_pages: u64,
    /// How many of them are resident.
    pub resident_pages: u64,
    /// Files with hidden residency.
    pub unknown_files: u64,
    /// Files that do not exist any more.
    pub missing_files: u64,
}

impl Residency {
    /// Whether the residency of all files is known, and there was one.
    pub fn is_known(&self) -> bool {
        self.unknown_files == 0 && self.file_pages > 0
    }
}

/// Reads of one block device, system-wide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReads {
    /// Its number, `MAJOR:MINOR`, as in the machine's list of devices.
    pub device: String,
    /// Read requests completed.
    pub requests: u64,
    /// Bytes read.
    pub bytes: u64,
    /// The device's readahead window at the launch, in KiB, where it has one.
    pub read_ahead_kib: Option<u64>,
}

/// Whether a sample counts in the figures, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "use", rename_all = "kebab-case")]
pub enum Use {
    /// It counts.
    Counted,
    /// It only prepared the state.
    WarmUp,
    /// The program failed.
    Failed {
        /// A sentence's end: "exited with code 1".
        reason: String,
    },
    /// Its reads or residency contradict the intended state.
    Contradicts {
        /// A sentence.
        reason: String,
    },
}

impl End {
    /// Its name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exited(_) => "exited",
            Self::Signalled(_) => "signalled",
            Self::Ended => "ended",
            Self::TimedOut => "timed-out",
        }
    }

    /// The exit code, or the signal's number.
    pub fn value(self) -> Option<i32> {
        match self {
            Self::Exited(value) | Self::Signalled(value) => Some(value),
            Self::Ended | Self::TimedOut => None,
        }
    }
}

impl Use {
    /// Its name in tables and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Counted => "counted",
            Self::WarmUp => "warm-up",
            Self::Failed { .. } => "failed",
            Self::Contradicts { .. } => "contradicts",
        }
    }

    /// Why it does not count, if there is more to say.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Counted | Self::WarmUp => None,
            Self::Failed { reason } | Self::Contradicts { reason } => Some(reason),
        }
    }
}

impl Sample {
    /// The sum over all devices; `None` if there are none.
    pub fn over_devices(&self, value: fn(&DeviceReads) -> u64) -> Option<u64> {
        (!self.devices.is_empty()).then(|| self.devices.iter().map(value).fold(0, u64::saturating_add))
    }

    /// The devices' numbers, separated by spaces.
    pub fn device_numbers(&self) -> String {
        self.devices.iter().map(|device| device.device.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// Its time, if it counts in the figures.
    pub fn counted_seconds(&self) -> Option<f64> {
        self.seconds.filter(|_| self.used == Use::Counted)
    }
}
