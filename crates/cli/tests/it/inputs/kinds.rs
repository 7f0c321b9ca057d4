//! What can stand at a path that somebody names: made in a directory of the test's own, and watched.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{CWD, FileType, Mode, OFlags, RenameFlags, mknodat, open, renameat_with};
use rustix::io::Errno;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A FIFO, and no process has it open.
    Fifo,
    /// A FIFO with a process that waits to write to it: whoever opens it wakes that process.
    FifoWithWriter,
    Socket,
    /// /dev/zero: reading it never ends.
    Zero,
    /// /dev/full.
    Full,
    Directory,
    /// A regular file that only its owner may read.
    Unreadable,
    Missing,
    DanglingLink,
    LinkLoop,
    /// A regular file of no bytes.
    Empty,
    /// The first half of a valid file.
    Truncated,
    /// A valid file that says it has 1 TiB; the rest is a hole.
    Huge,
    /// A regular file of text.
    Text,
}

impl Kind {
    /// Those that are not regular files, or cannot be opened: wrong wherever a file is wanted, whatever it should hold.
    pub(crate) const NEVER_A_FILE: &[Kind] =
        &[Kind::Fifo, Kind::FifoWithWriter, Kind::Socket, Kind::Zero, Kind::Full, Kind::Directory];
    /// Those that lead nowhere.
    pub(crate) const NOT_THERE: &[Kind] = &[Kind::Missing, Kind::DanglingLink, Kind::LinkLoop];
    /// Regular files that hold nothing of use.
    pub(crate) const NO_CONTENT: &[Kind] = &[Kind::Empty, Kind::Truncated, Kind::Huge, Kind::Text];
}

/// What stands at a path, for as long as this is kept.
pub(crate) struct Placed {
    pub(crate) path: PathBuf,
    kind: Kind,
    writer: Option<Child>,
    /// Reports each time that the FIFO is opened.
    opened: Option<rustix::fd::OwnedFd>,
    _listener: Option<UnixListener>,
}

impl Placed {
    /// Puts it into `directory`. `valid` is the content of a valid file.
    pub(crate) fn new(kind: Kind, directory: &Path, valid: &[u8]) -> Self {
        let path = directory.join("named");
        let mut placed = Self { path, kind, writer: None, opened: None, _listener: None };
        let path = &placed.path;
        match kind {
            Kind::Fifo | Kind::FifoWithWriter => {
                mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
                let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
                inotify::add_watch(&events, path, WatchFlags::OPEN).unwrap();
                placed.opened = Some(events);
                if kind == Kind::FifoWithWriter {
                    let mut writer = Command::new("sh");
                    writer.args(["-c", "echo words > \"$1\"", "sh"]).arg(path);
                    placed.writer = Some(writer.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
                }
            }
            Kind::Socket => placed._listener = Some(UnixListener::bind(path).unwrap()),
            Kind::Zero => symlink("/dev/zero", path).unwrap(),
            Kind::Full => symlink("/dev/full", path).unwrap(),
            Kind::Directory => fs::create_dir(path).unwrap(),
            Kind::Unreadable => {
                fs::write(path, valid).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
            }
            Kind::Missing => {}
            Kind::DanglingLink => symlink("nowhere", path).unwrap(),
            Kind::LinkLoop => symlink("named", path).unwrap(),
            Kind::Empty => fs::write(path, "").unwrap(),
            Kind::Truncated => fs::write(path, &valid[..valid.len() / 2]).unwrap(),
            Kind::Huge => {
                fs::write(path, valid).unwrap();
                File::options().write(true).open(path).unwrap().set_len(1 << 40).unwrap();
            }
            Kind::Text => fs::write(path, "dear diary\n".repeat(1000)).unwrap(),
        }
        placed
    }

    /// What `work` gives while this and `other` change places all the time. This one is back afterwards.
    pub(crate) fn while_it_changes_places<T>(&self, other: &Path, work: impl FnOnce() -> T) -> T {
        let (path, is_over) = (&self.path, AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut is_back = true;
                while !is_over.load(Ordering::Relaxed) || !is_back {
                    renameat_with(CWD, other, CWD, path, RenameFlags::EXCHANGE).unwrap();
                    is_back = !is_back;
                    std::thread::yield_now();
                }
            });
            let result = work();
            is_over.store(true, Ordering::Relaxed);
            result
        })
    }

    /// Why it is not as it was left, if it is not: a FIFO was opened, a writer woke up.
    pub(crate) fn disturbed(&mut self) -> Option<String> {
        if !matches!(self.kind, Kind::Fifo | Kind::FifoWithWriter) {
            return None;
        }
        if let Some(events) = &self.opened {
            match rustix::io::read(events, &mut [0; 4096]) {
                Err(Errno::AGAIN) => {}
                read => return Some(format!("the FIFO was opened: {read:?}")),
            }
        }
        match &mut self.writer {
            Some(writer) => writer.try_wait().unwrap().map(|status| format!("the FIFO's writer ended: {status}")),
            None => match open(&self.path, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty()) {
                Err(Errno::NXIO) => None,
                opened => Some(format!("the FIFO has a reader: {opened:?}")),
            },
        }
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.kill();
            let _ = writer.wait();
        }
    }
}
