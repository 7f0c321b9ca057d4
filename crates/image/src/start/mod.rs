//! A start from an image: its files take the place of their originals, for one program and what that starts.
//!
//! | step | file |
//! |---|---|
//! | what a start needs to know of the image | `front.rs` |
//! | who may have written the image | `trust.rs` |
//! | files in the place of their originals | `place.rs` |
//! | reading what it needs besides the image | `outside.rs` |
//! | reading the hot range beside the program | `stream.rs` |
//!
//! Not obvious: each file is laid over its original by itself, only if the original is still the one that was copied, and directories stay
//! what they are. So names are looked up where they always were, new and removed files are seen, a program may write beside itself, and a file that
//! was changed since is used as it is now, next to others that come from the image. When a package manager renames a new file over an original
//! meanwhile, the kernel takes ours away (`detach_mounts`, `fs/namespace.c`), and the next open finds the new one.

mod front;
mod outside;
mod place;
mod stream;
mod trust;

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use coldstart_sys::detached::{Wait, end_after, run_detached};
use coldstart_sys::named_file::open_regular;

use front::is_start_image_begin;
pub use front::{Front, FrontError, uuid_text};
use outside::read_outside;
use place::take_place;
pub use place::{Left, Placed, changed_originals, take_place_of_own};
use stream::stream;
pub use trust::{Distrust, check as check_trust, is_roots_directory};

/// Where root mounts images for everybody: a directory for each, named by its UUID.
pub const MOUNTS: &str = "/run/coldstart/images";

/// The front takes two reads. Where they take longer than this and the transfer, the disk has a head that moves: then originals are looked at before the hot
/// range is read, because both at once would send the head to and fro. Otherwise they are done at the same time. What sysfs says of virtual disks is not to be
/// relied on.
const SEEK: Duration = Duration::from_millis(4);
/// Bytes a second of a slow disk: the front of a large program has half a MB.
const TRANSFER: u64 = 100_000_000;
/// On a disk that seeks, the program waits for directories, names and files that are not covered, so that reading them and the hot range do not alternate. At most
/// so long.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Reading beside the program ends after this.
const LONGEST_READING: Duration = Duration::from_secs(600);

/// Why a program starts without its image.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The image cannot be read.
    #[error("{0}")]
    Image(String),
    /// Others could have written it.
    #[error("{0}")]
    Distrust(#[from] Distrust),
    /// It is not mounted, and this user may not mount it.
    #[error("only root can mount an image: {0}")]
    NotMounted(String),
    /// The kernel or the image's file system cannot mount it.
    #[error("the image cannot be mounted: {0}")]
    Mount(String),
    /// No mount namespace of its own.
    #[error("{0}")]
    Namespace(String),
}

/// Where an image is mounted for everybody, if it is.
pub fn mount_point(front: &Front) -> PathBuf {
    Path::new(MOUNTS).join(front.uuid_text())
}

/// An open image, and when it was first read: how long that takes tells what kind of disk it is on.
#[derive(Debug)]
pub struct OpenImage {
    file: File,
    begin: Instant,
}

/// Opens a file if it is a start image, by its first bytes. `None` means a plan, or that it cannot be read.
pub fn open_if_image(path: &Path) -> Option<OpenImage> {
    let mut first = [0; 8];
    let file = open_regular(path).ok()?;
    let begin = Instant::now();
    file.read_exact_at(&mut first, 0).ok()?;
    is_start_image_begin(&first).then_some(OpenImage { file, begin })
}

/// Puts the image's files into the place of their originals for this process, and has a process beside it read what the program will need.
/// Then the caller becomes the program.
///
/// The caller must have no other thread.
///
/// # Errors
/// Why the program starts from its own files alone. It can be started all the same.
pub fn start_from(path: &Path, program: &[OsString]) -> Result<Placed, StartError> {
    let file = open_regular(path).map_err(|error| StartError::Image(format!("{}: {error}", path.display())))?;
    start_from_open(path, &OpenImage { file, begin: Instant::now() }, program)
}

/// The same for an image that is open; `path` is its name.
///
/// # Errors
/// As [`start_from`].
pub fn start_from_open(path: &Path, image: &OpenImage, program: &[OsString]) -> Result<Placed, StartError> {
    let OpenImage { file: image, begin } = image;
    let front = Front::read(image).map_err(|error| StartError::Image(format!("{}: {error}", path.display())))?;
    let took = begin.elapsed();
    let programs = front.programs_of(program);
    // A start that finds its last page in memory finds the rest as well: the names outside, too.
    let is_hot = stream::is_in_memory(image, &front, programs);
    let transfer = Duration::from_nanos(front.index.front_length() * (1_000_000_000 / TRANSFER));
    let seeks = !is_hot && took > SEEK + transfer;
    let mut reads = false;
    // Not before it is known who could have written the image.
    let placed = take_place(path, image, &front, &mut || {
        if seeks {
            read_outside(&front, programs, seeks, &|| begin.elapsed() > LONGEST_WAIT);
        } else {
            reads = read_beside(image, &front, programs, !is_hot).is_ok();
        }
    })?;
    if placed.taken > 0 && !reads {
        let _ = read_beside(image, &front, programs, !seeks && !is_hot);
    }
    Ok(placed)
}

/// Starts the process that reads the hot range beside this one, and what lies outside the image if that was not read before.
fn read_beside(image: &File, front: &Front, programs: u64, reads_outside: bool) -> std::io::Result<()> {
    run_detached(Wait::No, Duration::ZERO, Some(image.try_clone()?), |starter| {
        if let Some(image) = starter.kept() {
            if starter.outlives_start() {
                end_after(LONGEST_READING);
                let is_gone = || starter.is_gone();
                std::thread::scope(|scope| {
                    if reads_outside {
                        let read = || read_outside(front, programs, false, &is_gone);
                        // Without this thread the program reads them itself.
                        let _ = std::thread::Builder::new().spawn_scoped(scope, read);
                    }
                    stream(image, front, programs, &is_gone);
                });
            } else {
                stream::queue(image, front);
            }
        }
    })
}
