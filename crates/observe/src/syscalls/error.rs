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
    /// Tracing is forbidden here.
    #[error("cannot trace the program to count its system calls: {obstacle}")]
    Forbidden {
        /// What stands in the way, as far as can be told.
        obstacle: TracingObstacle,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The kernel is older than the request that tells a call's number on every architecture.
    #[error("cannot count system calls: this kernel has no PTRACE_GET_SYSCALL_INFO (Linux 5.3)")]
    OldKernel {
        /// The kernel's answer.
        source: io::Error,
    },
    /// The program's entry point could not be marked.
    #[error("cannot stop the program at its entry point")]
    EntryPoint {
        /// The kernel's answer; `Unsupported` on processors for which we know no breakpoint.
        source: io::Error,
    },
    /// The kernel refused something else.
    #[error("cannot {what}")]
    System {
        /// What was tried, as an infinitive.
        what: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// What forbids tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TracingObstacle {
    /// Somebody traces us and all we start.
    #[error("process {tracer} traces it already")]
    AlreadyTraced {
        /// Its number.
        tracer: u32,
    },
    /// The Yama security module's setting.
    #[error("kernel.yama.ptrace_scope is {scope}, and we lack {}", if *.scope >= 3 { "a way around 3" } else { "CAP_SYS_PTRACE" })]
    Yama {
        /// `/proc/sys/kernel/yama/ptrace_scope`: 2 or 3.
        scope: u32,
    },
    /// A seccomp filter stands around us, as in containers.
    #[error("we run under a seccomp filter, which seems to refuse ptrace(2)")]
    Seccomp,
    /// Nothing that we know of.
    #[error("the kernel refused ptrace(2)")]
    Unknown,
}

impl SyscallsError {
    /// What the user can do about it, where there is advice. A cause's own advice is not repeated here.
    pub fn hint(&self) -> Option<String> {
        let obstacle = match self {
            Self::EntryPoint { .. } => return Some("count to the exit of the program instead".into()),
            Self::Forbidden { obstacle, .. } => obstacle,
            _ => return None,
        };
        Some(match obstacle {
            TracingObstacle::AlreadyTraced { tracer } => {
                format!("run this outside of the debugger or tracer that is process {tracer}")
            }
            TracingObstacle::Yama { scope: 3.. } => {
                "the value 3 cannot be lowered before a restart of the machine: look for it in /etc/sysctl.d".into()
            }
            TracingObstacle::Yama { .. } => "as root: sysctl kernel.yama.ptrace_scope=1".into(),
            TracingObstacle::Seccomp => {
                "let the container trace its own processes: --cap-add=SYS_PTRACE, or --security-opt seccomp=unconfined"
                    .into()
            }
            TracingObstacle::Unknown => {
                "security modules such as SELinux (deny_ptrace) tell of refusals in the kernel's log: journalctl -k"
                    .into()
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
