//! File system calls of a process that have not returned, from `/proc/PID/task/TID/syscall` (proc_pid_syscall(5)).
//!
//! A call on a network or FUSE file system that does not answer waits for ever, and no signal but SIGKILL ends the wait
//! (`request_wait_answer` in `fs/fuse/dev.c`). A thread that waits in the same call at two looks, and has not run in between, is in
//! such a wait, or a disk is very slow.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use coldstart_host::process::ProcessFiles;

/// Longest path in bytes, with its final NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// A call that a thread is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCall {
    process: u32,
    thread: u32,
    /// Number and arguments, as the kernel shows them.
    call: String,
    /// How often the thread has been taken off a processor: it changes when it runs.
    switches: (Option<u64>, Option<u64>),
}

/// The calls with a path, and which argument it is.
const BY_PATH: &[(i64, usize)] = &[
    (libc::SYS_openat, 1),
    (libc::SYS_openat2, 1),
    (libc::SYS_newfstatat, 1),
    (libc::SYS_statx, 1),
    (libc::SYS_readlinkat, 1),
    (libc::SYS_faccessat, 1),
    (libc::SYS_faccessat2, 1),
    (libc::SYS_statfs, 0),
    (libc::SYS_getxattr, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_stat, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_lstat, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_readlink, 0),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_access, 0),
];

/// The calls with a descriptor as their first argument. Not those that flush, which may take minutes on a healthy disk.
const BY_DESCRIPTOR: &[i64] = &[
    libc::SYS_read,
    libc::SYS_pread64,
    libc::SYS_preadv2,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_getdents64,
    libc::SYS_fadvise64,
    libc::SYS_lseek,
];

impl FileCall {
    /// The calls that the threads of a process are in. Threads that cannot be looked at are left out.
    pub fn of(process: u32) -> Vec<Self> {
        let Ok(threads) = fs::read_dir(ProcessFiles::of(process).at("task")) else { return Vec::new() };
        let numbers = threads.filter_map(Result::ok).filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter_map(|thread| Self::of_thread(process, thread)).collect()
    }

    fn of_thread(process: u32, thread: u32) -> Option<Self> {
        let files = ProcessFiles::of_thread(process, thread);
        // A thread that computes shows "running".
        let call = fs::read_to_string(files.at("syscall")).ok()?;
        let status = files.status();
        let number = |name| std::str::from_utf8(status.field(name)?).ok()?.trim().parse().ok();
        let switches = (number("voluntary_ctxt_switches"), number("nonvoluntary_ctxt_switches"));
        let found = Self { process, thread, call, switches };
        found.is_of_file().then_some(found)
    }

    fn word(&self, at: usize) -> Option<u64> {
        u64::from_str_radix(self.call.split_whitespace().nth(at + 1)?.strip_prefix("0x")?, 16).ok()
    }

    fn number(&self) -> Option<i64> {
        self.call.split_whitespace().next()?.parse().ok()
    }

    fn is_of_file(&self) -> bool {
        let Some(number) = self.number() else { return false };
        if BY_DESCRIPTOR.contains(&number) {
            // Not a pipe, a socket or a terminal.
            return self.file().is_some_and(|path| path.is_absolute() && !path.starts_with("/dev"));
        }
        BY_PATH.iter().any(|(known, _)| *known == number)
    }

    /// The file that it is about, as the caller names it. None if it cannot be told.
    pub fn file(&self) -> Option<PathBuf> {
        let number = self.number()?;
        if BY_DESCRIPTOR.contains(&number) {
            let descriptor = self.word(0)?;
            return fs::read_link(ProcessFiles::of(self.process).at(format!("fd/{descriptor}"))).ok();
        }
        let (_, argument) = BY_PATH.iter().find(|(known, _)| *known == number)?;
        let mut bytes = vec![0; PATH_MAX];
        let memory = File::open(ProcessFiles::of(self.process).at("mem")).ok()?;
        // What follows the path may not be mapped: then fewer bytes are read.
        let length = memory.read_at(&mut bytes, self.word(*argument)?).ok()?;
        let end = bytes.iter().take(length).position(|&byte| byte == 0)?;
        Some(PathBuf::from(OsStr::from_bytes(bytes.get(..end)?)))
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_thread_that_waits_in_a_call_is_seen_with_its_file() {
        let directory = tempfile::tempdir().unwrap();
        // Opening a FIFO for reading waits for its writer.
        let fifo = directory.path().join("fi fo");
        mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let path = fifo.clone();
        let reader = thread::spawn(move || {
            let mut opened = File::open(path).unwrap();
            std::io::Read::read(&mut opened, &mut [0]).unwrap()
        });
        let ours = || FileCall::of(std::process::id());
        let limit = Instant::now() + Duration::from_secs(60);
        let seen = loop {
            let seen = ours().into_iter().find(|call| call.file().as_deref() == Some(&fifo));
            if let Some(seen) = seen {
                break seen;
            }
            assert!(Instant::now() < limit, "never seen");
            thread::sleep(Duration::from_millis(5));
        };
        thread::sleep(Duration::from_millis(20));
        assert!(ours().contains(&seen), "it has not run in between: {:?}", ours());
        let writer = File::options().write(true).open(&fifo).unwrap();
        while ours().contains(&seen) {
            assert!(Instant::now() < limit, "still there");
            thread::sleep(Duration::from_millis(5));
        }
        drop(writer);
        assert_eq!(reader.join().unwrap(), 0);
    }
}
