//! System calls on our own objects, and access checks.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use coldstart_host::kernel::settings::DROP_CACHES;
use coldstart_host::process::ProcessFiles;
use coldstart_sys::cachestat::cachestat;
use coldstart_sys::mincore::mincore;
use coldstart_sys::tracefs::mount_detached;
use perf_event::Builder;
use perf_event::events::Software;
use rustix::fs::{Access, AtFlags, CWD, MemfdFlags, Mode, OFlags, accessat, memfd_create, open, stat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::{OthersFile, Probes};
use crate::answer::Answer;

/// The tracepoint of recordings, below the root of tracefs.
const TRACEPOINT: &str = "events/filemap/mm_filemap_add_to_page_cache/enable";

/// Everything that cannot hang.
pub(super) fn try_calls() -> Probes {
    let own = memory_file();
    let ask = |how: &dyn Fn(&OwnedFd) -> Answer| match &own {
        Ok(file) => how(file),
        Err(errno) => Answer::Untried(format!("no file to try it on: {}", std::io::Error::from(*errno))),
    };
    let (tracefs, tracepoint, instances) = try_tracefs();
    Probes {
        release: Some(rustix::system::uname().release().to_string_lossy().into_owned()),
        user: Some(rustix::process::geteuid().as_raw()),
        capabilities: rustix::thread::capabilities(None).ok().map(|sets| sets.effective.bits()),
        no_new_privileges: rustix::thread::no_new_privs().ok(),
        processors: rustix::thread::sched_getaffinity(None).ok().map(|set| set.count()),
        // Opened but not written: that is harmless, and more reliable than an access check, which LSMs do not see.
        drop_caches: Answer::of_io(File::options().write(true).open(DROP_CACHES)),
        cachestat: ask(&|file| Answer::of(cachestat(file, 0, 1).map_err(|error| error.errno()))),
        mincore: ask(&|file| Answer::of(mincore(file, 0, 1).map_err(|error| error.errno()))),
        perf_user: try_perf(true),
        perf_kernel: try_perf(false),
        tracefs,
        tracepoint,
        instances,
        pidfd: Answer::of(rustix::process::pidfd_open(rustix::process::getpid(), rustix::process::PidfdFlags::empty())),
        null_device: Answer::of(open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())),
        userfaultfd_device: Answer::of(open("/dev/userfaultfd", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())),
        ..Probes::default()
    }
}

/// An anonymous page in memory.
fn memory_file() -> Result<OwnedFd, Errno> {
    let file = memfd_create("coldstart-doctor", MemfdFlags::CLOEXEC)?;
    rustix::io::write(&file, &[0])?;
    Ok(file)
}

fn try_perf(user_only: bool) -> Answer {
    let mut event = Builder::new(Software::PAGE_FAULTS);
    event.exclude_kernel(user_only).exclude_hv(true);
    Answer::of_io(event.build())
}

/// Mounts tracefs detached, and checks the files that a recording would write to.
fn try_tracefs() -> (Answer, Answer, Answer) {
    let mount = match mount_detached() {
        Ok(mount) => mount,
        Err(errno) => return (Answer::of::<()>(Err(errno)), Answer::default(), Answer::default()),
    };
    let writable = |path| Answer::of(accessat(&mount, path, Access::WRITE_OK, AtFlags::EACCESS));
    (Answer::Works, writable(TRACEPOINT), writable("instances"))
}

/// Whether our root directory is that of process 1. Reading it requires the right to trace process 1.
pub(super) fn root_of_init() -> Option<bool> {
    let init = stat(ProcessFiles::of(1).at("root/")).ok()?;
    let ours = stat("/").ok()?;
    Some((init.st_dev, init.st_ino) == (ours.st_dev, ours.st_ino))
}

/// System files, some of which exist on every system.
const SYSTEM_FILES: [&str; 7] = [
    "/usr/bin/env",
    "/bin/sh",
    "/etc/passwd",
    "/etc/ld.so.cache",
    "/lib/ld-musl-x86_64.so.1",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/ld-linux-aarch64.so.1",
];

/// Queries the pages of the first system file of another user; of the first at all for root.
pub(super) fn try_others_file() -> Option<OthersFile> {
    let me = rustix::process::geteuid().as_raw();
    let found: Vec<(PathBuf, bool, u64)> = SYSTEM_FILES
        .iter()
        .filter_map(|path| {
            let found = stat(*path).ok().filter(|found| found.st_mode & 0o170_000 == 0o100_000 && found.st_size > 0)?;
            Some((PathBuf::from(path), found.st_uid == me, found.st_size.try_into().ok()?))
        })
        .collect();
    let (path, is_own, size) = found.iter().find(|(_, own, _)| !own).or(found.first())?;
    let readable = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = open(path, readable, Mode::empty()).ok()?;
    let counts = Answer::of(cachestat(&file, 0, *size).map_err(|error| error.errno()));
    // `may_open` checks for O_NOATIME what `can_do_mincore` checks first: own the file or have CAP_FOWNER over it.
    let lists = match open(path, readable | OFlags::NOATIME, Mode::empty()) {
        Ok(_) => Answer::Works,
        Err(errno) if accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS).is_err() => Answer::of::<()>(Err(errno)),
        Err(_) => Answer::Works,
    };
    Some(OthersFile { path: path.clone(), is_own: *is_own, counts, lists })
}

/// Connects to the Unix socket of an X server on this machine. Remote servers are not tried: that may take minutes.
pub(super) fn try_display(display: &str) -> Answer {
    let Some((host, rest)) = display.rsplit_once(':') else {
        return Answer::Untried(format!("DISPLAY is `{display}`, which is not a display name"));
    };
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if number.is_empty() {
        return Answer::Untried(format!("DISPLAY is `{display}`, which is not a display name"));
    }
    if !(host.is_empty() || host == "unix" || host.starts_with('/') || host.starts_with("unix/")) {
        return Answer::Untried(format!("DISPLAY is `{display}`, on another machine or over TCP; not tried"));
    }
    let path = if host.starts_with('/') {
        PathBuf::from(format!("{host}:{number}"))
    } else {
        PathBuf::from(format!("/tmp/.X11-unix/X{number}"))
    };
    let named = SocketAddrUnix::new(&path).and_then(|address| connect_to(&address));
    // Servers also listen at an abstract name, which needs no file system.
    let abstract_name = || SocketAddrUnix::new_abstract_name(path.as_os_str().as_bytes());
    Answer::of(named.or_else(|errno| abstract_name().and_then(|at| connect_to(&at)).map_err(|_| errno)))
}

/// A server whose queue is full gives `EAGAIN` at once instead of keeping us waiting.
fn connect_to(address: &SocketAddrUnix) -> Result<(), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(socket.as_fd(), address)
}

/// Opens a file for reading without blocking and, where permitted, without changing its access time.
pub(super) fn open_quietly(path: &Path, more: OFlags) -> std::io::Result<File> {
    let flags = more | OFlags::NONBLOCK | OFlags::NOCTTY;
    File::options().read(true).custom_flags(flags.bits() as i32).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_are_found_where_they_listen() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path().join("launch");
        let server = std::os::unix::net::UnixListener::bind(format!("{}:3", at.display())).unwrap();
        assert!(try_display(&format!("{}:3.0", at.display())).works());
        drop(server);
        // A child that another test is just about to start listens until then.
        let mut answers = (0..1000).map(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            try_display(&format!("{}:3", at.display()))
        });
        assert!(answers.any(|answer| !answer.works()));
        assert!(matches!(try_display("elsewhere:0"), Answer::Untried(_)));
        assert!(matches!(try_display("nonsense"), Answer::Untried(_)));
        assert!(matches!(try_display(":"), Answer::Untried(_)));
        assert!(matches!(try_display(":98765"), Answer::Refused(_)));
    }

    #[test]
    fn a_file_of_our_own_can_always_be_asked_about_where_the_kernel_can() {
        let probes = try_calls();
        assert_eq!(probes.user, Some(rustix::process::geteuid().as_raw()));
        assert!(probes.mincore.works(), "{:?}", probes.mincore);
    }
}
