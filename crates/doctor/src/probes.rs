//! Trying what no file tells: system calls whose outcome only the call itself shows.
//!
//! Nothing here changes the machine. What could hang (a server that is gone behind a mount) runs in a thread that is left
//! behind when it does not answer in time; what is known to be on a network is not touched at all.

mod calls;
mod following;
mod places;
mod watching;

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use crate::answer::Answer;
use crate::file_system::Kind;
use crate::surroundings::Surroundings;

/// What trying gave. The default is what is known where nothing can be tried: a made-up machine.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Release of the kernel, as `uname` tells it.
    pub release: Option<String>,
    /// Effective user.
    pub user: Option<u32>,
    /// Effective capabilities, a bit each.
    pub capabilities: Option<u64>,
    /// Whether programs we start can gain no privileges.
    pub no_new_privileges: Option<bool>,
    /// Processors we may run on.
    pub processors: Option<u32>,
    /// Whether the root directory is that of process 1; `None` where it may not be looked at.
    pub root_of_init: Option<bool>,
    /// Opening `/proc/sys/vm/drop_caches` for writing.
    pub drop_caches: Answer,
    /// `cachestat` on a file of our own.
    pub cachestat: Answer,
    /// `mincore` on a file of our own.
    pub mincore: Answer,
    /// Somebody else's file, and what asking about its pages gave.
    pub others_file: Option<OthersFile>,
    /// `perf_event_open` of a software event of this process, user side only.
    pub perf_user: Answer,
    /// The same, with the kernel's side.
    pub perf_kernel: Answer,
    /// Mounting tracefs for ourselves (detached: nobody sees it, and it goes away with the descriptor).
    pub tracefs: Answer,
    /// Writing to the switch of the tracepoint of page-cache fills; an access check.
    pub tracepoint: Answer,
    /// Making an instance of our own; an access check.
    pub instances: Answer,
    /// Our observer of file-name calls on a child that never starts.
    pub observer: Answer,
    /// Whether the observer could read the child's file names.
    pub names_readable: Option<bool>,
    /// `ptrace` on a child that never starts.
    pub tracing: Answer,
    /// A breakpoint in that child's debug registers.
    pub debug_registers: Answer,
    /// `renameat2` with `RENAME_EXCHANGE` on names that cannot be.
    pub exchange: Answer,
    /// `symlinkat` on a name that cannot be.
    pub links: Answer,
    /// `pidfd_open` on ourselves.
    pub pidfd: Answer,
    /// Opening `/dev/null` for reading and writing.
    pub null_device: Answer,
    /// Opening `/dev/userfaultfd`.
    pub userfaultfd_device: Answer,
    /// Connecting to the display that `DISPLAY` names; `None` where none is named.
    pub display: Option<Answer>,
    /// What was tried on file systems, by place.
    pub places: Vec<PlaceProbe>,
}

/// A file that we neither own nor could write unless we are privileged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OthersFile {
    /// The file.
    pub path: PathBuf,
    /// Whether it is our own after all, because no other was found.
    pub is_own: bool,
    /// `cachestat` on it.
    pub counts: Answer,
    /// Whether `mincore` tells the truth about it (opening with `O_NOATIME` is permitted to the same people).
    pub lists: Answer,
}

/// What was tried on the file system of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceProbe {
    /// "home", "tmp", "usr", "here".
    pub name: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// Where symbolic links lead, when they were followed.
    pub real_path: Option<PathBuf>,
    /// What the file system is, as `statfs` tells it.
    pub kind: Option<Kind>,
    /// `FS_IOC_FIEMAP` on a file there.
    pub fiemap: Answer,
    /// Opening a file there for reads past the page cache (`O_DIRECT`).
    pub direct: Answer,
    /// Opening the block device below for reading, with its path.
    pub device: Option<(PathBuf, Answer)>,
}

impl Probes {
    /// Tries everything on this machine.
    pub fn try_here(surroundings: &Surroundings) -> Self {
        let mut probes = calls::try_calls();
        (probes.observer, probes.names_readable) =
            within(watching::try_observer).unwrap_or_else(|| (Answer::Untried("no answer in time".to_owned()), None));
        let late = || Answer::Untried("no answer in time".to_owned());
        (probes.tracing, probes.debug_registers) =
            within(following::try_tracing).unwrap_or_else(|| (late(), Answer::default()));
        (probes.exchange, probes.links) = (following::try_exchange(), following::try_links());
        let asked = surroundings.display.clone();
        probes.display = asked.map(|display| calls::try_display(&display));
        probes.root_of_init = within(calls::root_of_init).flatten();
        probes.others_file = within(calls::try_others_file).flatten();
        probes.places = surroundings
            .places()
            .into_iter()
            .map(|(name, path)| {
                let mount = surroundings.mounts.of(&path);
                let unanswered = |reason: &str| PlaceProbe {
                    name,
                    path: path.clone(),
                    fiemap: Answer::Untried(reason.to_owned()),
                    direct: Answer::Untried(reason.to_owned()),
                    ..PlaceProbe::default()
                };
                if mount.is_some_and(|mount| Kind::of(mount).may_hang()) {
                    return unanswered("not touched: the file system may not answer");
                }
                let (asked, mounts) = (path.clone(), surroundings.mounts.clone());
                within(move || places::try_place(name, asked, &mounts))
                    .unwrap_or_else(|| unanswered("no answer in time"))
            })
            .collect();
        probes
    }
}

/// Enough for a disk that has to wake up; a server that is gone takes minutes.
const PATIENCE: Duration = Duration::from_millis(400);

/// What `work` gives, unless it takes too long: then its thread is left behind.
fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, receive) = mpsc::channel();
    let worker = move || {
        // Nobody waits for it any more if this fails.
        let _ = send.send(work());
    };
    std::thread::Builder::new().spawn(worker).ok()?;
    receive.recv_timeout(PATIENCE).ok()
}
