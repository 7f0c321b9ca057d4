//! Why system calls could not be counted.

use std::io;

use coldstart_host::kernel::{number, settings};
use coldstart_host::process::ProcessFiles;
use coldstart_launch::LaunchError;
use coldstart_sys::tracing::SeizeError;
use thiserror::Error;

/// Why system calls could not be counted.
#[derive(Debug, Error)]
pub enum SyscallsError {
    /// The program could not be started, or we were interrupted.
    #[error("cannot count the system calls of a start")]
    Launch(#[from] LaunchError),
    /// Tracing is forbidden.
    #[error("cannot trace the program to count its system calls: {obstacle}")]
    Forbidden {
        /// The obstacle, as far as known.
        obstacle: TracingObstacle,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel lacks the request for a call's number.
    #[error("cannot count system calls: this kernel has no PTRACE_GET_SYSCALL_INFO (Linux 5.3)")]
    OldKernel {
        /// The kernel's error.
        source: io::Error,
    },
    /// No breakpoint could be set at the program's entry point.
    #[error("cannot stop the program at its entry point")]
    EntryPoint {
        /// The kernel's error; `Unsupported` on processors without breakpoint support here.
        source: io::Error,
    },
    /// The kernel refused something else.
    #[error("cannot {what}")]
    System {
        /// The action, as an infinitive.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

/// What forbids tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TracingObstacle {
    /// Another tracer follows us and all our descendants.
    #[error("process {tracer} already traces it")]
    AlreadyTraced {
        /// The tracer's PID.
        tracer: u32,
    },
    /// The Yama security module's setting.
    #[error("kernel.yama.ptrace_scope is {scope}, and we lack {}", if *.scope >= 3 { "a way around 3" } else { "CAP_SYS_PTRACE" })]
    Yama {
        /// `/proc/sys/kernel/yama/ptrace_scope`: 2 or 3.
        scope: u32,
    },
    /// We run under a seccomp filter, as in containers.
    #[error("we run under a seccomp filter, which probably forbids ptrace(2)")]
    Seccomp,
    /// Unknown.
    #[error("the kernel refused ptrace(2)")]
    Unknown,
}

impl SyscallsError {
    /// Advice, if there is any. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        let obstacle = match self {
            Self::EntryPoint { .. } => return Some("count to the exit of the program instead".into()),
            Self::Forbidden { obstacle, .. } => obstacle,
            _ => return None,
        };
        Some(match obstacle {
            TracingObstacle::AlreadyTraced { tracer } => {
                format!("run this outside of the debugger or tracer with PID {tracer}")
            }
            TracingObstacle::Yama { scope: 3.. } => {
                "the value 3 cannot be lowered without a reboot: look for it in /etc/sysctl.d".into()
            }
            TracingObstacle::Yama { .. } => "as root: sysctl kernel.yama.ptrace_scope=1".into(),
            TracingObstacle::Seccomp => {
                "let the container trace its own processes: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"
                    .into()
            }
            TracingObstacle::Unknown => {
                "security modules such as SELinux (deny_ptrace) log refusals in the kernel's log: journalctl -k".into()
            }
        })
    }

    pub(super) fn system(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { what, source: source.into() }
    }
}

coldstart_hint::hinted!(SyscallsError);

impl From<SeizeError> for SyscallsError {
    fn from(error: SeizeError) -> Self {
        Self::Forbidden { obstacle: obstacle(error.traced_by), source: error.source }
    }
}

fn obstacle(tracer: u32) -> TracingObstacle {
    if tracer != 0 {
        return TracingObstacle::AlreadyTraced { tracer };
    }
    if let Some(Ok(scope @ 2..)) = number(settings::PTRACE_SCOPE).map(TryFrom::try_from) {
        return TracingObstacle::Yama { scope };
    }
    let filter = ProcessFiles::own().status().seccomp_mode().is_some_and(|mode| mode != 0);
    if filter { TracingObstacle::Seccomp } else { TracingObstacle::Unknown }
}
