//! The kernel's answer to a trial.
//!
//! The number matters more than its text: `ENOSYS` from a kernel that has the call means a seccomp filter,
//! which needs another remedy than `EPERM`.

use rustix::io::Errno;

/// The kernel's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It worked.
    Works,
    /// It was refused with this error number.
    Refused(i32),
    /// It could not be tried, for this reason.
    Untried(String),
}

impl Default for Answer {
    fn default() -> Self {
        Self::Untried("not tried".to_owned())
    }
}

impl Answer {
    pub(crate) fn of<T>(result: Result<T, Errno>) -> Self {
        match result {
            Ok(_) => Self::Works,
            Err(errno) => Self::refused(errno.raw_os_error()),
        }
    }

    pub(crate) fn of_io<T>(result: std::io::Result<T>) -> Self {
        match result {
            Ok(_) => Self::Works,
            Err(error) => error.raw_os_error().map_or_else(|| Self::Untried(error.to_string()), Self::refused),
        }
    }

    /// A refusal with this error number. Where there could be no process or thread to try it in, nothing was refused.
    pub(crate) fn refused(number: i32) -> Self {
        if number == Errno::AGAIN.raw_os_error() { Self::no_process() } else { Self::Refused(number) }
    }

    /// For a trial in a process or thread of its own, which could not be started.
    pub(crate) fn no_process() -> Self {
        Self::Untried("a limit of processes is reached (`ulimit -u`)".to_owned())
    }

    /// Whether it worked.
    pub fn works(&self) -> bool {
        matches!(self, Self::Works)
    }

    /// Whether permission was denied.
    pub(crate) fn is_forbidden(&self) -> bool {
        [Errno::PERM, Errno::ACCESS].iter().any(|&errno| self.is(errno))
    }

    pub(crate) fn is(&self, errno: Errno) -> bool {
        *self == Self::Refused(errno.raw_os_error())
    }

    /// "works", "Operation not permitted (EPERM)", or why it was not tried.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Works => "works".to_owned(),
            Self::Untried(reason) => reason.clone(),
            Self::Refused(number) => {
                let text = crate::root::plain(&std::io::Error::from_raw_os_error(*number));
                name_of(*number).map_or(text.clone(), |name| format!("{text} ({name})"))
            }
        }
    }
}

/// The names of the errors that permission and absence are told by.
fn name_of(number: i32) -> Option<&'static str> {
    let names = [
        (Errno::PERM, "EPERM"),
        (Errno::ACCESS, "EACCES"),
        (Errno::NOSYS, "ENOSYS"),
        (Errno::NOENT, "ENOENT"),
        (Errno::INVAL, "EINVAL"),
        (Errno::ROFS, "EROFS"),
        (Errno::BUSY, "EBUSY"),
        (Errno::NODEV, "ENODEV"),
        (Errno::NXIO, "ENXIO"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
        (Errno::NOTTY, "ENOTTY"),
    ];
    names.iter().find(|(errno, _)| errno.raw_os_error() == number).map(|&(_, name)| name)
}
