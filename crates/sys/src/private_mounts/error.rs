//! Why a private view cannot be made, with advice.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_host::kernel::{setting_name, settings};

use super::child::Step;
use super::{Method, Overlay};
use crate::named_file::InodeKind;

/// Why a private view cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PrivateMountsError {
    /// This process may not make such a view at all.
    #[error("files cannot be replaced in a private mount namespace: {obstacle}")]
    Impossible {
        /// What forbids it.
        obstacle: Obstacle,
        /// The kernel's error; none if the kernel would allow it.
        source: Option<io::Error>,
    },
    /// A file cannot be looked up.
    #[error("cannot use the {role} `{}`", .path.display())]
    File {
        /// Which of the two files of an overlay.
        role: &'static str,
        /// Its path.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// Only regular files are replaced.
    #[error("cannot use the {role} `{}`: it is {kind}, not a regular file", .path.display())]
    NotRegular {
        /// Which of the two files of an overlay.
        role: &'static str,
        /// Its path.
        path: PathBuf,
        /// What it is.
        kind: InodeKind,
    },
    /// The replacement could not be executed or mapped as code.
    #[error("cannot use the replacement `{}`: its file system is mounted noexec", .replacement.display())]
    NoExec {
        /// The file.
        replacement: PathBuf,
    },
    /// Two overlays have the same original.
    #[error("two replacements for `{}`", .original.display())]
    Twice {
        /// The file.
        original: PathBuf,
    },
    /// A file is both a replacement and an original.
    #[error("`{}` is a replacement and is itself to be replaced", .replacement.display())]
    Chained {
        /// The file.
        replacement: PathBuf,
    },
    /// The kernel refused a mount.
    #[error("cannot mount `{}` over `{}`", .overlay.replacement.display(), .overlay.original.display())]
    Mount {
        /// The two files.
        overlay: Overlay,
        /// The kernel's error.
        source: io::Error,
    },
    /// After the mounts, a path does not lead to its replacement: another process replaced one of the files meanwhile.
    #[error("`{}` was replaced by another process while it was being covered", .original.display())]
    NotCovered {
        /// The file.
        original: PathBuf,
    },
    /// Anything else.
    #[error("cannot {what}")]
    System {
        /// What failed.
        what: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

impl PrivateMountsError {
    pub(super) fn file(role: &'static str, path: &Path, source: io::Error) -> Self {
        Self::File { role, path: path.to_owned(), source }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Impossible { obstacle, .. } => obstacle.advice(),
            Self::NoExec { .. } => Some("place it on a file system mounted without noexec".to_owned()),
            Self::NotCovered { .. } => Some("try again when the package manager has finished".to_owned()),
            _ => None,
        }
    }
}

coldstart_hint::hinted!(PrivateMountsError);

/// What forbids private views to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The limit of user namespaces is 0.
    #[error("user namespaces are disabled ({} is 0)", settings::MAX_USER_NAMESPACES)]
    NoUserNamespaces,
    /// The limit of mount namespaces is 0.
    #[error("mount namespaces are disabled ({} is 0)", settings::MAX_MNT_NAMESPACES)]
    NoMountNamespaces,
    /// The limit of namespaces is reached.
    #[error("there are already as many namespaces as are allowed, or they are nested too deeply")]
    TooMany,
    /// Debian's setting.
    #[error("only root may create user namespaces ({} is 0)", settings::UNPRIVILEGED_USERNS_CLONE)]
    NotForUsers,
    /// Ubuntu's setting.
    #[error("AppArmor restricts user namespaces ({} is 1)", settings::APPARMOR_RESTRICT_USERNS)]
    AppArmor,
    /// In a chroot the kernel creates no user namespaces.
    #[error("this process is in a chroot, in which the kernel creates no user namespaces")]
    Chroot,
    /// In a chroot the files in a view have other names for us than outside it: those from the root of the mount namespace.
    #[error("this process is in a chroot, and files in a private view are shown to it by other paths than its own")]
    OtherNames,
    /// The kernel is built without them.
    #[error("this kernel has no {0}")]
    Unsupported(&'static str),
    /// A container's filter or a security module.
    #[error("the kernel or the container refuses {0}")]
    Refused(&'static str),
}

impl Obstacle {
    /// From the failed step and its error number. `setting` returns the value of a kernel setting.
    pub(super) fn of(
        method: Method,
        step: Step,
        number: Option<i32>,
        setting: &dyn Fn(&str) -> Option<i64>,
        is_chroot: bool,
    ) -> Self {
        let what = match (method, step) {
            (Method::UserNamespace, Step::Users | Step::Map) => "user namespaces",
            (_, Step::Apart) => "mounts in a mount namespace",
            _ => "mount namespaces",
        };
        let is = |name: &str, value: i64| setting(name) == Some(value);
        let denied = matches!(number, Some(libc::EPERM | libc::EACCES));
        match (method, number) {
            (_, Some(libc::ENOSPC | libc::EUSERS)) if is(settings::MAX_MNT_NAMESPACES, 0) => Self::NoMountNamespaces,
            (Method::UserNamespace, Some(libc::ENOSPC | libc::EUSERS)) if is(settings::MAX_USER_NAMESPACES, 0) => {
                Self::NoUserNamespaces
            }
            (_, Some(libc::ENOSPC | libc::EUSERS)) => Self::TooMany,
            (_, Some(libc::EINVAL | libc::ENOSYS)) if matches!(step, Step::Users | Step::Mounts) => {
                Self::Unsupported(what)
            }
            (Method::UserNamespace, _)
                if denied && step == Step::Users && is(settings::UNPRIVILEGED_USERNS_CLONE, 0) =>
            {
                Self::NotForUsers
            }
            (Method::UserNamespace, _) if denied && is(settings::APPARMOR_RESTRICT_USERNS, 1) => Self::AppArmor,
            (Method::UserNamespace, _) if denied && step == Step::Users && is_chroot => Self::Chroot,
            _ => Self::Refused(what),
        }
    }

    /// The kernel setting that would allow it, and the value it takes; none where no setting does.
    pub fn setting(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::NoUserNamespaces => Some((settings::MAX_USER_NAMESPACES, "1000")),
            Self::NoMountNamespaces => Some((settings::MAX_MNT_NAMESPACES, "1000")),
            Self::NotForUsers => Some((settings::UNPRIVILEGED_USERNS_CLONE, "1")),
            Self::AppArmor => Some((settings::APPARMOR_RESTRICT_USERNS, "0")),
            _ => None,
        }
    }

    /// What the user can do.
    pub fn advice(self) -> Option<String> {
        if let Some((setting, value)) = self.setting() {
            return Some(format!("run as root, or allow it with `sysctl {}={value}`", setting_name(setting)));
        }
        Some(match self {
            Self::Chroot | Self::OtherNames => {
                "run it outside the chroot, or in a container, which has a root of its own".to_owned()
            }
            Self::Refused(_) => "run as root outside the container, or give the container CAP_SYS_ADMIN".to_owned(),
            _ => return None,
        })
    }
}
