//! The kind of a file's file system, as far as it changes the meaning of its pages.

use std::os::fd::AsFd;

use rustix::fs::{StatFs, fstatfs};

/// Where a file's content is stored besides the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// On a disk or a server: a page can be dropped and read again.
    Storage,
    /// In the page cache itself (tmpfs, ramfs, hugetlbfs): nothing can be evicted.
    Memory,
    /// In a lower file system (overlayfs, FUSE, eCryptfs): the pages may belong to the file there.
    Layered,
}

/// Numbers from `include/uapi/linux/magic.h`; FUSE's from `fs/fuse/inode.c`.
mod magic {
    pub(super) const TMPFS: u64 = 0x0102_1994;
    pub(super) const RAMFS: u64 = 0x8584_58f6;
    pub(super) const HUGETLBFS: u64 = 0x9584_58f6;
    pub(super) const OVERLAYFS: u64 = 0x794c_7630;
    pub(super) const ECRYPTFS: u64 = 0xf15f;
    pub(super) const FUSE: u64 = 0x6573_5546;

    /// File systems that show kernel state as files. Their files have no pages, and opening some of them has effects.
    pub(super) const KERNEL_STATE: [u64; 18] = [
        0x9fa0,      // proc
        0x6265_6572, // sysfs
        0x6462_6720, // debugfs
        0x7472_6163, // tracefs
        0x0027_e0eb, // cgroup
        0x6367_7270, // cgroup2
        0xcafe_4a11, // bpf
        0x7363_6673, // securityfs
        0xf97c_ff8c, // selinux
        0x6165_676c, // pstore
        0x1cd1,      // devpts
        0x6265_6570, // configfs
        0xde5e_81e4, // efivarfs
        0x4249_4e4d, // binfmt_misc
        0x6573_5543, // fusectl
        0x1980_0202, // mqueue
        0x6e73_6673, // nsfs
        0x0743_0606, // resctrl
    ];
}

/// The magic number of the file system, without the sign of some architectures.
fn magic_of(statfs: &StatFs) -> u64 {
    (statfs.f_type as u64) & 0xffff_ffff
}

/// The kind of the file system of an open regular file. If unknown, storage.
pub(crate) fn backing(file: impl AsFd) -> Backing {
    match fstatfs(file).as_ref().map(magic_of) {
        Ok(magic::TMPFS | magic::RAMFS | magic::HUGETLBFS) => Backing::Memory,
        Ok(magic::OVERLAYFS | magic::FUSE | magic::ECRYPTFS) => Backing::Layered,
        _ => Backing::Storage,
    }
}

/// Whether the file is on hugetlbfs, whose pages `cachestat` does not count and `mincore` sees in other sizes.
pub(crate) fn is_hugetlbfs(file: impl AsFd) -> bool {
    fstatfs(file).is_ok_and(|statfs| magic_of(&statfs) == magic::HUGETLBFS)
}

/// Whether a directory is on a file system that shows kernel state.
pub(crate) fn shows_kernel_state(path: &std::path::Path) -> bool {
    rustix::fs::statfs(path).is_ok_and(|statfs| magic::KERNEL_STATE.contains(&magic_of(&statfs)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn kernel_state_is_told_from_files() {
        for path in ["/proc", "/sys", "/dev/pts"] {
            assert!(shows_kernel_state(Path::new(path)), "{path}");
        }
        assert!(!shows_kernel_state(&std::env::current_dir().unwrap()));
    }
}
