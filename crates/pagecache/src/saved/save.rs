//! Saving: the trees to walk, the order of queries, and the notes.

use std::collections::HashSet;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use coldstart_host::block_device::DeviceNumber;
use coldstart_host::kernel::{BootId, release};
use coldstart_host::machine::Memory;
use coldstart_host::mounts::{Mount, Mounts};
use coldstart_sys::named_file::{InodeKind, NotUsable};

use super::gather::{Gather, Gathered};
use super::{Origin, SavedError, SavedFile, SavedPageCache, devices, names};
use crate::file_system::shows_kernel_state;
use crate::mounts::MountKind;

/// Threads of the walk. More than processors: uncached directories block.
const THREADS: usize = 8;

/// What to save.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    /// Files and directories with their content; none for the whole system.
    pub paths: Vec<PathBuf>,
    /// Skip file systems mounted below the named directories.
    pub one_file_system: bool,
    /// Files that are not saved, such as the output itself. They need not exist.
    pub leave_out: Vec<PathBuf>,
}

/// What a saved state does not contain, and why.
#[derive(Debug, Default)]
pub struct SaveNotes {
    /// Regular files checked.
    pub looked_at: u64,
    /// Files that may not be opened or whose residency is hidden from this user.
    pub hidden_files: u64,
    /// Files with kernel or disk errors.
    pub failed_files: u64,
    /// Directories that could not be read.
    pub unread_directories: u64,
    /// The first of them.
    pub unread: Vec<(PathBuf, io::Error)>,
    /// Block devices with hidden residency.
    pub unseen_devices: Vec<UnseenDevice>,
    /// Mounts on servers, or served by programs, that were not named.
    pub network_mounts: Vec<PathBuf>,
    /// Mounts hidden under other mounts, so that no path leads to them.
    pub hidden_mounts: Vec<PathBuf>,
    /// Named files and trees in memory or of kernel state: there is nothing to restore.
    pub in_memory: u64,
    /// Bytes in the whole page cache when the walk began, without memory-backed files.
    pub page_cache: Option<u64>,
}

/// A block device with hidden residency.
#[derive(Debug)]
pub struct UnseenDevice {
    /// The mount source, as the kernel lists it.
    pub path: PathBuf,
    /// Why.
    pub reason: io::Error,
}

impl SavedPageCache {
    /// Records the page cache: first of block devices, because a walk reads metadata, then of all files.
    ///
    /// `progress` is called after each directory with the number of its files, by several threads at a time, and may
    /// stop the walk.
    /// Hidden files are in the notes and are not errors.
    ///
    /// # Errors
    /// [`SavedError::Named`] for a named path that does not exist; [`SavedError::Mounts`] for the whole system without
    /// `/proc`; [`SavedError::Stopped`]; [`SavedError::Threads`].
    pub fn save(
        options: &SaveOptions,
        progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
    ) -> Result<(Self, SaveNotes), SavedError> {
        let mut notes = SaveNotes { page_cache: Memory::here().page_cache, ..SaveNotes::default() };
        let mounts = match Mounts::here() {
            Ok(mounts) => mounts,
            Err(source) if options.paths.is_empty() => return Err(SavedError::Mounts { source }),
            Err(_) => Mounts::default(),
        };
        let roots = roots(options, &mounts, &mut notes)?;
        let beneath = roots.iter().filter_map(|root| mounts.of(root));
        let (mut devices, unseen) = devices::ask(beneath);
        notes.unseen_devices = unseen.into_iter().map(|(path, reason)| UnseenDevice { path, reason }).collect();
        let places: HashSet<PathBuf> = mounts.all().iter().map(|mount| mount.place.clone()).collect();
        let gathered = walk(roots, &places, &identities(&options.leave_out), progress)?;
        let (files, links) = notes.take(gathered);
        let files = each_once(files);
        let directories = names::directories(&files);
        let links = names::links(links, &files, &directories);
        devices.sort_by(|left, right| left.path.cmp(&right.path));
        let origin = Origin {
            is_whole_system: options.paths.is_empty(),
            hidden_files: notes.hidden_files,
            hidden_devices: u32::try_from(notes.unseen_devices.len()).unwrap_or(u32::MAX),
            ..Origin::here()
        };
        Ok((Self { origin, files, devices, directories, links }, notes))
    }
}

impl SaveNotes {
    /// Adds a walk's notes; returns its results.
    fn take(&mut self, gathered: Gathered) -> (Vec<SavedFile>, Vec<(PathBuf, PathBuf)>) {
        self.looked_at = gathered.looked_at;
        self.hidden_files = gathered.hidden_files;
        self.failed_files = gathered.failed_files;
        self.unread_directories = gathered.unread_directories;
        self.unread = gathered.unread;
        self.in_memory = self.in_memory.saturating_add(gathered.in_memory);
        (gathered.files, gathered.links)
    }
}

/// The roots to walk. A path that is not a mount point is followed by the mounts below it.
fn roots(options: &SaveOptions, mounts: &Mounts, notes: &mut SaveNotes) -> Result<Vec<PathBuf>, SavedError> {
    let mut roots = Vec::new();
    for path in &options.paths {
        let named = |source| SavedError::Named { path: path.clone(), source };
        let root = std::fs::canonicalize(path).map_err(named)?;
        let kind = InodeKind::of_mode(std::fs::metadata(&root).map_err(named)?.mode());
        if !matches!(kind, InodeKind::Regular | InodeKind::Directory | InodeKind::BlockDevice) {
            return Err(named(NotUsable::NotRegular { kind }.into()));
        }
        if shows_kernel_state(&root) {
            notes.in_memory = notes.in_memory.saturating_add(1);
            continue;
        }
        if !options.one_file_system {
            let below = |mount: &&Mount| mount.place.starts_with(&root) && mount.place != root;
            add_mounts(mounts.all().iter().filter(below), mounts, false, &mut roots, notes);
        }
        roots.push(root);
    }
    if options.paths.is_empty() {
        add_mounts(mounts.all().iter(), mounts, true, &mut roots, notes);
    }
    roots.sort_unstable();
    roots.dedup();
    Ok(roots)
}

/// Adds mounts that are worth walking and reachable.
fn add_mounts<'a>(
    wanted: impl Iterator<Item = &'a Mount>,
    mounts: &Mounts,
    whole_system: bool,
    roots: &mut Vec<PathBuf>,
    notes: &mut SaveNotes,
) {
    for mount in wanted {
        // The root may be a stacked or network file system, as in containers and diskless machines.
        let is_root = mount.place == Path::new("/");
        let is_wanted = match MountKind::of(mount) {
            MountKind::Storage => true,
            // Its pages belong to the lower files, which are walked there.
            MountKind::Layered => is_root || !whole_system,
            MountKind::Network if !is_root => {
                notes.network_mounts.push(mount.place.clone());
                false
            }
            MountKind::Network => true,
            MountKind::Other => false,
        };
        if !is_wanted {
            continue;
        }
        if is_reached(mount, mounts) {
            roots.push(mount.place.clone());
        } else {
            notes.hidden_mounts.push(mount.place.clone());
        }
    }
}

/// Whether the path of a mount leads into it, rather than into another one on top.
fn is_reached(mount: &Mount, mounts: &Mounts) -> bool {
    if mounts.of(&mount.place).is_some_and(|on_top| on_top != mount) {
        return false;
    }
    // For file systems with several devices or none, `stat` and mountinfo disagree.
    let is_there = rustix::fs::lstat(&mount.place);
    is_there.is_ok_and(|stat| mount.device.major == 0 || DeviceNumber::of_stat(stat.st_dev) == mount.device)
}

fn walk(
    roots: Vec<PathBuf>,
    mount_places: &HashSet<PathBuf>,
    leave_out: &[(u64, u64)],
    progress: &(dyn Fn(u64) -> ControlFlow<()> + Sync),
) -> Result<Gathered, SavedError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build();
    let pool = pool.map_err(|error| SavedError::Threads { source: io::Error::other(error) })?;
    let gather = Gather {
        mount_places,
        leave_out,
        progress,
        stopped: AtomicBool::new(false),
        seen: Mutex::default(),
        found: Mutex::default(),
    };
    let gather_all = &gather;
    pool.scope(move |scope| roots.into_iter().for_each(|root| gather_all.root(scope, root)));
    if gather.stopped.into_inner() {
        return Err(SavedError::Stopped);
    }
    Ok(gather.found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Device and inode numbers of those paths that exist.
fn identities(paths: &[PathBuf]) -> Vec<(u64, u64)> {
    let metadata = paths.iter().filter_map(|path| std::fs::metadata(path).ok());
    metadata.map(|metadata| (metadata.dev(), metadata.ino())).collect()
}

/// Sorted by inode, which is the order of the disk's tables; of several names of a file the first.
fn each_once(mut files: Vec<SavedFile>) -> Vec<SavedFile> {
    files.sort_unstable_by(|left, right| {
        (left.device, left.inode, &left.path).cmp(&(right.device, right.inode, &right.path))
    });
    files.dedup_by_key(|file| (file.device, file.inode));
    files
}

impl Origin {
    /// This machine, now.
    pub fn here() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            saved_at: i64::try_from(now.as_secs()).unwrap_or(i64::MAX),
            boot_id: BootId::here().map_or([0; 16], |boot| boot.0),
            kernel: release().unwrap_or_default().into_bytes(),
            base_page: u32::try_from(rustix::param::page_size()).unwrap_or(0),
            ..Self::default()
        }
    }

    /// Whether the machine has not been rebooted since.
    pub fn is_this_boot(&self) -> bool {
        self.boot_id != [0; 16] && self.boot_id == Self::here().boot_id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_boot_has_an_identifier() {
        assert!(Origin::here().is_this_boot());
        assert!(!Origin::default().is_this_boot());
    }

    #[test]
    fn a_mount_under_another_is_not_reached() {
        let mounts = Mounts::parse(
            b"1 0 0:1 / / rw - btrfs none rw\n2 1 0:2 / /tmp rw - btrfs none rw\n3 2 0:3 / /tmp rw - tmpfs none rw\n\
              4 1 0:4 / /n rw - nfs none rw\n5 1 0:5 / /merged rw - overlay none rw\n",
        );
        let mut notes = SaveNotes::default();
        let options = SaveOptions::default();
        assert_eq!(roots(&options, &mounts, &mut notes).unwrap(), [PathBuf::from("/")]);
        assert_eq!(notes.hidden_mounts, [PathBuf::from("/tmp")]);
        assert_eq!(notes.network_mounts, [PathBuf::from("/n")]);
    }
}
