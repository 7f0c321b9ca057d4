//! Where something was measured.

use serde::{Deserialize, Serialize};

/// The machine, as far as it bears on start-up times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Release of the running kernel.
    pub kernel: String,
    /// Model of the first processor; empty if the kernel does not tell.
    pub processor: String,
    /// Processors online.
    pub processor_count: u32,
    /// The frequency governor of the first processor, where there is one.
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory: u64,
    /// The block devices that hold the programs' files.
    pub devices: Vec<Device>,
}

/// A block device that holds some of the programs' files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `MAJOR:MINOR`.
    pub number: String,
    /// The kernel's name for it, such as `sda2`.
    pub name: String,
    /// What the drive says it is; `None` for virtual ones.
    pub model: Option<String>,
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// Readahead window before the first run, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
}
