//! A private view of the file system in which some files are replaced by others, for programs that we start.
//!
//! A bind mount in a mount namespace of its own lays each replacement over its original. Nothing is written to the original or its
//! directory, no other process sees it, and nothing of it stays behind: the namespace ends with the last process in it and the last
//! descriptor of it, also when we are killed.
//!
//! The namespace is made once, by a short-lived child (`child`): as root directly; otherwise in a user namespace in which the
//! caller's user and group are the only ones, as themselves. A command enters it between fork and exec (`enter`).
//!
//! Not obvious:
//! * A bind mount lies over a directory entry, not over an inode. A program that reaches the same file by another hard link sees the
//!   original. When another process renames a file over the original, the kernel removes the mount (`detach_mounts`, `fs/namespace.c`):
//!   see [`PrivateMounts::uncovered`].
//! * `mount --bind` keeps the flags of the replacement's mount, so a replacement on a `noexec` file system could not be executed.
//! * In a user namespace set-user-ID programs and file capabilities have no effect (`mnt_may_suid` and `bprm_fill_uid`,
//!   `fs/exec.c`), and the supplementary groups cannot be changed.

mod child;
mod enter;
mod error;

use std::collections::HashMap;
use std::ffi::CString;
use std::fs::Metadata;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::thread;

use coldstart_host::{descriptor, kernel};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, openat2, statat, statvfs};
use rustix::thread::CapabilitySet;

use crate::named_file::InodeKind;

use child::{Failed, Step};
pub use error::{Obstacle, PrivateMountsError};

/// A file that lies over another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// The file that programs name. Of a symbolic link, its target is covered.
    pub original: PathBuf,
    /// The file that they get.
    pub replacement: PathBuf,
}

/// How the namespace was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A mount namespace alone, which needs `CAP_SYS_ADMIN`. Programs inside keep all their rights.
    Root,
    /// A mount namespace in a user namespace. Set-user-ID programs inside get no rights.
    UserNamespace,
}

/// A mount namespace with overlays, that programs can be started in.
#[derive(Debug)]
pub struct PrivateMounts {
    overlays: Vec<Overlay>,
    by_original: HashMap<PathBuf, usize>,
    /// Device and inode of each replacement.
    covers: Vec<(u64, u64)>,
    mounts: OwnedFd,
    /// The user namespace, if it has its own.
    users: Option<OwnedFd>,
    /// The root directory inside, as seen by this process: another one than the namespace's in a chroot.
    root: OwnedFd,
}

impl PrivateMounts {
    /// Makes the namespace and mounts each replacement over its original.
    ///
    /// Without overlays it is a valid view that equals ours: start the plain side of a comparison in one, so that both sides
    /// are started in the same way (std forks instead of using `posix_spawn` when a hook runs before exec).
    ///
    /// Originals and replacements are regular files. Use absolute paths without `..` that stay valid, or run in the directory that
    /// relative ones start from.
    ///
    /// # Errors
    /// See [`PrivateMountsError`]; [`PrivateMountsError::Impossible`] where this process may make no such namespace.
    pub fn create(overlays: &[Overlay]) -> Result<Self, PrivateMountsError> {
        let checked = checked(overlays)?;
        let words: Vec<(CString, CString)> = checked.iter().map(c_paths).collect::<Result<_, _>>()?;
        let method = if is_admin() { Method::Root } else { Method::UserNamespace };
        let made = child::make(method, &words).map_err(|error| reason(error, method, &checked))?;
        let mut by_original = HashMap::new();
        let mut covers = Vec::new();
        for (index, overlay) in checked.iter().enumerate() {
            let stat = statat(CWD, &overlay.replacement, AtFlags::empty())
                .map_err(|errno| PrivateMountsError::file("replacement", &overlay.replacement, errno.into()))?;
            covers.push((stat.st_dev, stat.st_ino));
            by_original.insert(overlay.original.clone(), index);
        }
        let made =
            Self { overlays: checked, by_original, covers, mounts: made.mounts, users: made.users, root: made.root };
        match made.uncovered().into_iter().next() {
            None => Ok(made),
            Some(original) => Err(PrivateMountsError::NotCovered { original }),
        }
    }

    /// How it was made.
    pub fn method(&self) -> Method {
        if self.users.is_some() { Method::UserNamespace } else { Method::Root }
    }

    /// The overlays, without symbolic links in their paths.
    pub fn overlays(&self) -> &[Overlay] {
        &self.overlays
    }

    /// The path by which this process, outside the view, reaches what programs inside reach by `path`: the replacement's own path for
    /// an original, otherwise `path` itself. `path` is absolute and free of symbolic links, as the kernel shows it in `/proc`.
    pub fn outside<'path>(&'path self, path: &'path Path) -> &'path Path {
        let overlay = self.by_original.get(path).and_then(|&index| self.overlays.get(index));
        overlay.map_or(path, |overlay| &overlay.replacement)
    }

    /// Originals that are no longer covered, because another process replaced or removed them since.
    pub fn uncovered(&self) -> Vec<PathBuf> {
        let is_covered = |overlay: &Overlay, cover: (u64, u64)| {
            let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            let found = openat2(&self.root, &overlay.original, flags, Mode::empty(), ResolveFlags::IN_ROOT);
            found.and_then(rustix::fs::fstat).is_ok_and(|stat| (stat.st_dev, stat.st_ino) == cover)
        };
        let pairs = self.overlays.iter().zip(self.covers.iter().copied());
        pairs
            .filter(|(overlay, cover)| !is_covered(overlay, *cover))
            .map(|(overlay, _)| overlay.original.clone())
            .collect()
    }

    /// Whether the kernel shows us the files inside by other paths than those by which programs inside name them: in a chroot, whose
    /// root no path of ours leads to in another mount namespace (`prepend_path`, `fs/d_path.c`). Unknown counts as no.
    pub fn has_other_names(&self) -> bool {
        descriptor::name(&self.root).is_ok_and(|name| name != Path::new("/"))
    }

    /// Has the command's process enter the view right before it executes its program, after hooks that were added before.
    ///
    /// The working directory is kept: by its path, so that relative names lead to the replacements too, or where the path means another
    /// directory inside, the directory itself.
    pub fn enter_with(self: &Arc<Self>, command: &mut Command) {
        enter::before_exec(Arc::clone(self), command);
    }

    /// Does work in a thread of its own that sees the view, as do the threads and programs that it starts. The working directory is kept as by
    /// [`Self::enter_with`].
    ///
    /// # Errors
    /// [`PrivateMountsError::System`] if the thread cannot enter: always of a view in a user namespace, which only a process with a single thread may enter.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, PrivateMountsError> {
        let failed = |source| PrivateMountsError::System { what: "enter the private view", source };
        if self.users.is_some() {
            return Err(failed(io::ErrorKind::PermissionDenied.into()));
        }
        let worked = thread::scope(|scope| {
            let started = thread::Builder::new().spawn_scoped(scope, || enter::this_thread(self).map(|()| work()))?;
            started.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        worked.map_err(failed)
    }
}

/// As [`PrivateMounts::outside`]; without a view, the path itself.
pub fn outside<'path>(mounts: Option<&'path PrivateMounts>, path: &'path Path) -> &'path Path {
    mounts.map_or(path, |mounts| mounts.outside(path))
}

/// How a view can be made by this process in which a start can be recorded; tried without any lasting effect.
///
/// # Errors
/// [`PrivateMountsError::Impossible`] with the reason, or another error of [`PrivateMounts::create`].
pub fn possible() -> Result<Method, PrivateMountsError> {
    let view = PrivateMounts::create(&[])?;
    if view.has_other_names() {
        return Err(PrivateMountsError::Impossible { obstacle: Obstacle::OtherNames, source: None });
    }
    Ok(view.method())
}

/// Gives the calling thread, and what it starts from now on, a mount namespace of its own. What is mounted elsewhere still appears in it;
/// what is mounted in it appears nowhere else and ends with it.
///
/// Without `CAP_SYS_ADMIN` it lies in a user namespace, which only a process with a single thread may enter.
///
/// # Errors
/// [`PrivateMountsError::Impossible`] with the reason.
pub fn separate_this_thread() -> Result<Method, PrivateMountsError> {
    let method = if is_admin() { Method::Root } else { Method::UserNamespace };
    child::separate_this_thread(method).map_err(|error| reason(error, method, &[]))?;
    Ok(method)
}

fn is_admin() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// The overlays with resolved paths, if they can work.
fn checked(overlays: &[Overlay]) -> Result<Vec<Overlay>, PrivateMountsError> {
    let mut checked: Vec<Overlay> = Vec::with_capacity(overlays.len());
    let mut originals = HashMap::new();
    for overlay in overlays {
        let (original, _) = regular("original", &overlay.original)?;
        let (replacement, _) = regular("replacement", &overlay.replacement)?;
        if originals.insert(original.clone(), ()).is_some() {
            return Err(PrivateMountsError::Twice { original });
        }
        if is_noexec(&replacement)? && !is_noexec(&original)? {
            return Err(PrivateMountsError::NoExec { replacement });
        }
        checked.push(Overlay { original, replacement });
    }
    // A mount over a replacement would be what the next mount finds.
    match checked.iter().find(|overlay| originals.contains_key(&overlay.replacement)) {
        Some(overlay) => Err(PrivateMountsError::Chained { replacement: overlay.replacement.clone() }),
        None => Ok(checked),
    }
}

fn regular(role: &'static str, path: &Path) -> Result<(PathBuf, Metadata), PrivateMountsError> {
    let failed = |source| PrivateMountsError::file(role, path, source);
    let resolved = path.canonicalize().map_err(failed)?;
    let metadata = resolved.metadata().map_err(failed)?;
    match InodeKind::of_mode(metadata.mode()) {
        InodeKind::Regular => Ok((resolved, metadata)),
        kind => Err(PrivateMountsError::NotRegular { role, path: path.to_owned(), kind }),
    }
}

fn is_noexec(path: &Path) -> Result<bool, PrivateMountsError> {
    let stat = statvfs(path).map_err(|errno| PrivateMountsError::file("file", path, errno.into()))?;
    Ok(stat.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

fn c_paths(overlay: &Overlay) -> Result<(CString, CString), PrivateMountsError> {
    let word = |path: &Path| {
        CString::new(path.as_os_str().to_owned().into_vec())
            .map_err(|error| PrivateMountsError::file("file", path, error.into()))
    };
    Ok((word(&overlay.original)?, word(&overlay.replacement)?))
}

/// Why the child failed, in the caller's words.
fn reason(failed: Failed, method: Method, overlays: &[Overlay]) -> PrivateMountsError {
    let Failed { step, index, source } = failed;
    match step {
        Step::System(what) => PrivateMountsError::System { what, source },
        Step::Mount => match overlays.get(index) {
            Some(overlay) => PrivateMountsError::Mount { overlay: overlay.clone(), source },
            None => PrivateMountsError::System { what: "mount a file over another", source },
        },
        Step::Users | Step::Map | Step::Mounts | Step::Apart => {
            let obstacle =
                Obstacle::of(method, step, source.raw_os_error(), &|setting| kernel::number(setting), is_chroot());
            PrivateMountsError::Impossible { obstacle, source: Some(source) }
        }
    }
}

/// Whether this process's root directory is not the root of its mount namespace. Unknown counts as no.
fn is_chroot() -> bool {
    // The root of a mount namespace is a mount point, that of a chroot usually is not.
    let flags = rustix::fs::StatxAttributes::MOUNT_ROOT;
    let found = rustix::fs::statx(CWD, "/", AtFlags::empty(), rustix::fs::StatxFlags::BASIC_STATS);
    found.is_ok_and(|found| found.stx_attributes_mask.contains(flags) && !found.stx_attributes.contains(flags))
}

#[cfg(test)]
mod tests;
