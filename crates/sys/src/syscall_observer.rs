//! Watching a process tree's file-name system calls without changing what they do.
//!
//! A seccomp filter in the child sends each call with a file name to us (`SECCOMP_RET_USER_NOTIF`); we record it and let
//! it continue (`SECCOMP_USER_NOTIF_FLAG_CONTINUE`, Linux 5.5). Unlike ptrace, the program can still be
//! debugged or trace its own children; a call costs one context switch, and `fork` and `exec` are followed automatically.
//! Pitfall: if the observer ends while watched processes live, their calls fail with `ENOSYS`
//! (`kernel/seccomp.c`, `seccomp_notify_release`), so the observer must also end the tree.
//!
//! Sources: `seccomp_unotify(2)`, `seccomp(2)`, `include/uapi/linux/seccomp.h`.

use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::child_socket;
use crate::tracing::memory::{read_name, read_word};

/// One system call with a file name, seen at its entry: whether it succeeds is not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNameCall {
    /// The calling thread, in our PID namespace.
    pub thread: u32,
    /// The kind of request.
    pub request: FileRequest,
    /// Directory that a relative name starts from.
    pub base: NameBase,
    /// The name as the program passed it.
    pub name: OsString,
    /// Whether the call creates the file if it is missing (`O_CREAT`).
    pub may_create: bool,
}

/// What a call does with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileRequest {
    /// Open its content (`open`, `openat`, `openat2`) for reading.
    Open,
    /// Open a directory (`O_DIRECTORY`), usually to list it.
    OpenDirectory,
    /// Open for writing only, or create.
    OpenForWrite,
    /// Execute it (`execve`, `execveat`).
    Execute,
    /// Only look it up, following a last symbolic link (`stat`, `access`).
    LookUp,
    /// Only look it up, the last symbolic link itself (`lstat`, `readlink`).
    LookUpLink,
}

/// The directory of a relative name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameBase {
    /// The caller's working directory.
    WorkingDirectory,
    /// A directory that the caller has open as this descriptor.
    Descriptor(i32),
}

/// The observing end. Dropping it makes the watched calls of live processes fail with `ENOSYS`.
#[derive(Debug)]
pub struct SyscallObserver {
    listener: OwnedFd,
    /// Hangs up when the [`Command`] is dropped, whose hook has the other end. The child's copy closes at its `execve`.
    command: OwnedFd,
    /// Held while waiting for a call: of two threads, one would find it taken by the other and wait for the next, which may never come.
    receiving: Mutex<()>,
    /// Whether the memory of a caller could be read.
    has_read: AtomicBool,
    /// `errno` of the last refusal to read one; 0 without.
    refusal: AtomicI32,
}

/// What came of waiting for a call.
enum Received {
    Call(libc::seccomp_notif),
    /// None yet.
    Nothing,
    /// There will be none.
    Ended,
}

/// The watched calls: number and how its arguments name a file.
#[derive(Clone, Copy)]
struct Watched {
    number: libc::c_long,
    /// Index of the directory descriptor's argument, if the call has one.
    base: Option<usize>,
    name: usize,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Open flags in this argument.
    Open(usize),
    /// Pointer to `struct open_how` in this argument; its first word holds the flags.
    OpenHow(usize),
    Fixed(FileRequest),
    /// Follows the last link unless `AT_SYMLINK_NOFOLLOW` is set in this argument.
    LookUpWithFlags(usize),
}

const fn watched(number: libc::c_long, base: Option<usize>, name: usize, kind: Kind) -> Watched {
    Watched { number, base, name, kind }
}

const WATCHED: &[Watched] = &[
    watched(libc::SYS_openat, Some(0), 1, Kind::Open(2)),
    watched(libc::SYS_openat2, Some(0), 1, Kind::OpenHow(2)),
    watched(libc::SYS_execve, None, 0, Kind::Fixed(FileRequest::Execute)),
    watched(libc::SYS_execveat, Some(0), 1, Kind::Fixed(FileRequest::Execute)),
    watched(libc::SYS_newfstatat, Some(0), 1, Kind::LookUpWithFlags(3)),
    watched(libc::SYS_statx, Some(0), 1, Kind::LookUpWithFlags(2)),
    watched(libc::SYS_faccessat, Some(0), 1, Kind::Fixed(FileRequest::LookUp)),
    watched(libc::SYS_faccessat2, Some(0), 1, Kind::LookUpWithFlags(3)),
    watched(libc::SYS_readlinkat, Some(0), 1, Kind::Fixed(FileRequest::LookUpLink)),
    #[cfg(target_arch = "x86_64")]
    watched(libc::SYS_open, None, 0, Kind::Open(1)),
    #[cfg(target_arch = "x86_64")]
    watched(libc::SYS_stat, None, 0, Kind::Fixed(FileRequest::LookUp)),
    #[cfg(target_arch = "x86_64")]
    watched(libc::SYS_lstat, None, 0, Kind::Fixed(FileRequest::LookUpLink)),
    #[cfg(target_arch = "x86_64")]
    watched(libc::SYS_access, None, 0, Kind::Fixed(FileRequest::LookUp)),
    #[cfg(target_arch = "x86_64")]
    watched(libc::SYS_readlink, None, 0, Kind::Fixed(FileRequest::LookUpLink)),
];

/// `AUDIT_ARCH_*` of this build: ELF machine number, 64-bit and little-endian flags (`linux/audit.h`).
#[cfg(target_arch = "x86_64")]
const NATIVE_ARCHITECTURE: u32 = 62 | 0x8000_0000 | 0x4000_0000;
#[cfg(target_arch = "aarch64")]
const NATIVE_ARCHITECTURE: u32 = 183 | 0x8000_0000 | 0x4000_0000;

/// Sends the watched calls of `command` to the other end of the returned [`PendingObserver`].
///
/// Call [`PendingObserver::accept`] from another thread than the one that spawns: the child's own `execve` is already
/// watched, and `spawn` returns only after it. Keep the command for as long as there is something to observe. The child gets `PR_SET_NO_NEW_PRIVS` unless it may install filters
/// without it (`CAP_SYS_ADMIN`), so a setuid program it starts runs without its privileges; see [`needs_no_new_privileges`].
///
/// # Errors
/// When no socket pair can be created.
pub fn observe(command: &mut Command) -> io::Result<PendingObserver> {
    let (ours, theirs) = child_socket::pair()?;
    let program = filter_program();
    let no_new_privileges = needs_no_new_privileges();
    let hook = move || install_and_send(&program, no_new_privileges, theirs.in_child().as_fd());
    // SAFETY: the hook runs between fork and exec and only makes system calls; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(hook) };
    Ok(PendingObserver { socket: ours })
}

/// Whether installing a filter makes setuid programs lose their privileges: true without `CAP_SYS_ADMIN`.
pub fn needs_no_new_privileges() -> bool {
    rustix::thread::capabilities(None)
        .map_or(true, |sets| !sets.effective.contains(rustix::thread::CapabilitySet::SYS_ADMIN))
}

/// An observer whose child has not been spawned yet.
#[derive(Debug)]
pub struct PendingObserver {
    socket: OwnedFd,
}

impl PendingObserver {
    /// Waits until the child has installed its filter.
    ///
    /// # Errors
    /// `UnexpectedEof` when the child ended before (see the spawn's own error).
    pub fn accept(self) -> io::Result<SyscallObserver> {
        let mut byte = [0u8; 1];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = rustix::net::RecvAncillaryBuffer::new(&mut space);
        rustix::net::recvmsg(
            &self.socket,
            &mut [IoSliceMut::new(&mut byte)],
            &mut control,
            rustix::net::RecvFlags::CMSG_CLOEXEC,
        )?;
        for message in control.drain() {
            if let rustix::net::RecvAncillaryMessage::ScmRights(mut descriptors) = message
                && let Some(listener) = descriptors.next()
            {
                return Ok(SyscallObserver {
                    listener,
                    command: self.socket,
                    receiving: Mutex::new(()),
                    has_read: AtomicBool::new(false),
                    refusal: AtomicI32::new(0),
                });
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }
}

impl SyscallObserver {
    /// Why no name at all could be read so far, if the kernel refuses it (`process_vm_readv(2)`: a security module, or a
    /// system call filter).
    pub fn refusal(&self) -> Option<io::Error> {
        let errno = self.refusal.load(Ordering::Relaxed);
        (errno != 0 && !self.has_read.load(Ordering::Relaxed)).then(|| io::Error::from_raw_os_error(errno))
    }

    /// Waits for the next watched call, records it, passes it to `see`, and then lets it continue. During `see` the caller
    /// is stopped: `/proc/PID` still shows its state at the call. Returns `false` when the last watched
    /// process has ended, or the command was dropped and no call waits for us: a process that cannot be killed (frozen, or
    /// waiting for an unresponsive disk) must not block us for ever.
    ///
    /// A name that cannot be read (a bad pointer, a protected caller) is skipped.
    ///
    /// # Errors
    /// When the kernel refuses to deliver or continue a call for another reason than the caller's death.
    pub fn next(&self, see: &mut dyn FnMut(FileNameCall)) -> io::Result<bool> {
        match self.receive(None)? {
            Received::Call(notification) => self.pass_on(&notification, see).map(|()| true),
            Received::Nothing => Ok(true),
            Received::Ended => Ok(false),
        }
    }

    /// As [`next`](Self::next), for a second thread: waits at most `limit` (in milliseconds), and not at all while another thread waits. Returns whether
    /// there was a call.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub fn next_within(&self, limit: u16, see: &mut dyn FnMut(FileNameCall)) -> io::Result<bool> {
        match self.receive(Some(limit))? {
            Received::Call(notification) => self.pass_on(&notification, see).map(|()| true),
            Received::Nothing | Received::Ended => Ok(false),
        }
    }

    fn receive(&self, limit: Option<u16>) -> io::Result<Received> {
        let _turn = match limit {
            None => self.receiving.lock().unwrap_or_else(PoisonError::into_inner),
            Some(_) => match self.receiving.try_lock() {
                Ok(turn) => turn,
                Err(_) => return Ok(Received::Nothing),
            },
        };
        let descriptor = |descriptor: &OwnedFd, events| libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 };
        let mut descriptors = [descriptor(&self.listener, libc::POLLIN), descriptor(&self.command, 0)];
        // SAFETY: two valid pollfds are passed with the count 2.
        let ready = unsafe { libc::poll(descriptors.as_mut_ptr(), 2, limit.map_or(-1, i32::from)) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::Interrupted { Ok(Received::Nothing) } else { Err(error) };
        }
        if descriptors[0].revents & libc::POLLIN == 0 {
            return Ok(if ready == 0 { Received::Nothing } else { Received::Ended });
        }
        // SAFETY: all-zero bytes are a valid `seccomp_notif`, and the kernel demands zeroes.
        let mut notification: libc::seccomp_notif = unsafe { mem::zeroed() };
        // SAFETY: the listener is a seccomp notification descriptor and the argument its matching structure.
        let received =
            unsafe { libc::ioctl(self.listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification) };
        if received != 0 {
            return ignore_death(io::Error::last_os_error()).map(|()| Received::Nothing);
        }
        Ok(Received::Call(notification))
    }

    fn pass_on(&self, notification: &libc::seccomp_notif, see: &mut dyn FnMut(FileNameCall)) -> io::Result<()> {
        match decode(notification) {
            Ok(call) => {
                self.has_read.store(true, Ordering::Relaxed);
                call.into_iter().for_each(see);
            }
            Err(error) => {
                if let Some(refusal @ (libc::EPERM | libc::ENOSYS)) = error.raw_os_error() {
                    self.refusal.store(refusal, Ordering::Relaxed);
                }
            }
        }
        let mut response = libc::seccomp_notif_resp {
            id: notification.id,
            val: 0,
            error: 0,
            flags: libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
        };
        // SAFETY: as in `receive`; the response names a notification that was received.
        let sent = unsafe { libc::ioctl(self.listener.as_raw_fd(), SECCOMP_IOCTL_NOTIF_SEND, &raw mut response) };
        if sent != 0 { ignore_death(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// `_IOWR('!', 0, struct seccomp_notif)` and `_IOWR('!', 1, struct seccomp_notif_resp)`.
const SECCOMP_IOCTL_NOTIF_RECV: libc::Ioctl = read_write_ioctl(0, mem::size_of::<libc::seccomp_notif>());
const SECCOMP_IOCTL_NOTIF_SEND: libc::Ioctl = read_write_ioctl(1, mem::size_of::<libc::seccomp_notif_resp>());

const fn read_write_ioctl(number: u32, size: usize) -> libc::Ioctl {
    ((3 << 30) | ((size as u32) << 16) | ((b'!' as u32) << 8) | number) as libc::Ioctl
}

/// The caller may be killed between its call and our reply: `ENOENT`, or `EINTR` for a signal.
fn ignore_death(error: io::Error) -> io::Result<()> {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EINTR) => Ok(()),
        _ => Err(error),
    }
}

/// The call; `None` if it looks up no name.
///
/// # Errors
/// Where its name cannot be read.
fn decode(notification: &libc::seccomp_notif) -> io::Result<Option<FileNameCall>> {
    let number = libc::c_long::from(notification.data.nr);
    let Some(entry) = WATCHED.iter().find(|entry| entry.number == number) else { return Ok(None) };
    let arguments = &notification.data.args;
    let process = notification.pid;
    let name = read_name(process, arguments[entry.name])?;
    let open_flags = match entry.kind {
        Kind::Open(at) => Some(arguments[at]),
        Kind::OpenHow(at) => Some(read_word(process, arguments[at])?),
        Kind::Fixed(_) | Kind::LookUpWithFlags(_) => None,
    };
    let request = match entry.kind {
        Kind::Fixed(request) => request,
        Kind::Open(_) | Kind::OpenHow(_) => open_request(open_flags.unwrap_or_default()),
        Kind::LookUpWithFlags(at) if arguments[at] & libc::AT_SYMLINK_NOFOLLOW as u64 != 0 => FileRequest::LookUpLink,
        Kind::LookUpWithFlags(_) => FileRequest::LookUp,
    };
    let may_create = open_flags.is_some_and(|flags| flags & libc::O_CREAT as u64 != 0);
    // `fstatat(fd, "", AT_EMPTY_PATH)` is about an open file: no name is looked up.
    if name.is_empty() {
        return Ok(None);
    }
    // Descriptors are 32-bit integers; the upper half of the register is undefined.
    let base = match entry.base.map(|at| arguments[at] as i32) {
        None | Some(libc::AT_FDCWD) => NameBase::WorkingDirectory,
        Some(descriptor) => NameBase::Descriptor(descriptor),
    };
    Ok(Some(FileNameCall { thread: process, request, base, name, may_create }))
}

fn open_request(flags: u64) -> FileRequest {
    let flags = flags as libc::c_int;
    match flags & libc::O_ACCMODE {
        _ if flags & libc::O_PATH != 0 => FileRequest::LookUp,
        _ if flags & libc::O_DIRECTORY != 0 && flags & libc::O_TMPFILE != libc::O_TMPFILE => FileRequest::OpenDirectory,
        libc::O_WRONLY => FileRequest::OpenForWrite,
        _ if flags & libc::O_TRUNC != 0 => FileRequest::OpenForWrite,
        _ => FileRequest::Open,
    }
}

/// The classic BPF program: calls of another architecture pass, watched numbers notify, the rest passes.
fn filter_program() -> Vec<libc::sock_filter> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    let count = WATCHED.len() as u8;
    // Offsets in `struct seccomp_data`: number at 0, architecture at 4.
    let mut program = vec![
        statement(LOAD, 4),
        libc::sock_filter { code: JUMP_IF_EQUAL, jt: 0, jf: count + 1, k: NATIVE_ARCHITECTURE },
        statement(LOAD, 0),
    ];
    for (at, entry) in (0u8..).zip(WATCHED) {
        // After the comparisons come two returns: allow, then notify.
        program.push(libc::sock_filter { code: JUMP_IF_EQUAL, jt: count - at, jf: 0, k: entry.number as u32 });
    }
    program.push(statement(RETURN, libc::SECCOMP_RET_ALLOW));
    program.push(statement(RETURN, libc::SECCOMP_RET_USER_NOTIF));
    program
}

/// Runs in the child between fork and exec: only system calls.
fn install_and_send(program: &[libc::sock_filter], no_new_privileges: bool, socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: prctl with integer arguments touches no memory of ours.
    if no_new_privileges && unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let description = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    // SAFETY: `description` names `program`, which outlives the call; the kernel copies and checks it.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const description,
        )
    };
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call succeeded, so the number is a new descriptor that nobody else owns.
    let listener = unsafe { OwnedFd::from_raw_fd(listener as i32) };
    let descriptors = [listener.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = rustix::net::SendAncillaryBuffer::new(&mut space);
    control.push(rustix::net::SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(socket, &[IoSlice::new(&[0])], &mut control, rustix::net::SendFlags::NOSIGNAL)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_whose_observer_has_died_before_it_received_the_listener() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exit 3"]);
        let pending = observe(&mut command).unwrap();
        let (send, receive) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(command.status()));
        // The message is there, and with it the listener, but nobody takes it.
        let mut socket = [rustix::event::PollFd::new(&pending.socket, rustix::event::PollFlags::IN)];
        let patience = rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(rustix::event::poll(&mut socket, Some(&patience)).unwrap(), 1);
        drop(pending);
        let ended = receive.recv_timeout(std::time::Duration::from_secs(60)).expect("the child hangs");
        assert!(ended.is_err(), "its `execve` fails: {ended:?}");
    }

    #[test]
    fn sees_names_of_a_child_and_its_children() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "test -e /no/such/file; cat /etc/hostname >/dev/null; exit 3"]);
        let pending = observe(&mut command).unwrap();
        let observer = std::thread::spawn(move || {
            let observer = pending.accept().unwrap();
            let mut calls = Vec::new();
            while observer.next(&mut |call| calls.push(call)).unwrap() {}
            calls
        });
        let status = command.status().unwrap();
        drop(command);
        let calls = observer.join().unwrap();
        assert_eq!(status.code(), Some(3), "the program's own exit code is as without us");
        let seen = |request, name: &str| calls.iter().any(|call| call.request == request && call.name == name);
        assert!(seen(FileRequest::Execute, "/bin/sh"), "{calls:?}");
        assert!(seen(FileRequest::LookUp, "/no/such/file"), "{calls:?}");
        assert!(seen(FileRequest::Open, "/etc/hostname"), "{calls:?}");
    }

    #[test]
    fn whoever_outlives_the_command_does_not_hold_the_observer() {
        let mut command = Command::new("/bin/sleep");
        let pending = observe(command.arg("1000")).unwrap();
        let observer = std::thread::spawn(move || {
            let observer = pending.accept().unwrap();
            let mut count = 0;
            while observer.next(&mut |_| count += 1).unwrap() {}
            count
        });
        let mut child = command.spawn().unwrap();
        drop(command);
        assert!(observer.join().unwrap() > 0, "its start at least was seen");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_child_that_cannot_start_is_the_spawn_s_error() {
        let mut command = Command::new("/no/such/program");
        let pending = observe(&mut command).unwrap();
        let observer = std::thread::spawn(move || {
            let observer = pending.accept().unwrap();
            while observer.next(&mut |_| ()).unwrap() {}
        });
        assert_eq!(command.spawn().unwrap_err().kind(), io::ErrorKind::NotFound);
        drop(command);
        observer.join().unwrap();
    }
}
