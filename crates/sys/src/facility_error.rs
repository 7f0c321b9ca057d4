//! Why a kernel facility failed, by what the caller can do about it.

use rustix::io::Errno;

/// Why a kernel facility failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FacilityError {
    /// This kernel, file system or kind of file does not support it. Another way may exist.
    #[error("`{facility}` is not available here: {errno}")]
    Unsupported {
        /// The system call or ioctl.
        facility: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// Supported, but this caller may not use it on this file.
    #[error("`{facility}` is not permitted: {errno}")]
    NotPermitted {
        /// The system call or ioctl.
        facility: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
    /// Anything else: a disk error, no memory, a wrong argument.
    #[error("`{facility}` failed: {errno}")]
    Failed {
        /// The system call or ioctl.
        facility: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
}

impl FacilityError {
    /// Classifies an error number of `facility`. `unsupported` are the numbers that mean "not supported" for this facility;
    /// `ENOSYS`, `EOPNOTSUPP` and `ENOTTY` always do.
    pub(crate) fn new(facility: &'static str, errno: Errno, unsupported: &[Errno]) -> Self {
        match errno {
            Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOTTY => Self::Unsupported { facility, errno },
            errno if unsupported.contains(&errno) => Self::Unsupported { facility, errno },
            Errno::PERM | Errno::ACCESS => Self::NotPermitted { facility, errno },
            errno => Self::Failed { facility, errno },
        }
    }

    /// The kernel's error.
    pub fn errno(&self) -> Errno {
        match *self {
            Self::Unsupported { errno, .. } | Self::NotPermitted { errno, .. } | Self::Failed { errno, .. } => errno,
        }
    }
}
