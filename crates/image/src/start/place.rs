//! Files of an image in the place of their originals, in a mount namespace of the calling thread's own.

use std::fs::File;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use coldstart_profile::FileIdentity;
use coldstart_sys::image_mount::ImageMount;
use coldstart_sys::private_mounts::{Method, separate_this_thread};
use rustix::fs::{Advice, AtFlags, CWD, FileType, Mode, OFlags, Statx, StatxFlags, fadvise, lgetxattr, openat, statx};

use crate::index::HotFile;

use super::{Front, StartError, mount_point, trust};

/// Originals are looked at by so many threads: on a network each look is a wait.
const THREADS: usize = 16;
/// Fewer than this for each thread are not worth one.
const EACH: usize = 8;
/// Directories that exist and that no hot file lies in. One of them is hidden in the new namespace while files are laid over others. Where something is
/// mounted on it, as on the first, looking it up reads no disk.
const SPARE: [&str; 5] = ["/sys", "/mnt", "/media", "/srv", "/tmp"];
/// Set-user-ID and set-group-ID bits.
const SET_ID: u16 = 0o6000;

/// Which files came into the place of their originals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// How many did.
    pub taken: usize,
    /// Which did not.
    pub left: Vec<(PathBuf, Left)>,
}

/// Why an original is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// It is not as it was when it was copied.
    Changed,
    /// It does not exist any more, or cannot be looked at.
    Missing,
    /// The kernel does not lay a file over it.
    Refused,
}

impl Left {
    /// In words, as the end of a sentence about a file.
    pub fn words(self) -> &'static str {
        match self {
            Self::Changed => "has changed since",
            Self::Missing => "is missing",
            Self::Refused => "cannot be covered",
        }
    }
}

/// Puts the hot files of an image into the place of their originals, for the calling thread and what it starts from now on. An image that root has
/// mounted for everybody is used; otherwise it is mounted for this purpose. `separated` is called as soon as the thread has its namespace: before anything is
/// looked at, and while there is no other thread.
///
/// # Errors
/// [`StartError`]: nothing is covered then.
pub(super) fn take_place(
    path: &Path,
    image: &File,
    front: &Front,
    separated: &mut dyn FnMut(),
) -> Result<Placed, StartError> {
    let point = mount_point(front);
    let is_mounted = is_usable(&point);
    let may_mount = rustix::process::geteuid().is_root();
    if may_mount {
        // Also of a mounted image: its index, which says which originals are still the same, is read from this file.
        trust::check(path, image)?;
    } else if !is_mounted {
        return Err(StartError::NotMounted(format!(
            "root can do it for everybody with `coldstart image mount {}`",
            path.display()
        )));
    }
    place(image, front, is_mounted.then_some(&point), separated)
}

/// Puts the hot files into place, for an image that this process has just written, wherever it lies: it is mounted for this purpose.
///
/// # Errors
/// [`StartError`]: nothing is covered then.
pub fn take_place_of_own(image: &File, front: &Front) -> Result<Placed, StartError> {
    place(image, front, None, &mut || {})
}

fn place(
    image: &File,
    front: &Front,
    mounted: Option<&PathBuf>,
    separated: &mut dyn FnMut(),
) -> Result<Placed, StartError> {
    let method = separate_this_thread().map_err(|error| StartError::Namespace(error.to_string()))?;
    // Covering files reads inodes and directories of the image, one after the other.
    let metadata = NonZeroU64::new(front.index.hot.start);
    let _ = fadvise(image, 0, metadata, Advice::WillNeed);
    separated();
    let originals = look(&front.index.files);
    let covers = match mounted.and_then(|point| ImageMount::at(point)) {
        Some(mount) => return Ok(cover(&mount, &front.index.files, &originals)),
        None if method == Method::UserNamespace => {
            return Err(StartError::NotMounted("this process has no right to mount".to_owned()));
        }
        None => ImageMount::for_programs(image).map_err(|error| StartError::Mount(error.to_string()))?,
    };
    let spare = SPARE.iter().map(Path::new).find(|path| path.is_dir());
    let spare = spare.ok_or_else(|| StartError::Mount("there is no directory to attach it to".to_owned()))?;
    let _attached = covers.attach(spare).map_err(|error| StartError::Mount(error.to_string()))?;
    Ok(cover(&covers, &front.index.files, &originals))
}

/// Whether root has mounted an image there. Only root can write to the directories on the way.
fn is_usable(point: &Path) -> bool {
    point.ancestors().skip(1).all(trust::is_roots_directory) && ImageMount::at(point).is_some()
}

/// Opens each original and compares it with what was copied.
fn look(files: &[HotFile]) -> Vec<Result<OwnedFd, Left>> {
    let found: Vec<OnceLock<Result<OwnedFd, Left>>> = files.iter().map(|_| OnceLock::new()).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (Some(file), Some(slot)) = (files.get(number), found.get(number)) else { return };
            let _ = slot.set(original(file));
        }
    };
    thread::scope(|scope| {
        for _ in 1..THREADS.min(files.len() / EACH) {
            // Fewer threads only make it slower.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    found.into_iter().map(|slot| slot.into_inner().unwrap_or(Err(Left::Missing))).collect()
}

/// The hot files whose originals a start would use, because they are not what was copied, with the reasons.
pub fn changed_originals(front: &Front) -> Vec<(PathBuf, Left)> {
    let files = front.index.files.iter();
    let found = files.zip(look(&front.index.files));
    found.filter_map(|(file, original)| Some((file.path.clone(), original.err()?))).collect()
}

fn original(file: &HotFile) -> Result<OwnedFd, Left> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let original = openat(CWD, &file.path, flags, Mode::empty()).map_err(|_| Left::Missing)?;
    let found = statx(&original, c"", AtFlags::EMPTY_PATH, StatxFlags::BASIC_STATS).map_err(|_| Left::Missing)?;
    // Of an original of this machine the inode tells: giving a capability changes it, and none that had one is hot.
    let gives_rights = file.origin.is_none() && has_capability(&file.path);
    if is_same(file, &found) && !gives_rights { Ok(original) } else { Err(Left::Changed) }
}

fn has_capability(path: &Path) -> bool {
    lgetxattr(path, c"security.capability", &mut [0u8; 0]).is_ok()
}

/// Whether an original is what was copied. What gives rights when it is started is never covered: the mount does not give them.
fn is_same(file: &HotFile, found: &Statx) -> bool {
    let nanoseconds = |time: rustix::fs::StatxTimestamp| {
        time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec.into())
    };
    let mode = found.stx_mode;
    let identity = FileIdentity { size: found.stx_size, modified: nanoseconds(found.stx_mtime) };
    FileType::from_raw_mode(mode.into()) == FileType::RegularFile
        && mode & SET_ID == 0
        && identity == file.identity
        && file
            .origin
            .is_none_or(|origin| origin.inode == found.stx_ino && origin.changed == nanoseconds(found.stx_ctime))
}

fn cover(mount: &ImageMount, files: &[HotFile], originals: &[Result<OwnedFd, Left>]) -> Placed {
    let mut placed = Placed::default();
    for (file, original) in files.iter().zip(originals) {
        let covered = match original {
            Ok(original) => {
                let inside = file.path.strip_prefix("/").unwrap_or(&file.path);
                mount.lay_over(inside, original.as_fd()).map_err(|_| Left::Refused)
            }
            Err(left) => Err(*left),
        };
        match covered {
            Ok(()) => placed.taken += 1,
            Err(left) => placed.left.push((file.path.clone(), left)),
        }
    }
    placed
}
