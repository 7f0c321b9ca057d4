//! The machine of a measurement.

use serde::{Deserialize, Serialize};

use super::Frequency;

/// The machine, as far as it affects start-up times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Release of the running kernel.
    pub kernel: String,
    /// Model of the first processor; empty if unknown.
    pub processor: String,
    /// Processors online.
    pub processor_count: u32,
    /// The frequency governor of the first processor, where there is one.
    pub governor: Option<String>,
    /// Memory in bytes.
    pub memory: u64,
    /// The block devices that hold the programs' files.
    pub devices: Vec<Device>,
    /// The machine is a virtual one, as its processors say.
    #[serde(default)]
    pub is_virtual: bool,
    /// The processors' frequency; `None` if unknown, as in most virtual machines.
    #[serde(default)]
    pub frequency: Option<Frequency>,
    /// How often a processor was throttled because of heat while measuring; `None` if not counted.
    #[serde(default)]
    pub throttle_events: Option<u64>,
    /// It ran on battery when measuring ended; `None` without a battery.
    #[serde(default)]
    pub on_battery: Option<bool>,
    /// The kernel reclaims unused pages proactively (DAMON); `None` if unknown.
    #[serde(default)]
    pub proactive_reclaim: Option<bool>,
    /// Another coldstart measured on it at the same time.
    #[serde(default)]
    pub another_measured: bool,
}

/// A block device that holds some of the programs' files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `MAJOR:MINOR`.
    pub number: String,
    /// The kernel's name for it, such as `sda2`.
    pub name: String,
    /// The drive's model; `None` for virtual ones.
    pub model: Option<String>,
    /// Whether the kernel takes it for a spinning disk.
    pub rotational: Option<bool>,
    /// Readahead window before the first run, in KiB.
    pub read_ahead_kib: Option<u64>,
    /// The I/O scheduler in use.
    pub scheduler: Option<String>,
}
