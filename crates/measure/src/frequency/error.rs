//! Why the frequency cannot be held.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why the processors' frequency cannot be held, or was not put back.
#[derive(Debug, Error)]
pub enum FrequencyError {
    /// The kernel does not set frequencies here.
    #[error("cannot hold the processors' frequency: {}", reason(*.is_virtual))]
    NotThere {
        /// We run in a virtual machine.
        is_virtual: bool,
    },
    /// Another coldstart holds it, or one that was killed is still putting it back.
    #[error("cannot hold the processors' frequency: another coldstart holds it (`{}` is locked)", .path.display())]
    HeldByAnother {
        /// What is locked.
        path: PathBuf,
    },
    /// A setting could not be written.
    #[error("cannot hold the processors' frequency: `{}` does not take `{value}`", .path.display())]
    Write {
        /// The setting's file.
        path: PathBuf,
        /// What was to be written.
        value: String,
        /// The kernel's answer.
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
    /// A policy does not say what frequencies it has.
    #[error("cannot hold the processors' frequency: `{}` does not tell its frequencies", .policy.display())]
    NotTold {
        /// The policy's directory.
        policy: PathBuf,
    },
    /// The lock could not be had, or the process that puts the settings back could not be started.
    #[error("cannot hold the processors' frequency: cannot {action}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A setting could not be put back.
    #[error("the processors' frequency was not put back: `{}` is `{found}` and was `{wanted}`", .path.display())]
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
        "this is a virtual machine, whose hypervisor decides it"
    } else {
        "the kernel has no frequency scaling here (no policy in /sys/devices/system/cpu/cpufreq)"
    }
}

impl FrequencyError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        Some(match self {
            Self::NotThere { is_virtual: true } => "hold it on the host, or measure without --fixed-frequency: commands \
                 compared in alternating order meet the same changes of frequency"
                .to_owned(),
            Self::NotThere { is_virtual: false } => {
                "measure without --fixed-frequency; a driver may be missing or switched off in the firmware".to_owned()
            }
            Self::HeldByAnother { .. } => {
                "wait until it has ended: two that measure at once disturb one another".to_owned()
            }
            Self::Write { source, .. } if source.kind() == PermissionDenied => {
                "run as root, or measure without --fixed-frequency".to_owned()
            }
            Self::Write { source, .. } if source.kind() == ReadOnlyFilesystem => {
                "run outside the container, which mounts /sys read-only, or measure without --fixed-frequency".to_owned()
            }
            Self::Write { .. } | Self::NotTaken { .. } | Self::NotTold { .. } => {
                "everything was put back; firmware or a power daemon (tuned, power-profiles-daemon, thermald) may insist \
                 on its own: stop it, or measure without --fixed-frequency"
                    .to_owned()
            }
            Self::System { .. } => return None,
            Self::NotPutBack { path, wanted, .. } => format!("as root: echo {wanted} > {}", path.display()),
        })
    }
}
