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
    /// The state asked for.
    pub state: StartState,
    /// Round within the state, from 1: samples of one round ran close together and are compared with one another.
    pub round: u32,
    /// 1 for the first try of this command in this round, 2 and more for repetitions.
    pub attempt: u32,
    /// From right before the spawn to readiness, in seconds; `None` if it never became ready.
    pub seconds: Option<f64>,
    /// How the program came to its end.
    pub end: End,
    /// What of the program's files was in memory right before the launch; `None` if no files are known.
    pub residency: Option<Residency>,
    /// Bytes that the program's processes caused to be read from disks by readiness, readahead included. This and the
    /// next four are `None` where they are not known, never 0.
    pub bytes_read: Option<u64>,
    /// Page faults by readiness that waited for I/O.
    pub major_faults: Option<u64>,
    /// Page faults by readiness that were served from memory.
    pub minor_faults: Option<u64>,
    /// Processor time in user mode, in seconds, of all its processes until they were ended.
    pub user_seconds: Option<f64>,
    /// Processor time in the kernel, in seconds, likewise.
    pub system_seconds: Option<f64>,
    /// Why some of these are not known: a clause.
    #[serde(default)]
    pub uncounted: Option<String>,
    /// What was read, by anybody, from the devices that hold the program's files between launch and readiness.
    pub devices: Vec<DeviceReads>,
    /// What was computed, by anybody, between launch and readiness; `None` where the kernel does not tell.
    #[serde(default)]
    pub processors: Option<ProcessorUse>,
    /// Whether it counts in the figures.
    pub used: Use,
}

/// How a measured program came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", content = "value", rename_all = "kebab-case")]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signalled(i32),
    /// After it was ready by another sign than its exit.
    Ended,
    /// It was not ready within the limit.
    TimedOut,
}

/// What of a command's files is in memory, in pages of 4 KiB, all files together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residency {
    /// Pages of the files that the kernel tells about.
    pub file_pages: u64,
    /// How many of them are resident.
    pub resident_pages: u64,
    /// Files whose residency the kernel does not tell us.
    pub unknown_files: u64,
    /// Files that are not there any more.
    pub missing_files: u64,
}

impl Residency {
    /// Whether the kernel told about every file, and there was one.
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
    /// It only brought the state about.
    WarmUp,
    /// The program failed.
    Failed {
        /// A sentence's end: "exited with code 1".
        reason: String,
    },
    /// What it read or found resident contradicts the state asked for.
    Contradicts {
        /// A sentence.
        reason: String,
    },
}

impl Sample {
    /// Its time, if it counts in the figures.
    pub fn counted_seconds(&self) -> Option<f64> {
        self.seconds.filter(|_| self.used == Use::Counted)
    }
}
