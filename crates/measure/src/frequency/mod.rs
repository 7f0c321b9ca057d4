//! The processors' frequency: reading and fixing it.
//!
//! A processor that chooses its frequency is fast in the first run after a pause and slow in a long row of runs, or the
//! reverse. With a fixed base frequency, times are longer but closer to each other. Not obvious:
//! the settings are machine-wide and outlive us, so a second process restores them if we
//! are killed.
//!
//! The root of the kernel's files is a parameter, so that tests can simulate machines.

mod error;
mod hold;
mod settings;
mod tree;
mod watch;

use coldstart_host::machine::{PROCESSORS, has_hypervisor};

pub use error::FrequencyError;
pub use hold::FixedFrequency;
pub(crate) use watch::FrequencyWatch;

/// The kernel's directory of processors.
pub const SYSFS: &str = "/sys/devices/system/cpu";

/// The current frequency; `None` where the kernel does not control frequencies, as in most virtual
/// machines. `root` is [`SYSFS`], or a stand-in.
pub fn look(root: &std::path::Path) -> Option<coldstart_profile::measurement::Frequency> {
    tree::Tree::new(root).look()
}

/// Whether the frequency can be fixed below `root`, without changing anything: for a check before long work.
///
/// # Errors
/// [`FrequencyError::NotThere`] where there is none.
pub fn check(root: &std::path::Path) -> Result<(), FrequencyError> {
    let is_there = !tree::Tree::new(root).policies().is_empty();
    if is_there { Ok(()) } else { Err(FrequencyError::NotThere { is_virtual: is_virtual() }) }
}

/// Whether this is a virtual machine: x86 processors have a flag for it.
pub(crate) fn is_virtual() -> bool {
    has_hypervisor(&std::fs::read(PROCESSORS).unwrap_or_default())
}
