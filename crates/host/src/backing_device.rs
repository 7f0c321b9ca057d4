//! How far the kernel reads ahead on a mounted file system (`/sys/class/bdi`, `Documentation/ABI/testing/sysfs-class-bdi`).
//!
//! A file system without a block device has a name there that nothing leads to from its mount: `erofs-7` has a number that counts mounts
//! since boot. Who mounts one finds it as the name that was not there before.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

const DEVICES: &str = "/sys/class/bdi";

/// The names that begin with `prefix`. None where sysfs is not mounted.
pub fn names(prefix: &str) -> BTreeSet<OsString> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name())
        .filter(|name| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
        .collect()
}

/// Sets how far is read ahead, in kB.
///
/// # Errors
/// The system's: no such name, not permitted, sysfs mounted read-only.
pub fn set_read_ahead(name: &std::ffi::OsStr, kilobytes: u32) -> io::Result<()> {
    fs::write(Path::new(DEVICES).join(name).join("read_ahead_kb"), kilobytes.to_string())
}
