//! Ending a FUSE connection from outside (Documentation/filesystems/fuse.rst, "Interrupting filesystem operations").
//!
//! The control files exist only where fusectl is mounted. Without them, killing the server has the same effect:
//! the kernel aborts the connection when the last descriptor of /dev/fuse is closed.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::Result;
use fs_err as fs;

use super::mounts;

/// Aborts the connection of the FUSE file system at `mount_point`, if the control file is there.
pub(crate) fn abort(mount_point: &Path) -> Result<()> {
    for mount in mounts::at(mount_point)? {
        // A connection is named by the minor number of its anonymous device.
        let minor = mount.device.minor;
        match fs::OpenOptions::new().write(true).open(format!("/sys/fs/fuse/connections/{minor}/abort")) {
            Ok(mut control) => std::io::Write::write_all(&mut control, b"1")?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
