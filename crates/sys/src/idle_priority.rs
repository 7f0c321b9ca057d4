//! Working only when nobody else wants the disk or the processors.
//!
//! The I/O class "idle" is honoured by bfq and mq-deadline; other schedulers, and disks without one, treat it as any other
//! (`Documentation/block/ioprio.rst`). glibc has no function for it.

use std::io;

/// `IOPRIO_WHO_PROCESS` (include/uapi/linux/ioprio.h); the process 0 is the calling thread.
const PROCESS: libc::c_int = 1;
/// `IOPRIO_CLASS_IDLE`, shifted by `IOPRIO_CLASS_SHIFT`.
const IDLE: libc::c_int = 3 << 13;

/// Puts this thread, and the threads and processes that it starts, into the idle I/O class. It cannot go back without privilege on
/// some kernels.
///
/// # Errors
/// The kernel's error, as where a filter of system calls forbids it.
pub fn use_idle_io_class() -> io::Result<()> {
    // SAFETY: the call takes three numbers and no memory.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, PROCESS, 0, IDLE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_idle_afterwards() {
        let class = || {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_ioprio_get, PROCESS, 0) }
        };
        let inside = std::thread::spawn(move || {
            use_idle_io_class().unwrap();
            class()
        });
        assert_eq!(inside.join().unwrap() >> 13, 3);
    }
}
