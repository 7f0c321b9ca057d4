//! A process that restores files, or ends a program, when this process ends in any way.
//!
//! Kernel settings that we change outlive us, and so do programs that we start. A destructor handles both after
//! success, an error or a panic, but nothing in a process runs after SIGKILL. So a second process holds the reading end of a
//! pipe, to which only we have the other end, and has in memory what to do; the kernel closes our end in any case.
//!
//! It is a child and stays one (no second `fork`): a launch does not count earlier children as part of the
//! program, and we can wait for it. It raises no SIGCHLD and is invisible to a plain wait for any child; as long as
//! it exists, all processes must be checked to know whether the program has left some. It has its own session, or Ctrl-C at the
//! terminal would reach it; it holds none of our descriptors, or a pipe after us would not end. It cannot survive
//! the kill of a whole control group, or of a container in which we are the first process.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::pipe::{PipeFlags, pipe_with};

use crate::kept_descriptors::{FIRST_KEPT, keep_only};
use crate::process_mark::{self, ProcessMark};

/// The guardian's descriptors: its end of the pipe, then the descriptor that it holds for us.
const PIPE: RawFd = FIRST_KEPT;
const HELD: RawFd = FIRST_KEPT + 1;

/// Bytes to be written to an existing file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutBack {
    path: CString,
    bytes: Vec<u8>,
}

impl PutBack {
    /// These bytes, in one `write` at the beginning of the file, as files in `/sys` require.
    ///
    /// # Errors
    /// `InvalidInput` if the path contains a NUL byte.
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        Ok(Self { path: CString::new(path.as_os_str().as_bytes())?, bytes: bytes.to_vec() })
    }
}

/// A process that does its writes once this is dropped or this process has ended.
#[derive(Debug)]
pub struct Guardian {
    process: libc::pid_t,
    /// Taken by the drop before it waits.
    pipe: Option<OwnedFd>,
}

impl Guardian {
    /// Starts it. Each write is tried, in order, whether or not others fail; errors are not reported.
    ///
    /// `held` stays open in it until its writes are done: a `flock` on it stays held that long. May be called with other
    /// threads running: between `fork` and the end the guardian makes system calls only. Afterwards our pages are shared
    /// with it and the first write to each costs a page fault, so start it before any timing.
    ///
    /// # Errors
    /// When no pipe or process can be created.
    pub fn start(writes: &[PutBack], held: BorrowedFd<'_>) -> io::Result<Self> {
        let (process, ours) = fork_guardian(held, Duty::PutBack(writes))?;
        Ok(Self { process, pipe: Some(ours) })
    }

    /// Its PID.
    pub fn process(&self) -> u32 {
        self.process.unsigned_abs()
    }
}

/// Triggers the writes, and waits until they are done.
impl Drop for Guardian {
    fn drop(&mut self) {
        self.pipe = None;
        reap(self.process);
    }
}

/// A process that kills all processes with a mark once this process has ended, or this is dropped.
#[derive(Debug)]
pub struct ProcessGuardian {
    guardian: Guardian,
}

impl ProcessGuardian {
    /// Starts it. As with [`Guardian::start`], start it before any timing; other threads may be running.
    ///
    /// # Errors
    /// When `/proc` cannot be opened, or no pipe or process can be created.
    pub fn start(mark: ProcessMark) -> io::Result<Self> {
        let proc = File::open(coldstart_host::process::ALL)?;
        let (process, ours) = fork_guardian(proc.as_fd(), Duty::EndMarked(mark))?;
        Ok(Self { guardian: Guardian { process, pipe: Some(ours) } })
    }

    /// Its PID.
    pub fn process(&self) -> u32 {
        self.guardian.process()
    }

    /// Ends it without any action, when no marked process is left.
    pub fn dismiss(self) {
        if let Some(pipe) = &self.guardian.pipe {
            let _ = rustix::io::write(pipe, &[1]);
        }
    }
}

/// Runs `work` when this process ends by `exit`, as at the end of `main`; not when it is killed.
///
/// # Errors
/// When there is not enough memory to register it.
pub fn at_exit(work: extern "C" fn()) -> io::Result<()> {
    // SAFETY: a function without arguments that lives as long as the process.
    if unsafe { libc::atexit(work) } == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENOMEM)) }
}

/// What a guardian does when this process has ended.
#[derive(Clone, Copy)]
enum Duty<'a> {
    PutBack(&'a [PutBack]),
    /// The open `/proc`, through which it finds all processes.
    EndMarked(ProcessMark),
}

/// Starts a guardian; returns the child's PID and our end of the pipe.
fn fork_guardian(held: BorrowedFd<'_>, duty: Duty<'_>) -> io::Result<(libc::pid_t, OwnedFd)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    let (ready, set_up) = pipe_with(PipeFlags::CLOEXEC)?;
    let descriptors = Descriptors {
        reading: theirs.as_raw_fd(),
        writing: ours.as_raw_fd(),
        set_up: set_up.as_raw_fd(),
        held: held.as_raw_fd(),
    };
    let process;
    // SAFETY: a zeroed set is a valid value to be filled; both sets live as long as the calls. The child runs nothing
    // but `guard`, which allocates nothing, takes no lock and never returns, so that other threads' locks, which stay
    // locked in the child, cannot hold it. Signals are blocked before: a handler of ours must not run in it.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        // As `fork`, but with no signal at its end (`clone(2)`), and without what libc does at a fork, which is for children
        // that go on using it.
        process = libc::syscall(libc::SYS_clone, 0, 0, 0, 0, 0) as libc::pid_t;
        if process == 0 {
            guard(descriptors, duty);
        }
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        if process < 0 {
            return Err(error);
        }
    }
    drop(set_up);
    // Wait until the guardian has left our session and process group: before, whatever kills our group kills the guardian too.
    // If it dies first, the read ends as well.
    while rustix::io::read(&ready, &mut [0]) == Err(rustix::io::Errno::INTR) {}
    Ok((process, ours))
}

/// The descriptors that a guardian inherits, as numbered in its parent.
#[derive(Clone, Copy)]
struct Descriptors {
    /// The pipe that closes when the parent ends.
    reading: RawFd,
    writing: RawFd,
    /// Receives a byte when the guardian has left our session.
    set_up: RawFd,
    held: RawFd,
}

fn reap(process: libc::pid_t) {
    // SAFETY: a null status pointer is allowed. The child is ours and not reaped by anybody else.
    while unsafe { libc::waitpid(process, std::ptr::null_mut(), libc::__WALL) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// The guardian's main loop. Every signal that can be blocked stays blocked.
///
/// # Safety
/// For a child right after `fork`, with descriptors of its parent; nothing else may run in the process.
unsafe fn guard(descriptors: Descriptors, duty: Duty<'_>) -> ! {
    let Descriptors { reading, writing, set_up, held } = descriptors;
    // SAFETY: system calls with valid, terminated strings and buffers of the stated length; the descriptors closed and
    // overwritten belong to nobody, since nothing else runs in this process and it ends here, without exit handlers.
    unsafe {
        libc::close(writing);
        // We may have been launched by another coldstart, and the guardian must outlive that.
        process_mark::take_off();
        let session = libc::getsid(0);
        libc::setsid();
        libc::chdir(c"/".as_ptr());
        // Not our own name: killing us by name should not hit the guardian.
        libc::prctl(libc::PR_SET_NAME, c"guardian".as_ptr());
        libc::write(set_up, [1u8].as_ptr().cast(), 1);
        if keep_only([reading, held]).is_err() {
            libc::_exit(1);
        }
        let mut byte = 0u8;
        loop {
            let count = libc::read(PIPE, (&raw mut byte).cast(), 1);
            if count > 0 {
                // Dismissed.
                libc::_exit(0);
            }
            let interrupted = count < 0 && *libc::__errno_location() == libc::EINTR;
            if !interrupted {
                break;
            }
        }
        match duty {
            Duty::PutBack(writes) => {
                for write in writes {
                    put_back(&write.path, &write.bytes);
                }
            }
            Duty::EndMarked(mark) => mark.end_all(BorrowedFd::borrow_raw(HELD), session),
        }
        libc::_exit(0)
    }
}

/// # Safety
/// As [`guard`].
unsafe fn put_back(path: &CStr, bytes: &[u8]) {
    // SAFETY: as in `guard`.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_TRUNC | libc::O_CLOEXEC);
        if file >= 0 {
            libc::write(file, bytes.as_ptr().cast(), bytes.len());
            libc::close(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coldstart_host::process::ProcessFiles;
    use std::fs;

    fn lock() -> fs::File {
        fs::File::open("/").unwrap()
    }

    #[test]
    fn it_writes_when_dropped_and_only_then() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("a"), "altered, and longer").unwrap();
        let writes = [
            PutBack::new(&path("missing"), b"no").unwrap(),
            PutBack::new(&path("a"), b"first").unwrap(),
            PutBack::new(&path("a"), b"last").unwrap(),
        ];
        let guardian = Guardian::start(&writes, lock().as_fd()).unwrap();
        assert_eq!(fs::read_to_string(path("a")).unwrap(), "altered, and longer");
        let process = guardian.process();
        drop(guardian);
        assert_eq!(fs::read_to_string(path("a")).unwrap(), "last");
        assert!(!path("missing").exists(), "nothing is created");
        assert!(!coldstart_host::process::exists(process), "it is reaped");
    }

    #[test]
    fn it_has_its_own_session_and_none_of_our_descriptors() {
        let guardian = Guardian::start(&[], lock().as_fd()).unwrap();
        let files = ProcessFiles::of(guardian.process());
        assert_eq!(files.stat().unwrap().session, guardian.process(), "from the beginning");
        let count = || fs::read_dir(files.at("fd")).unwrap().count();
        let begin = std::time::Instant::now();
        while (files.name() != "guardian" || count() != 5) && begin.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(count(), 5, "standard streams, the pipe and what it holds");
        for standard in 0..3 {
            assert_eq!(fs::read_link(files.at(format!("fd/{standard}"))).unwrap(), Path::new("/dev/null"));
        }
    }

    #[test]
    fn paths_with_zero_bytes_are_refused() {
        assert!(PutBack::new(Path::new("a\0b"), b"").is_err());
    }
}
