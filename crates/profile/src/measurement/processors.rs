//! Processor use while a program started.

use serde::{Deserialize, Serialize};

/// Processor time of the whole machine between launch and readiness, in seconds (`/proc/stat`, in steps of mostly 10 ms
/// for each processor).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// By all processes, in user mode and in the kernel.
    pub busy_seconds: f64,
    /// Stolen by the hypervisor; 0 on real machines.
    pub stolen_seconds: f64,
}
