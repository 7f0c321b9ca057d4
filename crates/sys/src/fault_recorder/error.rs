//! Why recording failed.

use std::io;

use coldstart_host::kernel::{number, settings};
use coldstart_host::process::ProcessFiles;
use rustix::io::Errno;

/// Why recording failed.
#[derive(Debug, thiserror::Error)]
pub enum FaultRecorderError {
    /// The kernel, or a filter before it, forbids it.
    #[error("recording page faults of process {process} is not permitted (kernel.perf_event_paranoid is {})", paranoid_text(.paranoid))]
    NotPermitted {
        /// The process.
        process: u32,
        /// `kernel.perf_event_paranoid`: up to 2, users may record their own processes; `None` if it cannot be read.
        paranoid: Option<i64>,
        /// Whether a seccomp filter is active, as in most containers.
        filtered: bool,
        /// The kernel's error.
        source: io::Error,
    },
    /// A kernel without `CONFIG_PERF_EVENTS`.
    #[error("this kernel cannot record page faults (`perf_event_open`: {source})")]
    Unsupported {
        /// The kernel's error.
        source: io::Error,
    },
    /// The tracepoints were requested, but are missing or not accessible.
    #[error("the tracepoints of page faults (exceptions:page_fault_user) are not available")]
    NoTracepoints,
    /// There is no such process.
    #[error("there is no process {process} to record")]
    NoProcess {
        /// The process.
        process: u32,
    },
    /// Not enough file descriptors for events of all processors.
    #[error("recording page faults takes {needed} file descriptors, but this process may have only {limit}")]
    TooManyDescriptors {
        /// How many there must be at once.
        needed: usize,
        /// `RLIMIT_NOFILE`, soft; 0 if there is none, and the system-wide limit was hit.
        limit: u64,
    },
    /// The kernel refuses memory even for the smallest ring.
    #[error("the kernel grants no memory for recording page faults ({bytes} bytes per processor)")]
    NoMemory {
        /// The last size requested.
        bytes: usize,
        /// `kernel.perf_event_mlock_kb`, in KiB; `None` if it cannot be read.
        allowed_kib: Option<u64>,
        /// The kernel's error.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot {what}")]
    Failed {
        /// An infinitive.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl FaultRecorderError {
    /// Classifies the kernel's error of `perf_event_open`.
    pub(super) fn opening(process: u32, needed: usize, errno: Errno) -> Self {
        match errno {
            Errno::PERM | Errno::ACCESS => Self::NotPermitted {
                process,
                paranoid: number(settings::PERF_EVENT_PARANOID),
                filtered: is_filtered(),
                source: errno.into(),
            },
            Errno::NOSYS => Self::Unsupported { source: errno.into() },
            Errno::SRCH => Self::NoProcess { process },
            Errno::MFILE | Errno::NFILE => {
                let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
                Self::TooManyDescriptors { needed, limit: limit.filter(|_| errno == Errno::MFILE).unwrap_or(0) }
            }
            _ => Self::Failed { what: "open an event for page faults (`perf_event_open`)", source: errno.into() },
        }
    }

    pub(super) fn no_memory(bytes: usize, source: io::Error) -> Self {
        let allowed_kib = number(settings::PERF_EVENT_MLOCK_KB).and_then(|kib| u64::try_from(kib).ok());
        Self::NoMemory { bytes, allowed_kib, source }
    }

    /// Any other failure, as an infinitive.
    pub(super) fn failed<E: Into<io::Error>>(what: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::Failed { what, source: source.into() }
    }

    /// Whether another source of faults may still be permitted.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Self::NotPermitted { .. })
    }

    /// Advice, as a sentence without its full stop.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotPermitted { paranoid: Some(paranoid), .. } if *paranoid > 2 => Some(
                "`sudo sysctl kernel.perf_event_paranoid=2` lets users record their own programs; root may always"
                    .into(),
            ),
            Self::NotPermitted { filtered: true, .. } => Some(
                "a seccomp filter forbids it, as in containers: start the container with `--cap-add PERFMON`, \
                 or with a seccomp profile that allows `perf_event_open`"
                    .into(),
            ),
            Self::NotPermitted { .. } => {
                Some("this requires the program's user and a readable program file; or CAP_PERFMON, as root has".into())
            }
            Self::NoTracepoints => Some("they require CAP_PERFMON, as root has, and an x86 processor".into()),
            Self::TooManyDescriptors { needed, .. } => {
                Some(format!("`ulimit -n {}` allows more", needed.saturating_mul(2).saturating_add(256)))
            }
            Self::NoMemory { allowed_kib, .. } => {
                let now = allowed_kib.map_or_else(String::new, |kib| format!(" (now {kib})"));
                Some(format!(
                    "another recording may have used it up; raise it with `sudo sysctl kernel.perf_event_mlock_kb=2064`{now} or `ulimit -l`"
                ))
            }
            Self::Unsupported { .. } | Self::NoProcess { .. } | Self::Failed { .. } => None,
        }
    }
}

fn paranoid_text(paranoid: &Option<i64>) -> String {
    paranoid.map_or_else(|| "not known".into(), |value| value.to_string())
}

fn is_filtered() -> bool {
    ProcessFiles::own().status().seccomp_mode() == Some(2)
}
