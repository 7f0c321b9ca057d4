//! Why the frequency cannot be fixed.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why the processors' frequency could not be fixed or restored.
#[derive(Debug, Error)]
pub enum FrequencyError {
    /// The kernel does not control frequencies here.
    #[error("cannot hold the processors' frequency: {}", reason(*.is_virtual))]
    NotThere {
        /// We run in a virtual machine.
        is_virtual: bool,
    },
    /// Another coldstart has fixed it, or the guardian of a killed one is still restoring it.
    #[error("cannot hold the processors' frequency: another coldstart holds it (`{}` is locked)", .path.display())]
    HeldByAnother {
        /// The locked directory.
        path: PathBuf,
    },
    /// A setting could not be written.
    #[error("cannot hold the processors' frequency: `{}` rejects `{value}`", .path.display())]
    Write {
        /// The setting's file.
        path: PathBuf,
        /// The value written.
        value: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// A setting was written and reads back as something else.
    #[error("cannot hold the processors' frequency: `{}` is `{found}` instead of `{wanted}`", .path.display())]
    NotTaken {
        /// The setting's file.
        path: PathBuf,
        /// What it should be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// The frequencies of a policy are unknown.
    #[error("cannot hold the processors' frequency: `{}` does not list its frequencies", .policy.display())]
    NotTold {
        /// The policy's directory.
        policy: PathBuf,
    },
    /// The lock failed, or the guardian could not be started.
    #[error("cannot hold the processors' frequency: cannot {action}")]
    System {
        /// The failed action, as an infinitive.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// A setting could not be restored.
    #[error("the processors' frequency was not restored: `{}` is `{found}`, it was `{wanted}` before", .path.display())]
    NotPutBack {
        /// The setting's file.
        path: PathBuf,
        /// What it was before.
        wanted: String,
        /// What it is.
        found: String,
    },
}

fn reason(is_virtual: bool) -> &'static str {
    if is_virtual {
        "this is a virtual machine, so the hypervisor controls it"
    } else {
        "the kernel has no frequency scaling here (no policy in /sys/devices/system/cpu/cpufreq)"
    }
}

impl FrequencyError {
    /// Advice.
    pub fn hint(&self) -> Option<String> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        Some(match self {
            Self::NotThere { is_virtual: true } => {
                "hold it on the host, or measure without --fixed-frequency: commands \
                 compared in alternating order see the same changes of frequency"
                    .to_owned()
            }
            Self::NotThere { is_virtual: false } => {
                "measure without --fixed-frequency; a driver may be missing or disabled in the firmware".to_owned()
            }
            Self::HeldByAnother { .. } => {
                "wait until it has ended: concurrent measurements disturb each other".to_owned()
            }
            Self::Write { source, .. } if source.kind() == PermissionDenied => {
                "run as root, or measure without --fixed-frequency".to_owned()
            }
            Self::Write { source, .. } if source.kind() == ReadOnlyFilesystem => {
                "run outside the container, which mounts /sys read-only, or measure without --fixed-frequency"
                    .to_owned()
            }
            Self::Write { .. } | Self::NotTaken { .. } | Self::NotTold { .. } => {
                "all settings were restored; firmware or a power daemon (tuned, power-profiles-daemon, thermald) may \
                 override them: stop it, or measure without --fixed-frequency"
                    .to_owned()
            }
            Self::System { .. } => return None,
            Self::NotPutBack { path, wanted, .. } => format!("as root: echo {wanted} > {}", path.display()),
        })
    }
}
