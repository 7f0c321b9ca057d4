//! The processors' frequency: what it is, and holding it.
//!
//! A processor that may choose its frequency is fast in the first run after a pause and slow in a long row of runs, or the
//! reverse. One that is held at its base frequency gives times that are larger and nearer to one another. Not obvious:
//! the settings are the machine's, not ours, and outlive us, so a second process puts them back if we
//! are killed.
//!
//! The root of the kernel's files is a parameter, so that tests can play machines.

mod error;
mod hold;
mod settings;
mod tree;
mod watch;

use coldstart_host::machine::{PROCESSORS, has_hypervisor};

pub use error::FrequencyError;
pub use hold::FixedFrequency;
pub(crate) use watch::FrequencyWatch;

/// Where the kernel tells about processors.
pub const SYSFS: &str = "/sys/devices/system/cpu";

/// What the kernel tells about the frequency now; `None` where it does not set frequencies, such as in most virtual
/// machines. `root` is [`SYSFS`], or what stands in for it.
pub fn look(root: &std::path::Path) -> Option<coldstart_profile::measurement::Frequency> {
    tree::Tree::new(root).look()
}

/// Whether there is a frequency to hold below `root`, without changing anything: for asking before work that takes long.
///
/// # Errors
/// [`FrequencyError::NotThere`] where there is none.
pub fn check(root: &std::path::Path) -> Result<(), FrequencyError> {
    let is_there = !tree::Tree::new(root).policies().is_empty();
    if is_there { Ok(()) } else { Err(FrequencyError::NotThere { is_virtual: is_virtual() }) }
}

/// Whether a hypervisor stands between us and the processor: x86 processors say so.
pub(crate) fn is_virtual() -> bool {
    has_hypervisor(&std::fs::read(PROCESSORS).unwrap_or_default())
}
