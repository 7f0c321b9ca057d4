//! From the kernel's numbers to paths.
//!
//! Not obvious: the device number of a tracepoint may differ from that of `stat`. A file on btrfs has
//! the number of its subvolume in `stat`, and one on overlayfs is cached under the lower file system. Those other numbers are
//! anonymous (major number 0), so there the inode number alone has to do, if only one path has it.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use coldstart_analyse::kernel_number;
use coldstart_profile::FileIdentity;

use super::log::FileKey;
use super::recorder::block_devices;
use crate::NameLog;

/// A file whose path is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// Absolute path without symbolic links.
    pub path: PathBuf,
    /// Its identity when it was examined.
    pub identity: Option<FileIdentity>,
}

/// Files by the kernel's numbers.
#[derive(Clone, Debug, Default)]
pub struct KnownFiles {
    files: HashMap<FileKey, KnownFile>,
    /// Of files with an anonymous device; `None` where several have the same inode number.
    by_inode: HashMap<u64, Option<FileKey>>,
    block_devices: HashMap<u64, PathBuf>,
}

impl KnownFiles {
    /// Only this machine's block devices.
    pub fn new() -> Self {
        Self { block_devices: block_devices(), ..Self::default() }
    }

    /// Adds a file. What is known already stays, as the first path is the one that was used first; a missing identity is added.
    pub fn add(&mut self, key: FileKey, path: &Path, identity: Option<FileIdentity>) {
        let known = self.files.entry(key).or_insert_with(|| KnownFile { path: path.to_path_buf(), identity });
        known.identity = known.identity.or(identity);
        if key.device >> 20 == 0 {
            let only = self.by_inode.entry(key.inode).or_insert(Some(key));
            if *only != Some(key) {
                *only = None;
            }
        }
    }

    /// Adds the files that names meant, and those that names mean by now which meant nothing at first: files that the start made.
    pub fn add_names(&mut self, names: &NameLog) {
        for name in &names.names {
            match &name.file {
                Some(file) => {
                    let key = FileKey { device: kernel_number(file.device), inode: file.inode };
                    self.add(key, &file.real_path, Some(file.identity));
                }
                None => self.add_made(&name.path),
            }
        }
    }

    fn add_made(&mut self, path: &Path) {
        let Ok(real_path) = std::fs::canonicalize(path) else { return };
        let Ok(metadata) = std::fs::metadata(&real_path) else { return };
        if metadata.is_file() {
            let key = FileKey { device: kernel_number(metadata.dev()), inode: metadata.ino() };
            let size = i64::try_from(metadata.size()).unwrap_or(i64::MAX);
            let identity = FileIdentity::from_stat(size, metadata.mtime(), metadata.mtime_nsec());
            self.add(key, &real_path, Some(identity));
        }
    }

    /// The file that the kernel means, and the numbers it is known under.
    pub fn find(&self, key: FileKey) -> Option<(FileKey, &KnownFile)> {
        let of = |key: FileKey| self.files.get(&key).map(|file| (key, file));
        of(key).or_else(|| self.by_inode.get(&key.inode).copied().flatten().and_then(of))
    }

    /// The block device whose own pages these are.
    pub fn block_device(&self, key: FileKey) -> Option<&Path> {
        (key.device >> 20 == 0).then(|| self.block_devices.get(&key.inode).map(PathBuf::as_path))?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anonymous_devices_are_seen_through() {
        let key = |device, inode| FileKey { device, inode };
        let mut known = KnownFiles::default();
        known.add(key(45, 7), Path::new("/on/btrfs"), None);
        known.add(key(45, 8), Path::new("/one"), None);
        known.add(key(46, 8), Path::new("/other"), None);
        known.add(key(254 << 20, 9), Path::new("/on/ext4"), None);
        let path = |key| known.find(key).map(|(_, file)| file.path.as_path());
        assert_eq!(path(key(44, 7)), Some(Path::new("/on/btrfs")), "another anonymous number: a subvolume");
        assert_eq!(path(key(254 << 20, 7)), Some(Path::new("/on/btrfs")), "the file system below an overlay");
        assert_eq!(path(key(254 << 20, 8)), None, "two files may be meant");
        assert_eq!(path(key(46, 8)), Some(Path::new("/other")));
        assert_eq!(path(key(255 << 20, 9)), None, "another disk");
    }

    #[test]
    fn what_is_known_first_stays() {
        let key = FileKey { device: 1 << 20, inode: 2 };
        let identity = FileIdentity { size: 3, modified: 4 };
        let mut known = KnownFiles::default();
        known.add(key, Path::new("/a"), None);
        known.add(key, Path::new("/b"), Some(identity));
        let file = known.find(key).map(|(_, file)| file.clone());
        assert_eq!(file, Some(KnownFile { path: "/a".into(), identity: Some(identity) }));
    }

    #[test]
    fn pages_of_a_block_device_are_known_by_its_number() {
        let mut known = KnownFiles::default();
        known.block_devices.insert(254 << 20, "/dev/vda".into());
        assert_eq!(known.block_device(FileKey { device: 2, inode: 254 << 20 }), Some(Path::new("/dev/vda")));
        assert_eq!(known.block_device(FileKey { device: 8 << 20, inode: 254 << 20 }), None);
    }
}
