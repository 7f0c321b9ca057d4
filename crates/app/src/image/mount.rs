//! Images mounted for everybody, below `/run/coldstart/images`: users who may not mount use them, and the pages that one start has read stay in
//! memory for the next.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_image::start::{Front, MOUNTS, check_trust, is_roots_directory, mount_point};
use coldstart_profile::{JsonPath, printable};
use coldstart_sys::image_mount::{ImageMount, unmount_directory};
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use crate::error::{AppError, HintExt};

/// A mounted image.
#[derive(Clone, Debug, Serialize)]
pub struct MountOutcome {
    /// Where it is mounted.
    #[serde(skip)]
    pub directory: PathBuf,
    #[serde(flatten)]
    mounted_at: JsonPath,
    /// Its UUID.
    pub uuid: String,
    /// Whether it was mounted before.
    pub was_mounted: bool,
}

/// Mounts an image for everybody on this machine. The files of programs are not touched: `coldstart image run` puts the image's files in their place.
///
/// # Errors
/// If the caller is not root, others may write to the image, or the kernel cannot mount it.
pub fn mount(path: &Path) -> Result<MountOutcome, AppError> {
    root_only()?;
    let named = || format!("cannot mount the image `{}`", printable(path));
    let image = open_regular(path).with_context(named)?;
    let front = Front::read(&image).with_context(named)?;
    check_trust(path, &image).with_context(named)?;
    let directory = mount_point(&front);
    let was_mounted = ImageMount::at(&directory).is_some();
    if !was_mounted {
        make_directories(&directory).with_context(named)?;
        let mounted = ImageMount::for_programs(&image)
            .map_err(AppError::from)
            .and_then(|mount| Ok(mount.attach_for_good(&directory).with_context(named)?));
        if let Err(error) = mounted {
            let _ = fs::remove_dir(&directory);
            return Err(error);
        }
    }
    Ok(MountOutcome { mounted_at: JsonPath::new(&directory), directory, uuid: front.uuid_text(), was_mounted })
}

/// Whether an image of this UUID is mounted for everybody.
pub(crate) fn is_mounted(uuid: &str) -> bool {
    ImageMount::at(&Path::new(MOUNTS).join(uuid)).is_some()
}

/// Unmounts the image of this UUID, if it is mounted for everybody.
///
/// # Errors
/// The kernel's error.
pub(crate) fn unmount_uuid(uuid: &str) -> std::io::Result<()> {
    let directory = Path::new(MOUNTS).join(uuid);
    // A UUID of a manifest: nothing else may be unmounted by it.
    if uuid.contains('/') || ImageMount::at(&directory).is_none() {
        return Ok(());
    }
    unmount_directory(&directory)?;
    let _ = fs::remove_dir(&directory);
    Ok(())
}

/// Unmounts an image that [`mount`] mounted. Programs that were started from it go on with it.
///
/// # Errors
/// If the caller is not root, or it is not mounted.
pub fn unmount(path: &Path) -> Result<PathBuf, AppError> {
    root_only()?;
    let named = || format!("cannot unmount the image `{}`", printable(path));
    // The image may be gone: then its directory is named.
    let directory = if path.starts_with(MOUNTS) {
        path.to_owned()
    } else {
        let image = open_regular(path)
            .with_context(named)
            .hint(|| format!("if the image is gone, name its directory below {MOUNTS}"))?;
        mount_point(&Front::read(&image).with_context(named)?)
    };
    if ImageMount::at(&directory).is_none() {
        return Err(
            anyhow!("`{}` is not mounted: there is nothing at `{}`", printable(path), printable(&directory)).into()
        );
    }
    unmount_directory(&directory).with_context(named)?;
    let _ = fs::remove_dir(&directory);
    Ok(directory)
}

fn root_only() -> Result<(), AppError> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err(anyhow!("only root can mount and unmount images")).hint(|| "use sudo")
}

/// Makes the directories on the way, which belong to root and nobody else may write to.
fn make_directories(directory: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
    for above in directory.ancestors().take_while(|above| above.starts_with("/run/coldstart")) {
        if !is_roots_directory(above) {
            let problem = format!("others may write to `{}`", above.display());
            return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, problem));
        }
    }
    Ok(())
}
