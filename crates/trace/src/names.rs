//! The names used by a start, and the files they refer to.
//!
//! Each call is resolved while its caller is stopped, because afterwards the caller may change its working
//! directory or root, or end. Names are resolved inside the caller's own root (`RESOLVE_IN_ROOT`), which also covers programs in a
//! chroot or a container. Only the first use of a name is kept; further ones cost one look-up here.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use coldstart_host::process::{self, ProcessFiles};
use coldstart_profile::FileIdentity;
use coldstart_sys::syscall_observer::{FileNameCall, FileRequest, NameBase, SyscallObserver};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat};

use crate::TraceError;
use crate::outside_names::OutsideNames;
use crate::relief::for_each_call;

/// A name at its first use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenName {
    /// Absolute path as requested, seen from our own root. Of a file that a sandbox has under another name, its path without symbolic links outside.
    pub path: PathBuf,
    /// The kind of request.
    pub request: SeenRequest,
    /// The file; `None` when it does not exist.
    pub file: Option<SeenFile>,
    /// Whether the name did not exist, and the call did not create it.
    pub failed: bool,
    /// The calling thread.
    pub thread: u32,
    /// The calling process (thread group); `None` if it had ended before it could be seen.
    pub process: Option<u32>,
    /// `CLOCK_MONOTONIC`.
    pub at: Duration,
}

/// The kind of request for a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SeenRequest {
    /// Its content (opened for reading, or executed).
    Content,
    /// A directory's entries.
    Entries,
    /// Only its existence and type, or opened for writing only.
    Existence,
}

/// The file behind a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenFile {
    /// Path without symbolic links, from our own root; in another mount namespace, from its root.
    pub real_path: PathBuf,
    /// Whether it is a regular file.
    pub is_regular: bool,
    /// Whether it is a directory.
    pub is_directory: bool,
    /// Size and time at the request.
    pub identity: FileIdentity,
    /// `st_dev`.
    pub device: u64,
    /// `st_ino`.
    pub inode: u64,
}

/// Names in order of first use.
#[derive(Debug, Default)]
pub struct NameLog {
    /// First uses.
    pub names: Vec<SeenName>,
    /// Number of repeated uses.
    pub repeats: u64,
    /// Our thread that resolved the names: its reads of directories and inodes are done in place of the program's.
    pub observer: Option<u32>,
    /// Why not a single name could be read, if the kernel refused it.
    pub(crate) refusal: Option<io::Error>,
    /// Each call of `execve`, failed ones included: time and thread.
    pub executions: Vec<(Duration, u32)>,
    with_memory_trees: bool,
    /// With the mount namespace, if it is not that of the first program.
    known: HashSet<(Option<PathBuf>, PathBuf, SeenRequest)>,
    outside: OutsideNames,
    processes: HashMap<u32, Option<u32>>,
}

/// Trees whose files are in the kernel's memory only: nothing to prefetch there.
const MEMORY_TREES: [&str; 3] = ["/proc", "/sys", "/dev"];

impl NameLog {
    /// Observes the tree until its last process ends. Names in `/proc`, `/sys` and `/dev` are left out.
    ///
    /// # Errors
    /// [`TraceError::Names`] when the kernel refuses the observation, [`TraceError::UnreadableNames`] when it lets no name be read.
    pub fn follow(observer: &SyscallObserver) -> Result<Self, TraceError> {
        let mut log = Self::default().followed(observer)?;
        log.refusal.take().map_or(Ok(log), |source| Err(TraceError::UnreadableNames { source }))
    }

    /// Observes the tree until its last process ends, and keeps all names, perhaps none.
    ///
    /// # Errors
    /// [`TraceError::Names`] when the kernel refuses the observation.
    pub fn follow_all(observer: &SyscallObserver) -> Result<Self, TraceError> {
        Self { with_memory_trees: true, ..Self::default() }.followed(observer)
    }

    fn followed(mut self, observer: &SyscallObserver) -> Result<Self, TraceError> {
        self.observer = u32::try_from(rustix::thread::gettid().as_raw_nonzero().get()).ok();
        for_each_call(observer, &mut |call, at| self.note(call, at))?;
        self.refusal = observer.refusal();
        Ok(self)
    }

    fn note(&mut self, call: &FileNameCall, at: Duration) {
        if call.request == FileRequest::Execute {
            self.executions.push((at, call.thread));
            self.outside.executed(call.thread);
        }
        let Some((root, inside)) = absolute_name(call) else { return };
        let in_memory_tree = MEMORY_TREES.iter().any(|tree| inside.starts_with(tree));
        if in_memory_tree && !self.with_memory_trees {
            return;
        }
        let request = match call.request {
            FileRequest::Open | FileRequest::Execute => SeenRequest::Content,
            FileRequest::OpenDirectory => SeenRequest::Entries,
            FileRequest::OpenForWrite | FileRequest::LookUp | FileRequest::LookUpLink => SeenRequest::Existence,
        };
        let mut path = join_below(&root, &inside);
        let namespace = self.outside.other_namespace(call.thread);
        if !self.known.insert((namespace.clone(), path.clone(), request)) {
            self.repeats = self.repeats.saturating_add(1);
            return;
        }
        let thread = call.thread;
        let process = *self.processes.entry(thread).or_insert_with(|| process_of(thread));
        // `/proc/self` would be us, and links of descriptors cannot be followed inside another root.
        let (file, is_missing) = if in_memory_tree {
            (None, is_missing_for(&path, process.unwrap_or(thread), thread))
        } else {
            let resolved = resolve(call, &inside);
            let is_missing = resolved.is_none();
            let file = resolved.map(|resolved| {
                let Resolved { open, stat, seen } = resolved;
                let outside =
                    namespace.and_then(|namespace| self.outside.of(&namespace, thread, &open, &seen.real_path, &stat));
                if let Some(outside) = outside {
                    path = outside;
                }
                seen
            });
            (file, is_missing)
        };
        // Some programs open directories without O_DIRECTORY and list them.
        let is_directory = file.as_ref().is_some_and(|file| file.is_directory);
        let request = if request == SeenRequest::Content && is_directory { SeenRequest::Entries } else { request };
        let failed = is_missing && !call.may_create;
        self.names.push(SeenName { path, request, file, failed, thread, process, at });
    }
}

/// The process of a thread.
fn process_of(thread: u32) -> Option<u32> {
    ProcessFiles::of(thread).status().process()
}

/// Whether a name in the kernel's own trees means nothing for this process.
fn is_missing_for(path: &Path, process: u32, thread: u32) -> bool {
    let of = |name: &str, own: PathBuf| path.strip_prefix(name).ok().map(|rest| own.join(rest));
    let path = of(process::SELF, ProcessFiles::of(process).directory().to_path_buf())
        .or_else(|| of(process::THREAD_SELF, ProcessFiles::of_thread(process, thread).directory().to_path_buf()))
        .unwrap_or_else(|| path.to_path_buf());
    fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// The caller's root as we see it, and the name made absolute inside it.
fn absolute_name(call: &FileNameCall) -> Option<(PathBuf, PathBuf)> {
    let process = ProcessFiles::of(call.thread);
    let root = fs::read_link(process.at("root")).ok()?;
    let name = Path::new(&call.name);
    if name.is_absolute() {
        return Some((root, name.to_path_buf()));
    }
    let base = match call.base {
        NameBase::WorkingDirectory => process.at("cwd"),
        NameBase::Descriptor(number) => process.at(format!("fd/{number}")),
    };
    let base = fs::read_link(base).ok()?;
    // A base outside the root (or a deleted one, shown as "x (deleted)") has no name the program could be replayed with.
    let inside = Path::new("/").join(base.strip_prefix(&root).ok()?);
    Some((root, inside.join(name)))
}

fn join_below(root: &Path, inside: &Path) -> PathBuf {
    let relative: PathBuf = inside.components().filter(|part| !matches!(part, Component::RootDir)).collect();
    root.join(relative)
}

/// The file that a name means.
struct Resolved {
    open: OwnedFd,
    stat: Stat,
    seen: SeenFile,
}

/// The file a name means inside the caller's root.
fn resolve(call: &FileNameCall, inside: &Path) -> Option<Resolved> {
    let root_path = ProcessFiles::of(call.thread).at("root");
    let directory = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(root_path, directory, Mode::empty()).ok()?;
    let mut flags = OFlags::PATH | OFlags::CLOEXEC;
    if call.request == FileRequest::LookUpLink {
        flags |= OFlags::NOFOLLOW;
    }
    let file = rustix::fs::openat2(root, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let real_path = coldstart_host::descriptor::name(&file).ok()?;
    if !real_path.is_absolute() || real_path.as_os_str().as_bytes().ends_with(OsStr::new(" (deleted)").as_bytes()) {
        return None;
    }
    let file_type = FileType::from_raw_mode(stat.st_mode);
    let seen = SeenFile {
        real_path,
        is_regular: file_type == FileType::RegularFile,
        is_directory: file_type == FileType::Directory,
        identity: FileIdentity::from_stat(stat.st_size, stat.st_mtime, stat.st_mtime_nsec as i64),
        device: stat.st_dev,
        inode: stat.st_ino,
    };
    Some(Resolved { open: file, stat, seen })
}
