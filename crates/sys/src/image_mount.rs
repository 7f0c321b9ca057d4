//! A file system image mounted where only this process sees it: at no place of the file tree (`fsopen`, `fsmount`, Linux 5.2).
//!
//! The mount is attached nowhere. It is reached through its descriptor and ends with that, also when we are killed. Not obvious: EROFS
//! mounts regular files itself since Linux 6.12 (`CONFIG_EROFS_FS_BACKED_BY_FILE`); before, and for files on tmpfs, the kernel wants a
//! block device (`ENOTBLK`), and then there is no mount.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use coldstart_host::descriptor;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen,
};

use crate::facility_error::FacilityError;

/// A mounted image.
#[derive(Debug)]
pub struct ImageMount {
    mount: OwnedFd,
}

impl ImageMount {
    /// Mounts an EROFS image: read-only, without programs, devices and set-user-ID bits.
    ///
    /// # Errors
    /// [`FacilityError::Unsupported`] where this kernel or the image's own file system cannot;
    /// [`FacilityError::NotPermitted`] without `CAP_SYS_ADMIN`; otherwise the kernel refused the image.
    pub fn erofs(image: &File) -> Result<Self, FacilityError> {
        let failed = |call| move |errno| FacilityError::new(call, errno, &[Errno::NODEV, Errno::NOTBLK]);
        let context = fsopen("erofs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(failed("fsopen"))?;
        // By the descriptor: the name may lead to another file by now.
        fsconfig_set_string(&context, "source", descriptor::path(image)).map_err(failed("fsconfig"))?;
        fsconfig_set_flag(&context, "ro").map_err(failed("fsconfig"))?;
        fsconfig_create(&context).map_err(failed("fsconfig"))?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
            | MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes).map_err(failed("fsmount"))?;
        Ok(Self { mount })
    }

    /// A path to its root directory, for this process only and as long as this lives.
    pub fn root(&self) -> PathBuf {
        descriptor::path(&self.mount)
    }
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
