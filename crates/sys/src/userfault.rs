//! Fault-around, switched off for chosen mappings of another process (`userfaultfd(2)`).
//!
//! On a read fault the kernel maps up to 16 pages of a file at once, so that use of the other 15 is never seen. It does not
//! where a mapping is registered for asynchronous write protection, even when nothing is protected (`uffd_disable_fault_around` in
//! `include/linux/userfaultfd_k.h`). Not obvious: the descriptor applies to the memory of the process that created it,
//! whichever process holds it. So the process creates it once, in an injected call, and everything else is done from here.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// `UFFD_USER_MODE_ONLY`: the mode permitted without privileges.
pub const USER_MODE_ONLY: u64 = 1;

const API: u64 = 0xaa;
/// `UFFD_FEATURE_WP_ASYNC` (Linux 6.7).
const WRITE_PROTECT_ASYNC: u64 = 1 << 15;
const REGISTER_WRITE_PROTECT: u64 = 1 << 1;
/// `_IOWR(0xaa, 0x3f, struct uffdio_api)` and `_IOWR(0xaa, 0x00, struct uffdio_register)` (`linux/userfaultfd.h`).
const UFFDIO_API: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
const UFFDIO_REGISTER: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;

/// A process's memory in which fault-around can be switched off. Dropping it switches fault-around on again.
#[derive(Debug)]
pub struct FaultAroundSwitch {
    descriptor: OwnedFd,
}

impl FaultAroundSwitch {
    /// Takes a descriptor created by a process: `number` is its number there, which the process can close afterwards.
    ///
    /// # Errors
    /// `EINVAL` before Linux 6.7 (no asynchronous write protection), `EPERM` for a process that we may not trace.
    pub fn take(process: u32, number: i32) -> io::Result<Self> {
        let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
        let process = process.ok_or(io::Error::from_raw_os_error(libc::ESRCH))?;
        let process = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())?;
        // SAFETY: a plain system call with integers (`pidfd_getfd(2)`, Linux 5.6).
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) };
        let descriptor = i32::try_from(descriptor).ok().filter(|&descriptor| descriptor >= 0);
        let Some(descriptor) = descriptor else { return Err(io::Error::last_os_error()) };
        // SAFETY: the call succeeded, so the number is a new descriptor that nobody else owns.
        let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut api = [API, WRITE_PROTECT_ASYNC, 0];
        // SAFETY: `struct uffdio_api` has three 64-bit words: api, features, ioctls.
        if unsafe { libc::ioctl(descriptor.as_raw_fd(), UFFDIO_API, api.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { descriptor })
    }

    /// Switches fault-around off in a range of whole pages, which must all be mapped.
    ///
    /// # Errors
    /// `EPERM` for shared mappings of files that the process may not write, `EINVAL` for holes and device memory, `ENOMEM` when the
    /// process has ended.
    pub fn off(&self, address: u64, length: u64) -> io::Result<()> {
        let mut register = [address, length, REGISTER_WRITE_PROTECT, 0];
        // SAFETY: `struct uffdio_register` has four 64-bit words: start, length, mode, ioctls. The addresses are the other process's.
        if unsafe { libc::ioctl(self.descriptor.as_raw_fd(), UFFDIO_REGISTER, register.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

/// Numbers of the calls that the process makes: `userfaultfd` and `close`, for 64-bit and for 32-bit programs on x86-64.
pub const USERFAULTFD_CALL: (u64, u64) = (libc::SYS_userfaultfd as u64, 374);
/// As above.
pub const CLOSE_CALL: (u64, u64) = (libc::SYS_close as u64, 6);
