//! Entering a view, between fork and exec.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use super::PrivateMounts;

/// Longest path the kernel returns, in bytes, with its final NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// Adds a hook that enters the view.
pub(super) fn before_exec(view: Arc<PrivateMounts>, command: &mut Command) {
    let hook = move || {
        let users = view.users.as_ref().map(AsRawFd::as_raw_fd);
        // SAFETY: between fork and exec, as `enter` demands; the view keeps its descriptors open.
        unsafe { enter(users, view.mounts.as_raw_fd(), view.root.as_raw_fd()) }
    };
    // SAFETY: the hook runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
}

/// Has the calling thread enter a view without a user namespace, for as long as it lives, with the threads and programs that it starts.
pub(super) fn this_thread(view: &PrivateMounts) -> io::Result<()> {
    // Of the other threads' working directory and root.
    // SAFETY: a system call with an integer.
    if unsafe { libc::unshare(libc::CLONE_FS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the thread shares its working directory with no other now, and the view keeps its descriptors open. Nothing else that `enter` does is of the
    // whole process.
    unsafe { enter(None, view.mounts.as_raw_fd(), view.root.as_raw_fd()) }
}

/// # Safety
/// In a thread that shares its working directory with no other, with open descriptors; with a user namespace, in a process with one thread.
unsafe fn enter(users: Option<RawFd>, mounts: RawFd, root: RawFd) -> io::Result<()> {
    let worked = |result: libc::c_int| if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) };
    // SAFETY: system calls with integers, terminated strings, and buffers of the stated length.
    unsafe {
        let mut name = [0u8; PATH_MAX];
        let length = libc::syscall(libc::SYS_getcwd, name.as_mut_ptr(), PATH_MAX);
        let here = libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        if let Some(users) = users {
            worked(libc::setns(users, libc::CLONE_NEWUSER))?;
        }
        worked(libc::setns(mounts, libc::CLONE_NEWNS))?;
        // Entering has made the namespace's own root ours.
        worked(libc::fchdir(root))?;
        worked(libc::chroot(c".".as_ptr()))?;
        // Outside the root, the kernel's answer does not begin with a slash.
        let by_name = length > 0 && name[0] == b'/' && libc::chdir(name.as_ptr().cast()) == 0;
        if here >= 0 {
            if !by_name || !is_here(here) {
                worked(libc::fchdir(here))?;
            }
            libc::close(here);
        }
    }
    Ok(())
}

/// Whether a descriptor is of the working directory.
///
/// # Safety
/// An open descriptor.
unsafe fn is_here(descriptor: RawFd) -> bool {
    // SAFETY: zeroed structures are valid values to be filled, and live as long as the calls.
    unsafe {
        let (mut then, mut now): (libc::stat, libc::stat) = (std::mem::zeroed(), std::mem::zeroed());
        libc::fstat(descriptor, &raw mut then) == 0
            && libc::stat(c".".as_ptr(), &raw mut now) == 0
            && (then.st_dev, then.st_ino) == (now.st_dev, now.st_ino)
    }
}
