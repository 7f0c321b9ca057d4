//! A file system image mounted by its file (`fsopen`, `fsmount`, Linux 5.2), and its files laid over others.
//!
//! A new mount is attached nowhere. It is reached through its descriptor and ends with that, also when we are killed, unless it is attached to a
//! directory. Not obvious: EROFS mounts regular files itself since Linux 6.12 (`CONFIG_EROFS_FS_BACKED_BY_FILE`); before, and for files on tmpfs, the
//! kernel wants a block device (`ENOTBLK`), and gets a loop device that ends with the mount. Parts of a mount that is attached nowhere can be laid over files since
//! Linux 6.15 only, so [`ImageMount::attach`] comes first.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use coldstart_host::{backing_device, descriptor};
use rustix::fs::{CWD, Mode, OFlags, fstatfs};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, open_tree, unmount,
};

use crate::facility_error::FacilityError;
use crate::loop_device::LoopDevice;

/// EROFS in `statfs` (`EROFS_SUPER_MAGIC_V1`, `include/uapi/linux/magic.h`).
const EROFS_MAGIC: i64 = 0xe0f5_e1e2;
/// One page: a neighbour in a file may lie anywhere in an image whose pages lie in the order of a start.
const READ_AHEAD: u32 = 4;

/// A mounted image.
#[derive(Debug)]
pub struct ImageMount {
    mount: OwnedFd,
}

/// A mount attached to a directory, which is what it was when this is dropped. Files that were laid over others stay there.
#[derive(Debug)]
pub struct Attached {
    directory: PathBuf,
}

impl ImageMount {
    /// Mounts an EROFS image to be looked at: read-only, without programs, devices and set-user-ID bits.
    ///
    /// # Errors
    /// [`FacilityError::Unsupported`] where this kernel or the image's own file system cannot;
    /// [`FacilityError::NotPermitted`] without `CAP_SYS_ADMIN`; otherwise the kernel refused the image.
    pub fn erofs(image: &File) -> Result<Self, FacilityError> {
        Ok(Self::with(image, MountAttrFlags::MOUNT_ATTR_NOEXEC)?.0)
    }

    /// Mounts an EROFS image for programs to be started from: read-only, without devices and set-user-ID bits, and so that the kernel reads
    /// the pages that are used and no others.
    ///
    /// # Errors
    /// As [`Self::erofs`].
    pub fn for_programs(image: &File) -> Result<Self, FacilityError> {
        let before = backing_device::names("erofs-");
        let (mount, device) = Self::with(image, MountAttrFlags::empty())?;
        // Of several new ones the others were mounted at this moment by starts like this one. Where it fails, pages that nobody needs are read, too.
        let new = backing_device::names("erofs-").difference(&before).cloned().collect::<Vec<_>>();
        for name in device.and_then(|device| device.backing_name()).into_iter().chain(new) {
            let _ = backing_device::set_read_ahead(&name, READ_AHEAD);
        }
        Ok(mount)
    }

    /// The EROFS file system that is mounted at a directory; `None` if there is none.
    pub fn at(directory: &Path) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mount = rustix::fs::open(directory, flags, Mode::empty()).ok()?;
        is_on_image(&mount).then_some(Self { mount })
    }

    /// The mount, and the device below it where the kernel does not mount the file itself.
    fn with(image: &File, attributes: MountAttrFlags) -> Result<(Self, Option<LoopDevice>), FacilityError> {
        // By the descriptor: the name may lead to another file by now.
        match Self::of(&descriptor::path(image), attributes) {
            Err(error) if error.errno() == Errno::NOTBLK => {
                let device = LoopDevice::attach(image)?;
                Ok((Self::of(&device.path(), attributes)?, Some(device)))
            }
            answer => Ok((answer?, None)),
        }
    }

    fn of(source: &Path, attributes: MountAttrFlags) -> Result<Self, FacilityError> {
        let failed = |call| move |errno| FacilityError::new(call, errno, &[Errno::NODEV, Errno::NOTBLK]);
        let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed("fsopen"))?;
        fsconfig_set_string(&context, "source", source).map_err(failed("fsconfig"))?;
        fsconfig_set_flag(&context, "ro").map_err(failed("fsconfig"))?;
        fsconfig_create(&context).map_err(failed("fsconfig"))?;
        let attributes = attributes
            | MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(failed("fsmount"))?;
        Ok(Self { mount })
    }

    /// A path to its root directory, for this process only and as long as this lives.
    pub fn root(&self) -> PathBuf {
        descriptor::path(&self.mount)
    }

    /// Attaches it to a directory until [`Attached`] is dropped. For a mount namespace that nobody else uses: what is in the directory is hidden
    /// meanwhile.
    ///
    /// # Errors
    /// The system's error.
    pub fn attach(&self, directory: &Path) -> io::Result<Attached> {
        self.attach_for_good(directory)?;
        Ok(Attached { directory: directory.to_owned() })
    }

    /// Attaches it to a directory, until it is unmounted there.
    ///
    /// # Errors
    /// The system's error.
    pub fn attach_for_good(&self, directory: &Path) -> io::Result<()> {
        Ok(move_mount(&self.mount, "", CWD, directory, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
    }

    /// Lays one of its files over an open file, in the calling thread's mount namespace, to which both must belong. `path` is relative to its root.
    ///
    /// # Errors
    /// The system's error.
    pub fn lay_over(&self, path: &Path, original: BorrowedFd<'_>) -> io::Result<()> {
        let flags =
            OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let file = open_tree(&self.mount, path, flags)?;
        let by_descriptors = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(move_mount(&file, "", original, "", by_descriptors)?)
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = unmount(&self.directory, UnmountFlags::DETACH);
    }
}

/// Whether an open file lies on an EROFS file system.
#[allow(clippy::unnecessary_cast, reason = "the field's type differs between machines")]
pub fn is_on_image(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|found| found.f_type as i64 == EROFS_MAGIC)
}

/// Unmounts what is mounted at a directory: it leaves the file tree at once, and ends with its last user.
///
/// # Errors
/// The system's error.
pub fn unmount_directory(directory: &Path) -> io::Result<()> {
    Ok(unmount(directory, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW)?)
}

#[cfg(test)]
mod tests {
    use coldstart_testing::{is_root, scratch};

    use super::*;

    #[test]
    fn a_file_that_is_no_image_is_refused() {
        if !is_root() {
            return;
        }
        let directory = scratch();
        let path = directory.path().join("no image");
        std::fs::write(&path, [0; 8192]).unwrap();
        assert!(ImageMount::erofs(&File::open(&path).unwrap()).is_err());
    }
}
