//! The child process that makes a namespace and mounts in it, for its parent to keep.
//!
//! A process of its own, because a process with threads may not enter a new user namespace, and because a mount namespace belongs to a
//! task. It is forked from a process with threads, so it makes system calls only. It ends when its parent has taken the namespace, or has
//! ended.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use coldstart_host::process::{ProcessFiles, own};
use rustix::fs::{Mode, OFlags};
use rustix::pipe::{PipeFlags, pipe_with};

use super::Method;
use crate::blocked_signals::with_signals_blocked;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Creating the user namespace.
    Users,
    /// Mapping the user and group in it.
    Map,
    /// Creating the mount namespace.
    Mounts,
    /// Keeping mounts from propagating out of it.
    Apart,
    /// Mounting a file.
    Mount,
    /// In the parent.
    System(&'static str),
}

/// Why it failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) step: Step,
    /// Of the overlay, for [`Step::Mount`].
    pub(super) index: usize,
    pub(super) source: io::Error,
}

impl Failed {
    fn system(what: &'static str, source: impl Into<io::Error>) -> Self {
        Self { step: Step::System(what), index: 0, source: source.into() }
    }
}

/// The namespaces of a child.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) mounts: OwnedFd,
    pub(super) users: Option<OwnedFd>,
    pub(super) root: OwnedFd,
}

/// The child's report: step, overlay, error number.
const REPORT: usize = 12;

/// Makes the namespaces and mounts each second path over the first.
pub(super) fn make(method: Method, overlays: &[(CString, CString)]) -> Result<Made, Failed> {
    let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| Failed::system("make a pipe", errno));
    let ((report, reporting), (leave, leaving)) = (pipe()?, pipe()?);
    let prepared = Prepared::new(method).map_err(|error| Failed::system("name the kernel's files", error))?;
    let ends = Ends { report: reporting.as_raw_fd(), leave: leave.as_raw_fd() };
    let child = Child(fork(ends, &prepared, overlays).map_err(|error| Failed::system("create a process", error))?);
    drop(reporting);
    drop(leave);
    let made = reported(report).and_then(|()| take(child.0, prepared.users.is_some()));
    // It may end; `child` waits for that.
    drop(leaving);
    drop(child);
    made
}

/// The child's report, awaited.
fn reported(report: OwnedFd) -> Result<(), Failed> {
    let mut bytes = Vec::new();
    File::from(report)
        .take(REPORT as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| Failed::system("hear from a process", error))?;
    let words: Vec<i32> = bytes.as_chunks::<4>().0.iter().copied().map(i32::from_ne_bytes).collect();
    let &[step, index, number] = words.as_slice() else {
        return Err(Failed::system("make a mount namespace", io::Error::from(io::ErrorKind::UnexpectedEof)));
    };
    if step == 0 {
        return Ok(());
    }
    let step = step_of(step);
    Err(Failed { step, index: usize::try_from(index).unwrap_or(0), source: io::Error::from_raw_os_error(number) })
}

/// The step with a number other than 0.
fn step_of(number: i32) -> Step {
    match number {
        1 => Step::Users,
        2 => Step::Map,
        3 => Step::Mounts,
        4 => Step::Apart,
        _ => Step::Mount,
    }
}

/// The namespaces of a waiting child.
fn take(child: libc::pid_t, has_users: bool) -> Result<Made, Failed> {
    let process = ProcessFiles::of(child.unsigned_abs());
    let open = |name: &str, flags| {
        rustix::fs::open(process.at(name), flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(|errno| Failed::system("open a namespace below /proc", errno))
    };
    Ok(Made {
        mounts: open("ns/mnt", OFlags::RDONLY)?,
        users: if has_users { Some(open("ns/user", OFlags::RDONLY)?) } else { None },
        root: open("root", OFlags::PATH | OFlags::DIRECTORY)?,
    })
}

/// A child that is waited for.
struct Child(libc::pid_t);

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: a null status pointer is allowed. The child is ours and not reaped by anybody else.
        while unsafe { libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL) } < 0
            && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
        {}
    }
}

/// Files that the child opens, prepared by the parent, as the child may not allocate.
struct Prepared {
    own_mounts: CString,
    users: Option<Maps>,
}

/// What is written to the files that map users and groups: the caller's own, as themselves.
struct Maps {
    set_groups: CString,
    user_map: CString,
    group_map: CString,
    user: String,
    group: String,
}

impl Prepared {
    fn new(method: Method) -> io::Result<Self> {
        let users = || {
            let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
            Ok::<_, io::Error>(Maps {
                set_groups: CString::new(own::SET_GROUPS)?,
                user_map: CString::new(own::USER_MAP)?,
                group_map: CString::new(own::GROUP_MAP)?,
                user: format!("{user} {user} 1\n"),
                group: format!("{group} {group} 1\n"),
            })
        };
        let users = (method == Method::UserNamespace).then(users).transpose()?;
        Ok(Self { own_mounts: CString::new(own::MOUNT_NAMESPACE)?, users })
    }
}

/// Ends of pipes in the child.
#[derive(Clone, Copy)]
struct Ends {
    report: RawFd,
    leave: RawFd,
}

fn fork(ends: Ends, prepared: &Prepared, overlays: &[(CString, CString)]) -> io::Result<libc::pid_t> {
    // SAFETY: the child runs nothing but `work`, which allocates nothing, takes no lock and never returns, so that other threads' locks,
    // which stay locked in the child, cannot hold it. Signals are blocked before: a handler of ours must not run in it.
    with_signals_blocked(|| unsafe {
        // As `fork`, but with no signal at its end (`clone(2)`).
        let process = libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) as libc::pid_t;
        if process == 0 {
            work(ends, prepared, overlays);
        }
        if process < 0 { Err(io::Error::last_os_error()) } else { Ok(process) }
    })
}

/// Closes all descriptors but two: the parent's ends of our pipes, and of those of children that other threads make at the same time.
/// Such a child would wait for us, and we for it.
///
/// # Safety
/// For a child right after `fork`, which uses no other descriptor.
unsafe fn close_all_but(one: RawFd, other: RawFd) {
    let (first, second) = (one.min(other).unsigned_abs(), one.max(other).unsigned_abs());
    let close = |from: u32, to: u32| {
        if from <= to {
            // SAFETY: a system call with integers; nobody else uses the descriptors of this process. Linux 5.9, like everything that
            // follows.
            unsafe { libc::syscall(libc::SYS_close_range, from, to, 0_u32) };
        }
    };
    if first > 0 {
        close(0, first - 1);
    }
    close(first + 1, second.saturating_sub(1));
    close(second + 1, u32::MAX);
}

/// The child.
///
/// # Safety
/// For a child right after `fork`, with descriptors of its parent; nothing else may run in the process.
unsafe fn work(ends: Ends, prepared: &Prepared, overlays: &[(CString, CString)]) -> ! {
    // SAFETY: system calls with integers, terminated strings, and buffers of the stated length.
    unsafe {
        close_all_but(ends.report, ends.leave);
        let (step, index) = match mount_all(prepared, overlays) {
            Ok(()) => (0, 0),
            Err(failed) => failed,
        };
        let number = if step == 0 { 0 } else { *libc::__errno_location() };
        let words: [i32; 3] = [step, index, number];
        libc::write(ends.report, words.as_ptr().cast(), REPORT);
        // The other end closes when the parent has taken the namespaces, or has ended.
        let mut byte = 0u8;
        while libc::read(ends.leave, (&raw mut byte).cast(), 1) < 0 && *libc::__errno_location() == libc::EINTR {}
        libc::_exit(0)
    }
}

/// Returns the number of the failed step and the overlay; `errno` says why.
///
/// # Safety
/// As [`work`].
unsafe fn mount_all(prepared: &Prepared, overlays: &[(CString, CString)]) -> Result<(), (i32, i32)> {
    // SAFETY: as in `work`.
    unsafe {
        separate(prepared).map_err(|step| (step, 0))?;
        for (index, (original, replacement)) in (0i32..).zip(overlays) {
            let null = std::ptr::null();
            if libc::mount(replacement.as_ptr(), original.as_ptr(), null, libc::MS_BIND, null.cast()) != 0 {
                return Err((5, index));
            }
        }
    }
    Ok(())
}

/// Gives the calling thread namespaces of its own. Returns the number of the failed step; `errno` says why.
///
/// # Safety
/// Makes system calls only, with strings of `prepared`.
unsafe fn separate(prepared: &Prepared) -> Result<(), i32> {
    // SAFETY: system calls with integers and terminated strings.
    unsafe {
        if let Some(maps) = &prepared.users {
            if libc::unshare(libc::CLONE_NEWUSER) != 0 {
                return Err(1);
            }
            // Required before an unprivileged process may map groups (user_namespaces(7)); missing before Linux 3.19.
            write_file(&maps.set_groups, b"deny");
            if !write_file(&maps.user_map, maps.user.as_bytes()) || !write_file(&maps.group_map, maps.group.as_bytes())
            {
                return Err(2);
            }
        }
        if libc::unshare(libc::CLONE_NEWNS) != 0 {
            return Err(3);
        }
        if set_apart(&prepared.own_mounts) { Ok(()) } else { Err(4) }
    }
}

/// As [`make`], but for the calling thread itself: it and what it starts from now on have namespaces of their own.
pub(super) fn separate_this_thread(method: Method) -> Result<(), Failed> {
    let prepared = Prepared::new(method).map_err(|error| Failed::system("name the kernel's files", error))?;
    // SAFETY: nothing but system calls.
    unsafe { separate(&prepared) }.map_err(|step| Failed {
        step: step_of(step),
        index: 0,
        source: io::Error::last_os_error(),
    })
}

/// Keeps our mounts from the namespace that ours was copied from. What is unmounted there is unmounted here, too, so that
/// we keep no file system busy.
///
/// # Safety
/// As [`work`].
unsafe fn set_apart(own_mounts: &CStr) -> bool {
    // SAFETY: as in `work`.
    unsafe {
        let flags = libc::MS_REC | libc::MS_SLAVE;
        let null = std::ptr::null();
        let mount = || libc::mount(null, c"/".as_ptr(), null, flags, null.cast()) == 0;
        if mount() {
            return true;
        }
        if *libc::__errno_location() != libc::EINVAL {
            return false;
        }
        // In a chroot "/" may be no mount point. Entering a namespace, even one's own, leads to its root (`mntns_install`).
        let root = libc::open(c"/".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        let own = libc::open(own_mounts.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        root >= 0
            && own >= 0
            && libc::setns(own, libc::CLONE_NEWNS) == 0
            && mount()
            && libc::fchdir(root) == 0
            && libc::chroot(c".".as_ptr()) == 0
    }
}

/// # Safety
/// As [`work`].
unsafe fn write_file(path: &CStr, bytes: &[u8]) -> bool {
    // SAFETY: as in `work`.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        file >= 0 && libc::write(file, bytes.as_ptr().cast(), bytes.len()) == bytes.len() as isize
    }
}
