//! Trials: system calls whose result no file shows.
//!
//! Nothing here changes the machine. Trials that could hang (a mount of an unreachable server) run in a thread that is
//! abandoned after a timeout; known network file systems are skipped.

mod calls;
mod following;
mod places;
mod watching;

use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use coldstart_sys::private_mounts::Method;

use crate::answer::Answer;
use crate::file_system::Kind;
use crate::surroundings::Surroundings;

/// The results of the trials. The default is for fake machines, where nothing can be tried.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// Release of the kernel, as `uname` tells it.
    pub release: Option<String>,
    /// Effective user.
    pub user: Option<u32>,
    /// Effective capabilities, a bit each.
    pub capabilities: Option<u64>,
    /// Whether programs we start cannot gain privileges.
    pub no_new_privileges: Option<bool>,
    /// Processors we may run on.
    pub processors: Option<u32>,
    /// Whether the root directory is that of process 1; `None` where that is not visible.
    pub root_of_init: Option<bool>,
    /// Opening `/proc/sys/vm/drop_caches` for writing.
    pub drop_caches: Answer,
    /// `cachestat` on a file of our own.
    pub cachestat: Answer,
    /// `mincore` on a file of our own.
    pub mincore: Answer,
    /// Queries about another user's file.
    pub others_file: Option<OthersFile>,
    /// `perf_event_open` of a software event of this process, user side only.
    pub perf_user: Answer,
    /// The same, including the kernel's side.
    pub perf_kernel: Answer,
    /// A detached mount of tracefs (invisible, unmounted with the descriptor).
    pub tracefs: Answer,
    /// Writing to the switch of the tracepoint of page-cache fills; an access check.
    pub tracepoint: Answer,
    /// Creating our own tracefs instance; an access check.
    pub instances: Answer,
    /// Our observer of file-name calls on a child that never starts.
    pub observer: Answer,
    /// Whether the observer could read the child's file names.
    pub names_readable: Option<bool>,
    /// `ptrace` on a child that never starts.
    pub tracing: Answer,
    /// A breakpoint in that child's debug registers.
    pub debug_registers: Answer,
    /// `renameat2` with `RENAME_EXCHANGE` on impossible names.
    pub exchange: Answer,
    /// `symlinkat` with an impossible name.
    pub links: Answer,
    /// A private mount namespace without mounts, made by a child that ends at once; the reason where it is refused. `None` if not
    /// tried.
    pub private_view: Option<Result<Method, Refusal>>,
    /// `pidfd_open` on ourselves.
    pub pidfd: Answer,
    /// Opening `/dev/null` for reading and writing.
    pub null_device: Answer,
    /// Opening `/dev/userfaultfd`.
    pub userfaultfd_device: Answer,
    /// Connecting to the display in `DISPLAY`; `None` if it is not set.
    pub display: Option<Answer>,
    /// Trials on file systems, by place.
    pub places: Vec<PlaceProbe>,
}

/// Why there can be no private view of the file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// As a sentence, without its full stop.
    pub reason: String,
    /// The setting that would allow it, with its value.
    pub setting: Option<(&'static str, &'static str)>,
}

/// A file that we neither own nor could write unprivileged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OthersFile {
    /// The file.
    pub path: PathBuf,
    /// Whether it is our own, because no other was found.
    pub is_own: bool,
    /// `cachestat` on it.
    pub counts: Answer,
    /// Whether `mincore` is reliable for it (opening with `O_NOATIME` is permitted to the same users).
    pub lists: Answer,
}

/// Trials on the file system of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceProbe {
    /// "home", "tmp", "usr", "here".
    pub name: &'static str,
    /// The directory.
    pub path: PathBuf,
    /// The resolved path, if symbolic links were followed.
    pub real_path: Option<PathBuf>,
    /// The kind of the file system, from `statfs`.
    pub kind: Option<Kind>,
    /// `FS_IOC_FIEMAP` on a file there.
    pub fiemap: Answer,
    /// Opening a file there for direct I/O (`O_DIRECT`).
    pub direct: Answer,
    /// Opening the underlying block device for reading, with its path.
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
        probes.private_view = within(following::try_private_view);
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
                    return unanswered("skipped: the file system may not respond");
                }
                let (asked, mounts) = (path.clone(), surroundings.mounts.clone());
                within(move || places::try_place(name, asked, &mounts))
                    .unwrap_or_else(|| unanswered("no answer in time"))
            })
            .collect();
        probes
    }
}

/// Enough for a disk that has to spin up; an unreachable server takes minutes.
const PATIENCE: Duration = Duration::from_millis(400);

/// The result of `work`, unless it takes too long: then its thread is abandoned.
fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (send, receive) = mpsc::channel();
    let worker = move || {
        // If this fails, the receiver has given up.
        let _ = send.send(work());
    };
    std::thread::Builder::new().spawn(worker).ok()?;
    receive.recv_timeout(PATIENCE).ok()
}
