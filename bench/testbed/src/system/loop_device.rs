//! Loop devices: attaching through losetup(8), finding and detaching by the backing file.
//!
//! Not obvious: a detached device that is still open stays attached until it is closed, and
//! `losetup --detach` reports success all the same. So the end is read from sysfs.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;

/// Attaches a free loop device to `backing` with direct I/O and returns it, for instance `/dev/loop0`.
///
/// Direct I/O is what lets 32 reads reach the backing file at once; buffered, the device has a page cache of its own and
/// serves its requests one by one.
///
/// # Errors
/// When losetup is missing or fails, or when the kernel did not switch direct I/O on.
pub(crate) fn attach(backing: &Path) -> Result<PathBuf> {
    let output = Command::new("losetup")
        .args(["--find", "--show", "--direct-io=on"])
        .arg(backing)
        .output()
        .context("cannot start losetup\nhint: apt-get install mount")?;
    ensure!(
        output.status.success(),
        "losetup cannot attach {}: {}",
        backing.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let device = PathBuf::from(String::from_utf8(output.stdout)?.trim());
    let direct = fs::read_to_string(sysfs(&device)?.join("loop/dio"))?;
    if direct.trim() != "1" {
        detach(&device)?;
        bail!("{} does not support direct I/O on {}", device.display(), backing.display());
    }
    Ok(device)
}

/// Detaches `device`; not being attached is no error.
pub(crate) fn detach(device: &Path) -> Result<()> {
    let output = Command::new("losetup").arg("--detach").arg(device).output().context("cannot start losetup")?;
    ensure!(
        output.status.success() || !is_attached(device),
        "losetup cannot detach {}: {}",
        device.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}

/// The loop devices on `backing`. A `known` device counts only while it is on that file: its number may have been given
/// to somebody else since.
pub(crate) fn on_file(backing: &Path, known: Option<&Path>) -> Result<Vec<PathBuf>> {
    let mut devices = Vec::new();
    for entry in fs::read_dir("/sys/block")? {
        let name = entry?.file_name();
        let device = Path::new("/dev").join(&name);
        let Ok(file) = fs::read_to_string(Path::new("/sys/block").join(&name).join("loop/backing_file")) else {
            continue;
        };
        // The file may have been removed since, or its mount taken out of sight, which shortens its path.
        let file = Path::new(file.trim_end_matches('\n').trim_end_matches(" (deleted)"));
        let same_name = file.file_name() == backing.file_name();
        if file == backing || (known == Some(device.as_path()) && same_name) {
            devices.push(device);
        }
    }
    Ok(devices)
}

/// Whether `device` has a backing file.
pub(crate) fn is_attached(device: &Path) -> bool {
    sysfs(device).is_ok_and(|directory| directory.join("loop/backing_file").exists())
}

/// The device's directory under /sys/block.
pub(crate) fn sysfs(device: &Path) -> Result<PathBuf> {
    let name = device.file_name().with_context(|| format!("{} names no device", device.display()))?;
    Ok(Path::new("/sys/block").join(name))
}
